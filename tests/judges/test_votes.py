"""Several verdicts into one."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import ModelError
from spanwise.judges.votes import Ballot


@pytest.mark.parametrize(
    ("ballot", "votes", "number"),
    [
        (Ballot(of=3), [1, 3, 3], 3),
        (Ballot(of=3), [0, 1, 2], 0),
        (Ballot(of=3, tie="median"), [0, 1, 3], 1),
        (Ballot(of=4, tie="median"), [0, 1, 2, 3], 1),
        (Ballot(of=3, tie="abstain"), [0, 1, 2], None),
        (Ballot(of=4), [2, 2, 3, 3], 2),
        (Ballot(of=4, tie="abstain"), [2, 2, 3, 3], None),
        (Ballot(of=5, agree=2), [0, 1, 3, 3, 2], 3),
        (Ballot(of=3, agree=3, tie="abstain"), [3, 3, 2], None),
        (Ballot(of=3, agree=3), [3, 3, 2], 3),
        (Ballot(of=3), [None, 2, 2], 2),
        (Ballot(of=3), [None, None, 2], 2),
        (Ballot(of=3, abstain="count"), [None, None, 2], None),
        (Ballot(of=3, abstain="count", tie="abstain"), [None, 1, 2], None),
        (Ballot(of=3), [None, None, None], None),
        (Ballot(of=1), [3], 3),
    ],
)
def test_a_full_count(ballot: Ballot, votes: list[int | None], number: int | None) -> None:
    """Of all votes: the number that enough agree on, else what the rules for ties and abstentions say."""
    outcome = ballot.count(votes)
    assert (number, True) == (outcome.number, outcome.final)


def test_only_as_many_are_asked_as_are_needed() -> None:
    """First those that can decide; then one by one, or as many as are still needed, until nothing can change."""
    ballot = Ballot(of=5)
    assert [3, 0, 1, 2, 1] == [ballot.more(votes) for votes in ([], [2, 2, 2], [2, 2, 1], [1, 2, 3], [2, 2, 1, 1])]


def test_lost_votes_are_not_waited_for() -> None:
    """A vote that will not come makes the others final."""
    assert Ballot(of=3).count([2, 3], lost=1).final
    assert "votes: 1 for 2, 1 for 3, 1 without an answer" in Ballot(of=3).count([2, 3], lost=1).text
    assert not Ballot(of=3).count([2, 3]).final


@given(
    votes=st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=1, max_size=7),
    tie=st.sampled_from(["lower", "median", "abstain"]),
    abstain=st.sampled_from(["drop", "count"]),
    data=st.data(),
)
def test_asking_ends_with_an_outcome(votes: list[int | None], tie: str, abstain: str, data: st.DataObject) -> None:
    """However votes fall, asking as many as `more` says ends; the number is one that was voted for."""
    agree = data.draw(st.one_of(st.none(), st.integers(1, len(votes))))
    ballot = Ballot(of=len(votes), agree=agree, tie=tie, abstain=abstain)
    asked = 0
    while more := ballot.more(votes[:asked]):
        asked += more
        assert asked <= len(votes)
    outcome = ballot.count(votes[:asked])
    assert outcome.final
    assert outcome.number is None or outcome.number in votes[:asked]


def test_a_majority_does_not_depend_on_the_order() -> None:
    """With more than half needed, early asking stops only where all votes would say the same."""
    for votes in product((1, 2, None), repeat=3):
        ballot = Ballot(of=3, abstain="count")
        asked = ballot.more([])
        while more := ballot.more(votes[:asked]):
            asked += more
        assert ballot.count(votes[:asked]).number == ballot.count(votes).number


@pytest.mark.parametrize("fields", [{"of": 0}, {"of": 3, "agree": 4}, {"agree": 0}])
def test_what_cannot_be_agreed_on_is_refused(fields: dict[str, int]) -> None:
    """No votes, and more that agree than there are, are refused."""
    with pytest.raises(ModelError, match="Ballot"):
        Ballot(**fields)
