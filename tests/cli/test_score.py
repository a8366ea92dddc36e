"""`spanwise score`, as a process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from spanwise.config import KEYS
from tests.cli.command import environment, spanwise

GOOD = "pydantic-ai__builtin.json"
BARE = "autogen__builtin.json"


@pytest.fixture(scope="module")
def folder() -> Path:
    """The recordings; commands run there, so that paths in their output are short."""
    return Path(__file__).resolve().parent.parent / "recordings"


def test_a_run_is_scored_in_a_table(folder: Path) -> None:
    """Without options each run has its table, and standard error stays empty."""
    done = spanwise("score", GOOD, cwd=folder)
    assert (0, "") == (done.code, done.err)
    assert done.out == snapshot("""\
pydantic-ai__builtin.json, trace 204ce4638213ede390fffa1598b660d1
How many people lived in France in 2024, and what is 10% of that?
╭─────────────────────┬────────────────┬───────┬───────────────────────────────────────────────────────────────────────╮
│ score               │          value │ label │ reason                                                                │
├─────────────────────┼────────────────┼───────┼───────────────────────────────────────────────────────────────────────┤
│ tool_selection      │           1.00 │ ok    │ Valid by name and arguments, of the tools that were offered: 4 of 4   │
│                     │                │       │ calls.                                                                │
│ tool_sequence       │ not applicable │       │ No sequence was expected of this run. Give `expected`, or             │
│                     │                │       │ `anti_patterns`.                                                      │
│ tool_arguments      │           1.00 │ ok    │ 4 of 4 tool calls fit the schema of their tool.                       │
│ redundancy          │           0.75 │ alert │ 1 of 4 tool calls repeat an earlier one. Wasted: 22 ms, 508 tokens    │
│                     │                │       │ and $0.000078.                                                        │
│ loops               │           1.00 │ ok    │ No cycle repeats in 4 tool calls.                                     │
│ efficiency          │           0.75 │ warn  │ 3 of 4 tool calls were of use. Results found again: 0 in the answer,  │
│                     │                │       │ 1 in a later call.                                                    │
│ recovery            │           1.00 │ ok    │ 1 of 1 failures of tools (1 permanent) were recovered from, after 62  │
│                     │                │       │ ms.                                                                   │
│ latency             │           0.90 │ warn  │ 10% of 329 ms was lost: 11 ms in failed calls, 22 ms in repeated      │
│                     │                │       │ calls. Most of the critical path: chat gpt-4o-mini 17%, chat          │
│                     │                │       │ gpt-4o-mini 17%, chat gpt-4o-mini 17%.                                │
│ latency_ms          │      329.08 ms │       │ From the start to the end of the run. Slowest tool search_docs: p50   │
│                     │                │       │ 21 ms, p95 22 ms of 2. The model gpt-4o-mini-2024-07-18: p50 56 ms,   │
│                     │                │       │ p95 57 ms of 5.                                                       │
│ cost                │       $0.00035 │       │ 5 model calls, 2138 input (256 read from a cache) and 86 output       │
│                     │                │       │ tokens, as recorded.                                                  │
│ retrieval_relevance │ not applicable │       │ The run retrieved nothing.                                            │
│ grounding           │           1.00 │ ok    │ 1 claim: 1 supported.                                                 │
│ handoffs            │ not applicable │       │ No agent handed over to another.                                      │
│ overall             │           0.94 │ ok    │ 100% of the weight is scored: 0.24 x 1.00 grounding + 0.24 x 1.00     │
│                     │                │       │ tool_selection + 0.12 x 1.00 tool_arguments + 0.12 x 0.75 redundancy  │
│                     │                │       │ + 0.12 x 0.90 latency + 0.06 x 0.75 efficiency + 0.06 x 1.00 loops +  │
│                     │                │       │ 0.06 x 1.00 recovery.                                                 │
╰─────────────────────┴────────────────┴───────┴───────────────────────────────────────────────────────────────────────╯
issues  search_docs was called twice with the same arguments ({"query":"population of France 2024"}); the second call
        cost 22 ms, 508 tokens and $0.000078.
        search_docs ({"query":"population of France 2024"}) repeats an earlier call.
        11 ms went by in failed calls of calculator: 3% of the run.
        22 ms went by in repeated calls of search_docs: 7% of the run.
        $0.000078 of $0.00035 (22%) went to 1 repeated tool call.
        redundancy at 0.75 takes 0.03 off overall.
        efficiency at 0.75 takes 0.01 off overall.
        latency at 0.90 takes 0.01 off overall.
