"""What a claim and the evidence have in common."""

from __future__ import annotations

from spanwise.grounding.features import NAMES, match, read
from spanwise.grounding.index import Index, Sought


def parts(claim: str, *texts: str) -> dict[str, float]:
    """The features of a claim, by name."""
    sought = Sought()
    one = read(claim, sought)
    index = Index(sought)
    for text in texts:
        for _ in index.add(text):
            pass
    return dict(zip(NAMES, match(one, index).values, strict=True))


def test_a_copy() -> None:
    """Of a copy everything is found."""
    found = parts("The lamp is red.", "The lamp is red.")
    assert (1.0, 1.0, 0.0) == (found["window"], found["pool"], found["gap"])


def test_no_evidence() -> None:
    """Without evidence nothing is found, and nothing raises."""
    found = parts("The lamp is red.")
    assert (0.0, 0.0) == (found["window"], found["pool"])
    assert 0.0 == parts("", "")["window"]


def test_small_words_alone() -> None:
    """A claim of small words is looked for by them."""
    assert 1.0 == parts("It is so.", "It is so.")["pool"]


def test_marks_of_talk() -> None:
    """Questions, speakers, opinions and interjections are seen."""
    found = parts("Wow, do you like that lamp?", "The lamp is red.")
    assert (1.0, 1.0, True, True) == (found["question"], found["chat"], found["speakers"] > 0, found["opinion"] > 0)


def test_numbers_names_and_negations() -> None:
    """Numbers beside the best windows, names that stand nowhere, and negations only in the claim are seen."""
    found = parts("The lamp of Oslo does not cost 5 euros.", "The lamp costs 7 euros.")
    assert (1.0, 1.0, 1.0) == (found["numbers_apart"], found["names_absent"], found["negation_apart"])
    assert 0.0 == parts("No, the lamp costs 7 euros.", "The lamp costs 7 euros.")["negation_apart"]


def test_joined_words() -> None:
    """Words that data joins are found."""
    assert 1.0 == parts("unit price", '{"unitPrice": 5}')["pool"]


def test_names() -> None:
    """A first word may be a name, unless it ends or begins as no name does; in German nothing is."""
    sought = Sought()

    def first(text: str) -> int:
        return len(read(text, sought).first)

    assert [1, 0, 0, 0, 0] == [
        first(text) for text in ("Lyon is big.", "Shipping is slow.", "Many came.", "Die Lampe ist rot.", "5 came.")
    ]
    assert 0 == len(read("Done. Lyon is big.", sought).names)
    assert 0 == len(read("", sought).first)


def test_a_bare_answer() -> None:
    """A claim that is nothing but a number is told from one that says what it is."""
    sought = Sought()
    assert (True, False) == (read("The answer is 736.", sought).bare, read("The lamp costs 736.", sought).bare)
