"""A whole answer, judged."""

from __future__ import annotations

import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.grounding.answers import ALL, Message, Verdicts, judge, judge_all, judging
from spanwise.grounding.claims import MOST
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


SPACES = Pool(
    [
        Piece("420", "tool", "a", 1, "free spaces, warehouse: north = ", frozenset({"north"})),
        Piece("365", "tool", "b", 2, "free spaces, warehouse: south = ", frozenset({"south"})),
    ]
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The north warehouse has 420 free pallet spaces.", ("supported", "420", "a")),
        ("The north warehouse: it has 420 free spaces, 55 more than the south with 365.", ("supported", "420", "a")),
        ("The south warehouse has 365 free spaces.", ("supported", "365", "b")),
        ("The south warehouse has 420 free spaces.", ("unsupported", "", "")),
        ("There are 420 free spaces.", ("supported", "420", "a")),
        ("There are 420 free docks.", ("unsupported", "", "")),
        ("The north warehouse has 421 free spaces.", ("contradicted", "420", "a")),
        ("The north warehouse has free spaces.", ("unsupported", "", "")),
    ],
)
def test_bare_numbers(answer: str, expected: tuple[str, str, str]) -> None:
    """A bare number is evidence about what the call asked; its words alone, which the model chose, are none."""
    (one,) = judge(answer, SPACES).claims
    assert expected == (one.verdict, one.quote, one.span_id)
    if one.quote:
        assert one.quote == SPACES.pieces[one.piece].text[one.first : one.last]


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
    work = judging([Message("The mill is old. The mill is new.")], pool)
    assert {None} == {next(work) for _ in range(20)}


ANSWER = (
    "The mill was built in 1731 and has 4 sails. It stands in Oslo, `mill_7` is its name. In total it cost 1,250 euros."
)


@pytest.mark.once
@pytest.mark.parametrize("size", [20_000, 400_000])
@pytest.mark.parametrize(
    "row",
    [
        "Mill {0} of Oslo was built in {0} for {0} euros. ",
        '{{"mill": "mill_{0}", "built": "17{0}-01-02", "cost": {0}}},\n',
        "{0} ",
        "mill_{0}_",
    ],
)
def test_no_step_is_long(row: str, size: int) -> None:
    """However long the evidence and the answer are, little is done between two steps: few functions are called."""
    text = "".join(map(row.format, range(size // len(row))))
    calls, most, longest = 0, 0, 0

    def count(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    work = judging([Message(ANSWER * 6)], Pool([Piece(text, "tool", "t", 1), Piece("Is it 5 km?", "query")]))
    sys.setprofile(count)
    try:
        for _ in work:
            longest, calls = max(longest, calls), 0
            most += 1
    finally:
        sys.setprofile(None)
    assert longest < 12_000
    assert most > len(text) // 5_000


def test_messages() -> None:
    """Each message is judged by what had been seen before it; one score over all of their claims."""
    pool = Pool(
        [
            Piece("Use no jargon. Visitors pay 7 euros.", "context", "s", 1),
            Piece("The hall is old.", "tool", "a", 10),
            Piece("It has four sails.", "document", "b", 20),
        ]
    )
    early, late = "The mill has four sails.", "The mill has four sails. Visitors pay 7 euros."
    messages = [Message(early, "m", 5), Message(early, "n", 15), Message(late, "o", 20), Message(late, "p")]
    said = judge_all(messages, pool)
    assert [(0, "unsupported"), (1, "unsupported")] == [(one.message, one.verdict) for one in said.claims[:2]]
    assert [(number, "supported") for number in (2, 2, 3, 3)] == [(one.message, one.verdict) for one in said.claims[2:]]
    assert ["", "", "b", "s", "b", "s"] == [one.span_id if one.verdict == "supported" else "" for one in said.claims]


FACTS = ("The mill has 4 sails.", "The tower is 324 metres high.", "Lyon has 513,000 inhabitants.", "Dogs may enter.")


@given(
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from(FACTS)), max_size=4),
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from(FACTS)), min_size=1, max_size=4),
)
def test_a_claim_rests_on_what_was_seen_before_it(seen: list[tuple[int, str]], said: list[tuple[int, str]]) -> None:
    """What was seen only after a message supports nothing in it, and each is judged as if it were the only one."""
    pool = Pool([Piece(text, "tool", str(at), at) for at, text in seen])
    messages = [Message(text, "m", at) for at, text in sorted(said)]
    found = judge_all(messages, pool)
    for message, one in zip(messages, found.claims, strict=True):
        assert message.at_ns is not None
        alone = judge(message.text, pool.before(message.at_ns)).claims[0]
        assert (alone.verdict, alone.reason, alone.score) == (one.verdict, one.reason, one.score)
        assert (one.verdict == "supported") == any(at <= message.at_ns and text == message.text for at, text in seen)


def test_too_many_claims() -> None:
    """Of very many claims those of the last messages are judged."""
    one = Message("The mill has 4 sails. " * (MOST + 5), "m", 1)
    said = judge_all([one] * 7, POOL)
    assert (ALL, True) == (len(said.claims), said.more)
    assert {2, 3, 4, 5, 6} == {claim.message for claim in said.claims}


@pytest.mark.parametrize("repeats", [1, 3])
def test_repeated_evidence_changes_nothing(repeats: int) -> None:
    """Texts that are recorded several times are read once, and the verdicts are the same."""
    pieces = [piece for piece in POOL.pieces for _ in range(repeats)]
    answer = "The mill was built in 1731. It has nine sails."
    assert judge(answer, POOL).claims == judge(answer, Pool(pieces)).claims
