"""A whole answer, judged."""

from __future__ import annotations

import pytest

from spanwise.grounding.answers import Verdicts, judge, steps
from spanwise.grounding.pool import Piece, Pool

POOL = Pool(
    [
        Piece("Is it 5 km to the old mill?", "query", "q", 0),
        Piece("The mill was built in 1731. It has four sails.", "tool", "t", 1),
    ]
)


def test_verdicts() -> None:
    """Claims are told in their order with evidence by piece, kind and span."""
    said = judge("Hello! The mill was built in 1731. It has nine sails. Zebras sleep.", POOL)
    assert [
        ("not_checkable", "", -1, None),
        ("supported", "t", 1, "tool"),
        ("contradicted", "t", 1, "tool"),
        ("unsupported", "", -1, None),
    ] == [(one.verdict, one.span_id, one.piece, one.kind) for one in said.claims]
    assert 0.25 == said.value
    first = said.claims[1]
    assert "The mill was built in 1731." == POOL.pieces[1].text[first.first : first.last] == first.quote


def test_nothing_to_check() -> None:
    """An answer without claims has no value, and evidence is not read for it."""
    said = judge("Hello! How are you?", POOL)
    assert (None, 2) == (said.value, len(said.of("not_checkable")))
    assert Verdicts(claims=()) == judge("", POOL)


def test_no_evidence() -> None:
    """Without evidence every claim is unsupported."""
    assert 0.0 == judge("The mill is old and made of wood.", Pool()).value


def test_steps() -> None:
    """Long evidence is read in many steps, and each claim is one."""
    pool = Pool([Piece("The mill is old. " * 4000, "tool", "t", 1)])
    *before, last = steps("The mill is old. The mill is new.", pool)
    assert len(before) > 5
    assert set(before) == {None}
    assert isinstance(last, Verdicts)


@pytest.mark.parametrize("repeats", [1, 3])
def test_repeated_evidence_changes_nothing(repeats: int) -> None:
    """Texts that are recorded several times are read once, and the verdicts are the same."""
    pieces = [piece for piece in POOL.pieces for _ in range(repeats)]
    answer = "The mill was built in 1731. It has nine sails."
    assert judge(answer, POOL).claims == judge(answer, Pool(pieces)).claims
