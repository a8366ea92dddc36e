"""Summaries of many runs."""

from __future__ import annotations

import io
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from spanwise.assembly.tree import build_trace
from spanwise.fleet import histogram
from spanwise.model.raw import RawSpan
from spanwise.model.result import RunResult
from spanwise.model.score import Score, not_applicable, not_measurable
from spanwise.report.summary import Summary, bar
from spanwise.report.terminal import console
from tests.making import agent, chat, tool, trace_id

MS = 1_000_000


def result(number: int, *scores: Score, revision: int = 1, spans: Sequence[RawSpan] = (), kind: str = "") -> RunResult:
    """The scores of a run of its own trace."""
    trace = build_trace(trace_id(number), [agent(1), *spans])
    return RunResult(run=trace.runs[0], scores=scores, source=f"{number}.json", revision=revision, query_type=kind)


def scored(value: float, *, name: str = "redundancy", unit: str = "", label: str = "alert") -> Score:
    """A score."""
    return Score(name=name, value=value, unit=unit, label=label, reason=f"because of {value}")


def shown(summary: Summary, *, width: int | None = None) -> str:
    """What is printed of a summary."""
    file = io.StringIO()
    summary.show(console(file, width=width))
    return file.getvalue()


def test_scores_are_distributed_and_the_worst_named() -> None:
    """Each score has its counts, mean, percentiles and histogram; the ten worst runs follow with their reason."""
    summary = Summary()
    for number in range(1, 13):
        broken = Score(name="odd", status="error", reason="KeyError: 'x'")
        summary.add(
            result(
                number,
                scored(min(number / 10, 1.0), label="alert" if number < 8 else "warn"),
                scored(number / 1000, name="cost", unit="USD", label="")
                if number % 3
                else not_measurable("cost", "no"),
                not_applicable("recovery", "no") if number > 1 else broken,
            )
        )
    assert shown(summary) == snapshot("""\
12 runs
╭────────────┬────────┬─────┬─────┬───────┬─────────┬─────────┬─────────┬────────┬──────────────╮
│ score      │ scored │ n/a │ n/m │ error │    mean │      p5 │     p50 │    p95 │ distribution │
├────────────┼────────┼─────┼─────┼───────┼─────────┼─────────┼─────────┼────────┼──────────────┤
│ redundancy │     12 │   0 │   0 │     0 │    0.62 │    0.16 │    0.65 │   1.00 │  ▂▂▂▂▂▂▂▂█   │
│ cost       │      8 │   0 │   4 │     0 │ $0.0060 │ $0.0014 │ $0.0060 │ $0.011 │ ▄▄ ▄▄ ▄▄ █   │
│ odd        │      0 │   0 │   0 │     1 │       - │       - │       - │      - │              │
│ recovery   │      0 │  11 │   0 │     0 │       - │       - │       - │      - │              │
╰────────────┴────────┴─────┴─────┴───────┴─────────┴─────────┴─────────┴────────┴──────────────╯
n/a: the question does not arise; n/m: the trace lacks the data. Neither enters a mean.

╭────────────────────┬───────┬────────┬────────┬────────────────┬─────────────────────────────────────────╮
│ over all runs      │ value │ target │  alert │ status         │ from                                    │
├────────────────────┼───────┼────────┼────────┼────────────────┼─────────────────────────────────────────┤
│ tool selection     │     - │ > 0.90 │ < 0.80 │ not measurable │ 0 runs scored                           │
│ mean score         │     - │ > 0.80 │ < 0.60 │ not measurable │ 0 runs scored                           │
│ redundancy rate    │     - │   < 5% │  > 15% │ not measurable │ 0 of 0 tool calls repeat an earlier one │
│ recovery           │     - │  > 80% │  < 50% │ not measurable │ 0 of 0 failures were recovered from     │
│ latency compliance │     - │  > 90% │  < 70% │ not measurable │ 0 of 0 runs are labelled ok             │
╰────────────────────┴───────┴────────┴────────┴────────────────┴─────────────────────────────────────────╯

worst 9
0.10  1.json, trace 00000000000000000000000000000001
      redundancy 0.10  because of 0.1
0.20  2.json, trace 00000000000000000000000000000002
      redundancy 0.20  because of 0.2
0.30  3.json, trace 00000000000000000000000000000003
      redundancy 0.30  because of 0.3
0.40  4.json, trace 00000000000000000000000000000004
      redundancy 0.40  because of 0.4
0.50  5.json, trace 00000000000000000000000000000005
      redundancy 0.50  because of 0.5
0.60  6.json, trace 00000000000000000000000000000006
      redundancy 0.60  because of 0.6
0.70  7.json, trace 00000000000000000000000000000007
      redundancy 0.70  because of 0.7
0.80  8.json, trace 00000000000000000000000000000008
      redundancy 0.80  because of 0.8
0.90  9.json, trace 00000000000000000000000000000009
      redundancy 0.90  because of 0.9
""")


def test_narrow_terminals_have_fewer_columns() -> None:
    """However narrow the terminal, no number is cut: columns are left out, counts and means never."""
    summary = Summary()
    for number in range(1, 13):
        summary.add(result(number, scored(1234.5, name="a_long_name_of_a_score", unit="ms")))
    headings = {
        width: next(line for line in shown(summary, width=width).splitlines() if " score " in line).split(
            "\N{BOX DRAWINGS LIGHT VERTICAL}"
        )[1:-1]
        for width in (130, 100, 80, 40)
    }
    assert {
        130: "score scored n/a n/m error mean p5 p50 p95 distribution",
        100: "score scored n/a n/m error mean p5 p50",
        80: "score scored n/a n/m error mean",
        40: "score scored n/a n/m mean",
    } == {width: " ".join(name.strip() for name in names) for width, names in headings.items()}
    assert all("a_long_name_of_a_score" in text and "1234.50 ms" in text for text in (shown(summary, width=40),))


