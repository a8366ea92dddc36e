"""An answer as claims."""

from __future__ import annotations

from time import process_time

from spanwise.grounding.claims import MOST, claims_of


def texts(answer: str) -> list[str]:
    """The claims of an answer."""
    return [claim.text for claim in claims_of(answer)]


def test_sentences() -> None:
    """Sentences end at their marks; abbreviations, initials and decimals do not end them."""
    assert ["Dr. J. Smith paid approx. 3.5 million.", "He left at 5 p.m. on Friday.", "Was it late?!"] == texts(
        "Dr. J. Smith paid approx. 3.5 million. He left at 5 p.m. on Friday. Was it late?!"
    )


def test_sentences_of_other_scripts() -> None:
    """Chinese and Japanese sentences end without a space."""
    assert ["北京很大。", "上海也很大。"] == texts("北京很大。上海也很大。")


def test_what_the_agent_does_not_know() -> None:
    """A number in front of what the agent could not find out is a claim of its own; what it did itself is none."""
    unknown = ["I could not work out 10% of it."]
    assert ["Oslo had 717,710 inhabitants", *unknown] == texts(
        "Oslo had 717,710 inhabitants; I could not work out 10% of it."
    )
    assert ["It rained for 3 days", "we weren't able to say why."] == texts(
        "It rained for 3 days, but we weren't able to say why."
    )
    for whole in ("I tried 3 times, but I couldn't.", "It rained, but we cannot say why.", "I have 2; 3 are left."):
        assert [whole] == texts(whole)


def test_places() -> None:
    """Each claim says where in the answer it stands, its emphasis included."""
    answer = "# Report\n\n- **Total:** 5 items\n  1. `user_id` is _set_."
    assert [("Total: 5 items", "**Total:** 5 items"), ("`user_id` is set.", "`user_id` is _set_.")] == [
        (claim.text, answer[claim.start : claim.end]) for claim in claims_of(answer)
    ]


def test_tables() -> None:
    """A row of a table is a claim with the names of its columns; a new table has new names."""
    answer = "| City | People |\n|---|---|\n| Oslo | 700,000 |\n\nAnd:\n\n| Fruit |\n|---|\n| Pear |\n| | "
    assert ["City: Oslo; People: 700,000", "And:", "Fruit: Pear"] == [
        text for text in texts(answer) if text != "Fruit: "
    ]


def test_code_is_no_claim() -> None:
    """Fenced code, rules and patches are left out."""
    assert ["Done so."] == texts("Done so.\n```python\nx = 1\n```\n---\n***")
    assert [] == texts("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b")


def test_pronouns() -> None:
    """A pronoun stands for the name that the sentences before it began with, where that is plain."""
    claims = claims_of("Marie Curie was born in Warsaw. She won two prizes. She died in 1934. Prizes matter. It rains.")
    assert ["", "Marie Curie", "Marie Curie", "", "Prizes"] == [claim.subject for claim in claims]
    assert "Marie Curie: She won two prizes." == claims[1].sought


def test_no_plain_subject() -> None:
    """Two names far from the beginning leave a pronoun open; the only one does not."""
    assert ["", ""] == [c.subject for c in claims_of("Last summer we met Anna, then Bert. She sang.")]
    assert ["", "Anna"] == [c.subject for c in claims_of("Last summer we all met Anna there. She sang.")]


def test_most() -> None:
    """Very long answers are cut, one claim later than they are judged."""
    assert MOST + 1 == len(claims_of("It is red. " * 1000))


def test_linear() -> None:
    """Answers of nothing but marks take no longer than their length allows."""
    begun = process_time()
    for answer in ("." * 200_000, "a." * 100_000, "|" * 200_000, "*" * 200_000, "_ " * 100_000, "A " * 100_000):
        claims_of(answer)
    assert process_time() - begun < 10
