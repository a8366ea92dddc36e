"""Sentences, lines and rows of data."""

from __future__ import annotations

from spanwise.grounding.passages import QUOTE, Passage, Passages, trimmed
from spanwise.grounding.steps import finish
from tests.grounding.test_index import indexed


def passages_of(words: str, *texts: str) -> tuple[Passages, list[Passage]]:
    """All passages of some texts."""
    index = indexed(words, *texts)
    made = Passages(index)
    return made, finish(made.of(range(len(index.blocks))))


def test_pieces() -> None:
    """A passage is a sentence, a line, or a row; an abbreviation ends none."""
    _, found = passages_of("x", 'He met Dr. Lee. She left!\nA line\\nanother [{"a": 1}, {"a": 2}]。北')
    assert ["He met Dr. Lee.", " She left!", "\n", "A line\\n", 'another [{"a": 1}, ', '{"a": 2}]。', "北"] == [
        one.said for one in passages_of("x", "")[1]
    ] + [one.said for one in found if one.said.strip()][:2] + ["\n"] + [one.said for one in found if one.said.strip()][
        2:
    ]


def test_long_texts_are_whole() -> None:
    """Every sentence of a text that is cut into blocks is one passage, and once."""
    text = " ".join(f"Sentence number {number} is here." for number in range(900))
    _, found = passages_of("sentence", text)
    assert 900 == len(found)
    assert text.encode().decode() == "".join(one.said for one in found)


def test_facts_and_words_are_read_once() -> None:
    """What a passage holds is read at the first question."""
    made, (one,) = passages_of("x", "5 apples")
    assert made.facts(one) is made.facts(one)
    assert made.words(one) is made.words(one)
    assert finish(made.of([0]))[0] is one
    assert [made.facts(one)] * 2 == [finish(made.read(one)), finish(made.read(one))]


def test_what_was_read_can_be_let_go() -> None:
    """Nothing is held afterwards, and it is read again where it is asked for."""
    made, (one,) = passages_of("x", "5 apples")
    before = made.facts(one)
    finish(made.forget())
    assert before == made.facts(one)
    assert before is not made.facts(one)[:]


def test_negated() -> None:
    """A negation counts close to what is sought; `false` in data counts."""
    for text, expected in (
        ("the shop is not open", True),
        ("the shop is open, though it has many doors and rooms and not a seat", False),
        ('{"open": false}', True),
        ("the shop is open", False),
    ):
        made, (one,) = passages_of("open", text)
        assert expected is made.negated(one, {0}), text


def test_columns() -> None:
    """The numbers under a key follow one another."""
    made, found = passages_of("a", '[{"a": 1, "b": 5}, {"a": 2}, {"a": "x"}] 7 in 2020')
    assert [[1.0, 2.0]] == made.columns(found)


def test_quotes_are_short() -> None:
    """A long passage is quoted around what matters, a short one without the space around it."""
    made, (one,) = passages_of("x", "  x, ")
    assert (2, 3) == trimmed(one)
    _, (long,) = passages_of("x", "y" * 500 + " x")
    assert (0, QUOTE) == trimmed(long)
    assert (502 - QUOTE, 502) == trimmed(long, around=501)
    del made
