"""Does this evidence support this claim?"""

from __future__ import annotations

import string
import subprocess
import sys
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.grounding import Support, check


def test_a_whole_result() -> None:
    """The result says how far, with what verdict, and where the passage stands."""
    evidence = ["The hall is old.", "It holds 900 people. Dogs may enter."]
    said = check("It holds 900 people.", evidence)
    assert ("supported", 1, 0, 20, "It holds 900 people.") == (
        said.verdict,
        said.index,
        said.start,
        said.end,
        said.quote,
    )
    assert said.score > 0.8
    assert 1.0 == said.parts["window"]


@pytest.mark.parametrize("evidence", ["", [], ["", ""]])
def test_no_evidence(evidence: str | list[str]) -> None:
    """Without evidence a claim is unsupported, and there is nothing to quote."""
    said = check("It holds 900 people.", evidence)
    assert ("unsupported", -1, "") == (said.verdict, said.index, said.quote)
    assert said.score < 0.1


def test_one_text_or_several() -> None:
    """A text alone is a list of one."""
    assert check("It is red.", "It is red.") == check("It is red.", ["It is red."])


def test_defaults() -> None:
    """What is not said of a result is that there is no passage."""
    assert (-1, {}) == (
        Support(score=0.0, verdict="unsupported").index,
        Support(score=0.0, verdict="unsupported").parts,
    )


def test_the_package_needs_no_extra() -> None:
    """The function is there without anything that an extra brings, and without the rest of the package."""
    code = (
        "import sys; from spanwise.grounding import check; assert check('It is red.', 'It is red.').score > 0.5;"
        "print(sorted(name for name in ('rich', 'typer', 'pydantic', 'opentelemetry.sdk') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert ("[]\n", "") == (done.stdout, done.stderr)


@given(
    st.text(alphabet=string.printable + "éß北京\u2014\u201c\u201d\uff05\uff13", max_size=200),
    st.lists(st.text(alphabet=string.printable + "éß北京\u2014\uff13", max_size=200), max_size=4),
)
def test_any_text(claim: str, evidence: list[str]) -> None:
    """No text raises; the score lies in [0, 1]; the quote stands where the result says."""
    said = check(claim, evidence)
    assert 0.0 <= said.score <= 1.0
    if said.index >= 0:
        assert said.quote == evidence[said.index][said.start : said.end]


@pytest.mark.parametrize(
    "text",
    ["a" * 300_000, "1" * 300_000, "1," * 150_000, "{" * 300_000, '"' * 300_000, ". " * 150_000, "5 km, " * 60_000,
     "北" * 100_000,
     "\\n" * 150_000, "a-1" * 100_000, "not " * 75_000, "May 5 " * 50_000],
    ids=lambda text: text[:4],
)  # fmt: skip
def test_odd_texts_take_no_longer_than_others(text: str) -> None:
    """Neither a claim nor evidence of one sign repeated takes more time than its length allows."""
    begun = process_time()
    check(text, ["The lamp is red, and costs 5 km."])
    check("The lamp of 5 km costs 1,234 not https://example.org/a-1 in May.", text)
    assert process_time() - begun < 5
