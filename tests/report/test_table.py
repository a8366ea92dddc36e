"""Tables of scores."""

from __future__ import annotations

import io

from inline_snapshot import snapshot

from spanwise.assembly.tree import build_trace
from spanwise.model.result import RunResult
from spanwise.model.score import Score, not_applicable, not_measurable
from spanwise.report.table import show_result, title_of
from spanwise.report.terminal import console
from tests.making import agent, chat, run_of, says, tool, user


def shown(result: RunResult, *, content: bool = True) -> str:
    """What is printed of a result."""
    file = io.StringIO()
    show_result(console(file, width=90), result, content=content)
    return file.getvalue()


RESULT = RunResult(
    run=run_of(agent(1), chat(2, parent=1, sent=[user("how many?")], got=[says("5")]), tool(3, parent=77)),
    source="a.json",
    scores=(
        Score(
            name="redundancy",
            value=0.5,
            label="alert",
            reason="1 of 2 calls repeats [bold]another[/bold]",
            issues=("search was called again (secret)",),
            recommendations=("cache search",),
        ),
        Score(name="cost", value=0.0012, unit="USD", reason="as recorded"),
        not_applicable("recovery", "No tool failed."),
        not_measurable("latency", "No times are recorded."),
        Score(name="odd", status="error", reason="KeyError: 'secret'"),
    ),
)


def test_scores_stand_with_value_label_and_reason() -> None:
    """Each score has a row, whatever its status, and issues and advice stand below."""
    assert shown(RESULT) == snapshot("""\
a.json, trace 11111111111111111111111111111111
how many?
╭────────────┬────────────────┬───────┬───────────────────────────────────────────╮
│ score      │          value │ label │ reason                                    │
├────────────┼────────────────┼───────┼───────────────────────────────────────────┤
│ redundancy │           0.50 │ alert │ 1 of 2 calls repeats [bold]another[/bold] │
│ cost       │        $0.0012 │       │ as recorded                               │
│ recovery   │ not applicable │       │ No tool failed.                           │
│ latency    │ not measurable │       │ No times are recorded.                    │
│ odd        │          error │       │ KeyError: 'secret'                        │
╰────────────┴────────────────┴───────┴───────────────────────────────────────────╯
issues  search was called again (secret)
advice  cache search
the trace is partial: parent unseen of 1 span

""")


def test_content_stays_out_when_asked() -> None:
    """Without content no query, no issue and no word of an exception is printed."""
    text = shown(RESULT, content=False)
    assert [] == [word for word in ("how many", "secret", "again", "repeats") if word in text]
    assert "No times are recorded." in text


def test_one_of_several_runs_is_named() -> None:
    """A title names the run where its trace has several."""
    trace = build_trace("1" * 32, [agent(1), agent(2)])
    result = RunResult(run=trace.runs[1], scores=())
    assert f"trace {'1' * 32}, run {2:016x}" == title_of(result)