advice  Keep the first result of search_docs in the conversation, or cache search_docs by its arguments.
        Find out why calculator fails, or let it fail sooner.
        Keep the first result of search_docs instead of waiting for it again.

""")


def test_json_is_one_object_per_run(folder: Path) -> None:
    """JSON has a line for each run with the contract's schema, in the order of the inputs."""
    done = spanwise("score", GOOD, BARE, "--format", "json", cwd=folder)
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [("spanwise.score/1", GOOD), ("spanwise.score/1", BARE)] == [(run["schema"], run["source"]) for run in found]
    assert (0, "") == (done.code, done.err)


def test_standard_input_is_read(folder: Path) -> None:
    """A dash reads standard input and gives the scores of the file."""
    piped = spanwise("score", "-", "--format", "json", stdin=(folder / GOOD).read_bytes(), cwd=folder)
    named = spanwise("score", GOOD, "--format", "json", cwd=folder)
    assert json.loads(named.out)["scores"] == json.loads(piped.out)["scores"]


def test_many_runs_have_a_summary(folder: Path) -> None:
    """A whole folder is a summary: numbers with targets, what was wasted, the worst runs."""
    done = spanwise("score", ".", cwd=folder)
    words = (" runs\n", "│ latency compliance │", "\nrepeated calls took ", "\nworst 10\n")
    assert (0, []) == (done.code, [word for word in words if word not in done.out])


def test_a_broken_file_does_not_stop_the_others(folder: Path, tmp_path: Path) -> None:
    """An unusable file is one line on standard error that names it and the place; the rest is done, the exit is 2."""
    broken = tmp_path / "broken.json"
    broken.write_text('{"resourceSpans": [')
    done = spanwise("score", broken, GOOD, "--format", "json", cwd=folder)
    assert (2, 1, 1) == (done.code, len(done.out.splitlines()), len(done.err.splitlines()))
    assert done.err.startswith(f"error: {broken}, ")


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", '{"resourceSpans": []}'])
def test_nothing_found_is_unusable_input(tmp_path: Path, text: str) -> None:
    """A file without any run is exit 2 with a reason, never an empty success."""
    path = tmp_path / "odd.json"
    path.write_text(text)
    done = spanwise("score", path)
    assert (2, "", True) == (done.code, done.out, done.err.startswith("error: "))