def test_a_run_given_again_replaces_itself() -> None:
    """The second revision of a run counts, the first one does not, in the distribution and among the worst."""
    summary = Summary()
    summary.add(result(1, scored(0.1), scored(0.5, name="recovery")))
    summary.add(result(1, scored(0.9, label="ok"), revision=2))
    text = shown(summary)
    assert (1, True, False, False) == (
        len(summary),
        "because of 0.9" in text,
        "because of 0.1" in text,
        " 0.50 │" in text,
    )


def test_perfect_runs_are_not_among_the_worst() -> None:
    """Where nothing scored below 1 there is no list of the worst."""
    summary = Summary()
    summary.add(result(1, scored(1.0)))
    summary.add(result(2, not_applicable("redundancy", "no tool")))
    assert "worst" not in shown(summary)


def test_runs_rank_by_their_overall_score() -> None:
    """Where there is an overall score, it decides which runs are the worst, and the lowest of the others says why."""
    summary = Summary()
    summary.add(result(1, scored(0.2), scored(0.9, name="overall")))
    summary.add(result(2, scored(0.8), scored(0.4, name="overall")))
    lines = [line for line in shown(summary).splitlines() if "json" in line]
    assert ["0.40  2.json", "0.90  1.json"] == [line.partition(",")[0] for line in lines]


def test_reasons_can_be_left_out() -> None:
    """Without content the worst are named without what their evaluators wrote."""
    summary = Summary(content=False)
    summary.add(result(1, scored(0.1)))
    assert "because" not in shown(summary)


@given(st.lists(st.floats(0, 1), min_size=1), st.sampled_from(["", "ms"]))
def test_histograms_have_ten_characters(values: list[float], unit: str) -> None:
    """Any values fit in ten characters, and the fullest bin is full."""
    drawn = bar(histogram(values, unit=unit))
    assert (10, "\N{FULL BLOCK}") == (len(drawn), max(drawn))


def test_histograms_say_where_values_lie() -> None:
    """Values from 0 to 1 have their place on that range, others on their own; of none there is nothing to draw."""
    assert ("%         ", "%        %", "") == (
        bar(histogram([0.0]), blocks=" .:-=+*#%"),
        bar(histogram([5.0, 25.0], unit="ms"), blocks=" .:-=+*#%"),
        bar(()),
    )


def test_numbers_with_targets_and_waste() -> None:
    """Over all runs the rates are held against their targets, and what repeats took is told as far as it is known."""
    summary = Summary()
    for number in range(1, 4):
        calls = [
            tool(n, parent=1, start=n * MS, end=(n + 10) * MS, arguments=None if number == 3 else {}, result="r")
            for n in (10, 30)
        ]
        asked = [chat(2, parent=1, tokens=(30, 10), model="scripted")] if number == 1 else []
        summary.add(result(number, scored(0.85, name="overall"), spans=[*asked, *calls]))
    assert shown(summary).split("\n\n")[1] == snapshot("""\
╭────────────────────┬───────┬────────┬────────┬────────────────┬─────────────────────────────────────────╮
│ over all runs      │ value │ target │  alert │ status         │ from                                    │
├────────────────────┼───────┼────────┼────────┼────────────────┼─────────────────────────────────────────┤
│ tool selection     │     - │ > 0.90 │ < 0.80 │ not measurable │ 0 runs scored                           │
│ mean score         │  0.85 │ > 0.80 │ < 0.60 │ ok             │ 3 runs scored                           │
│ redundancy rate    │ 50.0% │   < 5% │  > 15% │ alert          │ 2 of 4 tool calls repeat an earlier one │
│ recovery           │     - │  > 80% │  < 50% │ not measurable │ 0 of 0 failures were recovered from     │
│ latency compliance │     - │  > 90% │  < 70% │ not measurable │ 0 of 0 runs are labelled ok             │
╰────────────────────┴───────┴────────┴────────┴────────────────┴─────────────────────────────────────────╯
repeated calls took 20 ms (not known of 1 run), 20 tokens (not known of 2 runs)\
""")


def test_types_of_queries() -> None:
    """Where rules name types of queries each has its runs and means, the twenty most frequent are shown."""
    summary = Summary()
    summary.add(result(1, scored(0.5), not_measurable("recovery", "no"), kind="news \x1b[1m"))
    summary.add(result(2, scored(0.7, name="recovery"), kind="data"))
    summary.add(result(3, scored(0.7), kind="data"))
    assert shown(summary).split("\n\n")[2] == snapshot("""\
╭───────────────┬──────┬────────────┬──────────╮
│ type of query │ runs │ redundancy │ recovery │
├───────────────┼──────┼────────────┼──────────┤
│ data          │    2 │       0.70 │     0.70 │
│ news \\x1b[1m  │    1 │       0.50 │        - │
╰───────────────┴──────┴────────────┴──────────╯\
""")
    for number in range(4, 26):
        summary.add(result(number, scored(0.5), kind=f"type {number}"))
    assert "and 4 types more\n" in shown(summary)


def test_histograms_know_terminals_without_blocks() -> None:
    """Where the stream's encoding has no block characters, plain ones are used."""
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    summary = Summary()
    summary.add(result(1, scored(0.5)))
    summary.show(console(file))
    file.flush()
    assert b"     %    " in file.buffer.getvalue()
