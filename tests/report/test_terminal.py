"""Text that a terminal takes as text."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.tree import Tree

from spanwise.report.terminal import amount, console, dollars, duration, line, rows, shown, style_of


def printed(text: str, *, width: int | None = None) -> str:
    """What one line of a tree looks like on a stream."""
    file = io.StringIO()
    console(file, width=width).print(Tree(line((text, "bold"))))
    return file.getvalue()


def test_markup_is_text() -> None:
    """Square brackets and emoji codes of console markup are printed as they are."""
    assert "[bold red]x[/] :smile: [link=https://a.example]b[/link]\n" == printed(
        "[bold red]x[/] :smile: [link=https://a.example]b[/link]"
    )


def test_long_lines_end_in_an_ellipsis() -> None:
    """A line of a tree that is longer than the console is cut, not wrapped."""
    assert "abcdefghi…\n" == printed("abcdefghijklmnop", width=10)


def test_a_stream_without_terminal_has_120_columns() -> None:
    """Where no person looks, lines do not depend on the environment."""
    assert 120 == console(io.StringIO()).width


def test_values_are_shown_on_one_line() -> None:
    """Values are JSON, text is itself, both on one line and cut."""
    assert ('{"a":[1,null]}', "a b", "abc…") == (shown({"a": [1, None]}), shown("a\n\tb"), shown("abcdef", limit=4))


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (1500, "2 us"),
        (2_500_000, "2.5 ms"),
        (45_000_000, "45 ms"),
        (1_250_000_000, "1.25 s"),
        (9e10, "1.5 min"),
    ],
)
def test_durations_read_well(ns: float, text: str) -> None:
    """A duration is in the unit that fits."""
    assert text == duration(ns)


@pytest.mark.parametrize(
    ("cost", "text"),
    [(0.0, "$0.00"), (12.5, "$12.50"), (0.0123, "$0.012"), (0.0000384, "$0.000038"), (1e-15, "$0.000000000000")],
)
def test_small_amounts_keep_two_digits(cost: float, text: str) -> None:
    """Dollars are shown with cents, and small amounts with the digits that matter, never in powers of ten."""
    assert text == dollars(cost)


def test_amounts_have_their_unit() -> None:
    """A value is shown with its unit, dollars in front."""
    assert ("0.75", "$0.50", "12.00 ms") == (amount(0.75, ""), amount(0.5, "USD"), amount(12, "ms"))


def test_labels_and_statuses_have_styles() -> None:
    """An alert is red, a value that could not be measured is yellow, a label of an evaluator's own has no colour."""
    assert ("bold red", "yellow", "") == (style_of("alert"), style_of("", "not_measurable"), style_of("mine"))


def test_long_texts_wrap_beside_their_name() -> None:
    """Rows keep their texts in a column of their own, without spaces at the ends of lines."""
    file = io.StringIO()
    rows(Console(file=file, width=30), [("a", "one two three four five six", ""), ("long", "", "")], indent=1)
    assert " a     one two three four five\n       six\n long\n" == file.getvalue()


def test_a_reader_who_leaves_is_an_error_of_its_own() -> None:
    """A console whose reader is gone raises BrokenPipeError instead of leaving the process."""

    class Gone(io.StringIO):
        def write(self, text: str, /) -> int:
            raise BrokenPipeError

        def flush(self) -> None:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        console(Gone()).print("x")