def test_a_missing_file_is_unusable_input(folder: Path) -> None:
    """A path that is not there is named, and the other input is still scored."""
    done = spanwise("score", "no-such-file.json", GOOD, "--format", "json", cwd=folder)
    assert (2, 1, True) == (done.code, len(done.out.splitlines()), "no-such-file.json" in done.err)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([GOOD, "--fail-under", "redundancy=0.75"], 0),
        ([GOOD, "--fail-under", "redundancy=0.76"], 1),
        ([GOOD, "--fail-under", "redundancy=0.9"], 1),
        ([GOOD, "--fail-on", "alert"], 1),
        ([GOOD, "--fail-on", "alert", "--evaluator", "recovery"], 0),
        ([BARE, "--fail-under", "cost=1"], 3),
        ([BARE, GOOD, "--fail-under", "redundancy=0.5"], 3),
        ([BARE, GOOD, "--fail-under", "redundancy=0.5", "--allow-not-measurable"], 0),
        ([BARE, GOOD, "--fail-under", "redundancy=0.9", "--allow-not-measurable"], 1),
        ([BARE, "--fail-under", "redundancy=0.5", "--allow-not-measurable"], 3),
        (["no-such-file.json", GOOD, "--fail-under", "redundancy=0.9"], 2),
        (["no-such-file.json", BARE, "--fail-under", "redundancy=0.9"], 3),
        ([GOOD, "--fail-under", "cost=1"], 2),
        ([GOOD, "--fail-under", "nope=1"], 2),
        ([GOOD, "--fail-under", "redundancy"], 2),
        ([GOOD, "--fail-under", "redundancy=90"], 2),
        ([GOOD, "--evaluator", "nope"], 2),
        ([GOOD, "--format", "xml"], 2),
        ([GOOD, "--config", "no-such-file.toml"], 2),
        ([], 2),
    ],
)
def test_the_gravest_exit_code_counts(folder: Path, arguments: list[str], code: int) -> None:
    """0 fine, 1 the gate failed, 2 unusable input, 3 no answer: 3 before 2 before 1; whatever is not 0 is explained."""
    done = spanwise("score", *arguments, cwd=folder)
    assert (code, code != 0) == (done.code, bool(done.err))


def test_a_gate_says_what_is_in_its_way(folder: Path) -> None:
    """The run, its score and the reason are on standard error; the table is still on standard output."""
    done = spanwise("score", GOOD, "--fail-under", "redundancy=0.9", cwd=folder)
    where = f"{GOOD} 204ce4638213ede390fffa1598b660d1 run 1db61002f6328893"
    why = "redundancy 0.75 is under 0.9: 1 of 4 tool calls repeat an earlier one."
    assert (1, True) == (len(done.err.splitlines()), done.err.startswith(f"gate: failed: {where}: {why}"))
    assert "redundancy" in done.out


def test_content_stays_out_when_asked(folder: Path) -> None:
    """With --no-content nothing that people, models or tools wrote is printed, on neither stream."""
    for form in ("json", "table"):
        done = spanwise("score", GOOD, "--no-content", "--format", form, "--fail-on", "warn", cwd=folder)
        assert [] == [word for word in ("France", "68.4", "population", "again") if word in done.out + done.err]


def test_the_result_can_go_to_a_file(folder: Path, tmp_path: Path) -> None:
    """With --output standard output stays empty and the file holds the result."""
    path = tmp_path / "scores.jsonl"
    done = spanwise("score", GOOD, "--format", "json", "--output", path, cwd=folder)
    assert (0, "", GOOD) == (done.code, done.out, json.loads(path.read_text())["source"])


def test_a_file_that_cannot_be_written_is_said(folder: Path, tmp_path: Path) -> None:
    """An output below a folder that is not there is an error before anything is read."""
    done = spanwise("score", GOOD, "--output", tmp_path / "none" / "x", cwd=folder)
    assert (2, "", True) == (done.code, done.out, "cannot be written" in done.err)


def test_settings_choose_evaluators_and_thresholds(folder: Path, tmp_path: Path) -> None:
    """A file of settings decides what runs and what counts as an alert; an option goes before it."""
    settings = tmp_path / "spanwise.toml"
    settings.write_text('evaluators = ["redundancy"]\n[thresholds.redundancy]\nok = 0.7\nalert = 0.1\n')
    done = spanwise("score", GOOD, "--config", settings, "--format", "json", cwd=folder)
    assert [("redundancy", "ok")] == [(score["name"], score["label"]) for score in json.loads(done.out)["scores"]]
    done = spanwise("score", GOOD, "--config", settings, "--evaluator", "recovery", "--format", "json", cwd=folder)
    assert ["recovery"] == [score["name"] for score in json.loads(done.out)["scores"]]


