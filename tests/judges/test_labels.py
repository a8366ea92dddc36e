"""What people say of runs."""

from __future__ import annotations

import pytest

from spanwise.errors import SourceError
from spanwise.judges.labels import Label, Labels, read_labels
from spanwise.judges.scales import ONE_TO_FIVE, ZERO_TO_THREE, Scale


def read(text: str, scale: Scale = ZERO_TO_THREE) -> Labels:
    """The labels for the judge `goal`."""
    return read_labels(text, source="labels", judge="goal", scale=scale)


@pytest.mark.parametrize(
    ("row", "label"),
    [
        ('{"trace_id": "a", "score": 3}', Label(passes=True, number=3)),
        ('{"trace_id": "a", "score": 2}', Label(passes=False, number=2)),
        ('{"trace_id": "a", "value": 0.9}', Label(passes=True, number=3)),
        ('{"trace_id": "A", "label": "Pass"}', Label(passes=True)),
        ('{"trace_id": "a", "label": "borderline"}', Label(passes=False)),
        ('{"trace_id": "a", "label": false}', Label(passes=False)),
        ("trace_id,score\na,3\n", Label(passes=True, number=3)),
        ("trace_id,run_id,label\na,,fail\n", Label(passes=False)),
    ],
)
def test_a_label_is_a_number_a_value_or_a_word(row: str, label: Label) -> None:
    """JSON lines and CSV, with a number of the scale, a value in [0, 1] or a word."""
    assert label == read(row).of("a", "any")


def test_the_scale_says_what_passes() -> None:
    """The same number passes on one scale and not on another."""
    assert not read('{"trace_id": "a", "score": 3}', ONE_TO_FIVE).of("a", "").passes


def test_a_run_may_have_its_own_label() -> None:
    """A label for a run goes before one for its trace; rows for other judges are passed over."""
    found = read(
        '{"trace_id": "a", "label": "pass"}\n\n{"trace_id": "a", "run_id": "r", "label": "fail"}\n'
        '{"trace_id": "b", "judge": "tool_choice", "label": "fail"}\n{"trace_id": "c", "judge": "goal", "label": "ok"}'
    )
    assert (True, False, None, True) == (
        found.of("a", "").passes, found.of("a", "r").passes, found.of("b", ""), found.of("c", "").passes
    )  # fmt: skip
    assert 3 == len(found)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no label for 'goal'"),
        ("trace_id,label\n", "no label for 'goal'"),
        ('{"trace_id": "a", "score": 4}', "line 1: read the score '4', expected a whole number from 0 to 3"),
        ('{"trace_id": "a", "score": 2.5}', "read the score '2.5'"),
        ('{"trace_id": "a", "score": true}', "read the score 'true'"),
        ('{"trace_id": "a", "value": 2}', "read the value '2'"),
        ('{"trace_id": "a", "label": "maybe"}', "read the label 'maybe'"),
        ('{"label": "pass"}', "line 1: no trace_id"),
        ('{"trace_id": "a"', "is not JSON"),
        ('{"trace_id": "a", "label": "ok"}\n[1]', "is no JSON object"),
        ('trace_id,label\n"a"b,ok\n', "neither JSON lines nor CSV"),
    ],
)
def test_what_is_no_label_is_named(text: str, says: str) -> None:
    """A row that cannot be used is an error with its line; so is a file without labels."""
    with pytest.raises(SourceError, match="labels") as raised:
        read(text)
    assert says in str(raised.value)


def test_many_bad_rows_are_told_at_once() -> None:
    """The first ten are told, and how many more there are."""
    with pytest.raises(SourceError, match=r"line 10: .*; and 2 more$"):
        read("\n".join('{"trace_id": "a", "label": "?"}' for _ in range(12)))