def test_a_profile_can_be_chosen(folder: Path) -> None:
    """The classic profile has its own evaluators and weights; one that is not there is unusable."""
    done = spanwise("score", GOOD, "--profile", "classic", "--format", "json", cwd=folder)
    values = {score["name"]: score["value"] for score in json.loads(done.out)["scores"]}
    assert (0.9, 0.65, 1.0) == (values["overall"], values["efficiency"], values["redundancy"])
    assert 2 == spanwise("score", GOOD, "--profile", "odd", cwd=folder).code


@pytest.mark.parametrize(("least", "code"), [("0.5", 0), ("0.99", 1)])
def test_a_gate_on_all_scores_together(folder: Path, least: str, code: int) -> None:
    """The overall score has a least value like any other; named beside an evaluator it is made of that one."""
    assert code == spanwise("score", GOOD, "--fail-under", f"overall={least}", cwd=folder).code
    done = spanwise(
        "score", GOOD, "--evaluator", "redundancy", "--evaluator", "overall", "--format", "json", cwd=folder
    )
    assert [("redundancy", 0.75), ("overall", 0.75)] == [
        (score["name"], score["value"]) for score in json.loads(done.out)["scores"]
    ]


def test_rules_name_the_type_of_a_query(folder: Path, tmp_path: Path) -> None:
    """Where a rule matches the query its name is in the JSON."""
    settings = tmp_path / "spanwise.toml"
    settings.write_text('rules = [{ name = "population", words = ["people"], expected = ["search_docs"] }]\n')
    done = spanwise("score", GOOD, BARE, "--config", settings, "--format", "json", cwd=folder)
    assert ["population", None] == [json.loads(line).get("query_type") for line in done.out.splitlines()]


def test_errors_in_settings_are_one_line_each(folder: Path, tmp_path: Path) -> None:
    """Each error of a file of settings is a line of its own."""
    settings = tmp_path / "spanwise.toml"
    settings.write_text("a = 1\nb = 2\n")
    done = spanwise("score", GOOD, "--config", settings, cwd=folder)
    expected = [f"error: {settings}, {key}: unknown key; known: {', '.join(KEYS)}" for key in "ab"]
    assert (2, expected) == (done.code, done.err.splitlines())


def test_a_trace_can_be_scored_as_one(folder: Path) -> None:
    """With --unit trace the runs of a trace are one, without a run id."""
    name = "pydantic-ai__builtin__remote-parent.json"
    runs, traces = (
        [
            json.loads(line)
            for line in spanwise("score", name, "--unit", unit, "--format", "json", cwd=folder).out.splitlines()
        ]
        for unit in ("run", "trace")
    )
    assert (2, [""]) == (len(runs), [run["run_id"] for run in traces])


def test_fragments_can_be_stitched(folder: Path) -> None:
    """With --stitch every run is still there."""
    done = spanwise("score", GOOD, "--stitch", "--format", "json", cwd=folder)
    assert (0, 1) == (done.code, len(done.out.splitlines()))


@pytest.mark.parametrize("gate", [[], ["--fail-under", "redundancy=1"]])
def test_a_reader_who_leaves_is_no_error(folder: Path, gate: list[str]) -> None:
    """When the reader of standard output leaves, the command stops quietly; a gate is answered all the same."""
    command = [sys.executable, "-m", "spanwise", "score", ".", "--format", "json", *gate]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read().decode()
    assert (3 if gate else 0) == process.returncode
    assert [] == [line for line in said.splitlines() if not line.startswith(("gate: ", "note: "))]


def test_an_interrupt_is_130(tmp_path: Path) -> None:
    """Interrupted while it waits for input, the command leaves with 130 and says nothing."""
    # What a shell starts in the background ignores interrupts.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import spanwise.cli.main as m; print('ready', file=sys.stderr, flush=True); sys.exit(m.main())"
    )
    command = [sys.executable, "-c", code]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "score", "-"], cwd=tmp_path, env=environment(), **streams) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        assert b"ready\n" == process.stderr.readline()
        process.stdin.write(b'{"resourceSpans": [')
        process.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.7)
        process.send_signal(signal.SIGINT)
        assert (130, b"") == (process.wait(20), process.stderr.read())
