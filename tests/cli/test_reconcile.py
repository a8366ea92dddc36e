"""`spanwise store reconcile`."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from spanwise.model.raw import RawSpan
from spanwise.store.store import Store
from tests.cli.command import Done, spanwise
from tests.store.keeping import result_of, spans_of

_KINDS = {bool: "boolValue", int: "intValue", float: "doubleValue"}


def as_value(value: object) -> dict[str, object]:
    """An attribute's value as OTLP/JSON writes it."""
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [as_value(one) for one in value]}}
    return {_KINDS.get(type(value), "stringValue"): value}


def line_of(spans: Sequence[RawSpan]) -> str:
    """A line of the Collector's file exporter: one request."""
    told = [
        {
            "traceId": span.trace_id,
            "spanId": span.span_id,
            "parentSpanId": span.parent_id or "",
            "name": span.name,
            "kind": 1,
            "startTimeUnixNano": str(span.start_ns),
            "endTimeUnixNano": str(span.end_ns),
            "attributes": [{"key": key, "value": as_value(value)} for key, value in span.attributes.items()],
            "status": {},
        }
        for span in spans
    ]
    return json.dumps(
        {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "tests"}, "spans": told}]}]}
    )


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """What a Collector has exported: the spans of three traces, each in two requests, one of them much later."""
    path = tmp_path / "exported.jsonl"
    found = [spans_of(number) for number in (1, 2, 3)]
    parts = [*(spans[2:] for spans in found), *(spans[:2] for spans in found)]
    path.write_text("".join(f"{line_of(part)}\n" for part in parts))
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the store is."""
    return tmp_path / "runs.db"


def reconcile(place: Path, *arguments: str | Path, **more: str) -> Done:
    """Run the verb on a store."""
    return spanwise("store", "reconcile", *arguments, "--store", place, cwd=place.parent, **more)


def told(done: Done) -> list[tuple[str, str, int]]:
    """The reason, the state and the revision of each trace that was told."""
    found = [json.loads(line) for line in done.out.splitlines()]
    assert {"spanwise.reconcile/1"} >= {one["schema"] for one in found}
    return [(one["reason"], one["state"], one["revision"]) for one in found]


def test_a_file_of_a_collector_is_scored_into_the_store(place: Path, exported: Path) -> None:
    """Traces in files that the store lacks are scored into it, which makes it; a second run finds nothing."""
    done = reconcile(place, exported, "--format", "json")
    assert (0, "", [("unscored", "scored", 1)] * 3) == (done.code, done.err, told(done))
    with Store.open(place) as store:
        assert [5, 5, 5] == [len(store.spans(run.trace_id).spans) for run in store.recent()]
    for arguments in ([exported], []):
        again = reconcile(place, *arguments, "--format", "json")
        assert (0, "", "") == (again.code, again.out, again.err)


def test_late_spans_in_a_file(place: Path, exported: Path, tmp_path: Path) -> None:
    """A trace of which the store has a part is scored again with the rest, out of standard input, too."""
    part = tmp_path / "part.jsonl"
    part.write_text(exported.read_text().splitlines()[0])
    assert [("unscored", "scored", 1)] == told(reconcile(place, part, "--format", "json"))
    done = spanwise(
        "store", "reconcile", "-", "--store", place, "--format", "json", stdin=exported.read_bytes(), cwd=tmp_path
    )
    assert [("late_spans", "scored", 2), ("unscored", "scored", 1), ("unscored", "scored", 1)] == sorted(told(done))


def test_the_table_says_why(place: Path) -> None:
    """People are shown the traces and the counts by reason, before and after; the note says what cannot be done."""
    with Store.open(place) as store:
        store.add([result_of(1)])
    with Store.open(place, content="none") as store:
        store.add([result_of(2)])
    dry = reconcile(place, "--dry-run")
    assert (0, True, True) == (dry.code, "to be scored" in dry.out, "no score of tool_selection and" in dry.out)
    assert "note: 1 cannot be scored again: the store keeps them without content; give their files\n" == dry.err
    done = reconcile(place)
    assert (0, True, True) == (done.code, "1 trace scored" in done.out, "1 without the scores of an" in done.out)
    with Store.open(place) as store:
        store.add([result_of(2, revision=2)])
    assert "1 trace scored" in reconcile(place).out
    assert "nothing: every run has its scores" in reconcile(place).out


def test_settings_decide_what_is_old(place: Path, exported: Path, tmp_path: Path) -> None:
    """Another parameter in the settings has every run scored again, as many as the limit allows."""
    settings = tmp_path / "spanwise.toml"
    settings.write_text('evaluators = ["redundancy"]\n')
    reconcile(place, exported)
    settings.write_text('[evaluators.redundancy]\nnear_duplicates = "off"\n')
    done = reconcile(place, "--limit", "2", "--format", "json")
    assert [("outdated", "scored", 2)] * 2 == told(done)
    assert "1 more" not in (last := reconcile(place, "--limit", "2")).out
    assert "1 trace scored" in last.out


def test_scores_are_written_back_to_the_sinks_of_the_settings(place: Path, exported: Path, tmp_path: Path) -> None:
    """With --write-back the new results go to the sinks of the settings, once, at their level of content."""
    told_to = tmp_path / "out.jsonl"
    (tmp_path / "spanwise.toml").write_text(f'[sinks.jsonl]\nto = "{told_to}"\ncontent = "none"\n[sinks.store]\n')
    done = reconcile(place, exported, "--write-back")
    assert (0, "note: 3 runs given to jsonl\n") == (done.code, done.err)
    lines = [json.loads(line) for line in told_to.read_text().splitlines()]
    assert [(1, None)] * 3 == [(line["revision"], line["answer"]) for line in lines]
    assert 0 == reconcile(place, exported, "--write-back").code
    assert 3 == len(told_to.read_text().splitlines())


def test_write_back_needs_a_sink(place: Path, exported: Path) -> None:
    """Where the settings name no sink but the store, that is unusable input."""
    done = reconcile(place, exported, "--write-back", SPANWISE_STORE=str(place))
    assert (2, "error: --write-back: the settings name no sink but the store; name one under `sinks`\n") == (
        done.code,
        done.err,
    )
    assert not place.exists()


def test_content_follows_the_settings(place: Path, exported: Path, tmp_path: Path) -> None:
    """A store that the settings have kept without content gets none out of a file."""
    (tmp_path / "spanwise.toml").write_text('[sinks.store]\ncontent = "none"\n')
    assert 0 == reconcile(place, exported).code
    with closing(sqlite3.connect(place)) as raw:
        assert "68 million" not in "\n".join(raw.iterdump())
    assert "nothing" in reconcile(place).out


def test_old_runs_are_not_deleted(place: Path) -> None:
    """A run that was stored long ago is scored anew and stays, whatever other apps' stores keep."""
    with Store.open(place, clock=lambda: 1_000_000_000_000_000_000, max_age_s=None) as store:
        store.add([result_of(1)])
    assert [("lacking", "scored", 2)] == told(reconcile(place, "--format", "json"))
    with Store.open(place) as store:
        assert 1 == store.count()


def test_what_cannot_be_read(place: Path, exported: Path, tmp_path: Path) -> None:
    """An unreadable file is exit 2 and the rest is done; so are no trace at all, a store that is not there, an age."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{")
    done = reconcile(place, exported, bad, "--format", "json")
    assert (2, 3, True) == (done.code, len(told(done)), done.err.startswith(f"error: {bad}"))
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"resourceSpans": []}\n')
    assert 2 == reconcile(place, empty).code
    assert 2 == reconcile(tmp_path / "none.db").code
    assert 2 == reconcile(tmp_path / "none.db", exported, "--dry-run").code
    assert 2 == reconcile(place, "--since", "soon").code


def test_a_broken_evaluator_is_an_internal_error_once(place: Path, exported: Path, tmp_path: Path) -> None:
    """Where an evaluator breaks, the scores are written and the exit code is 3; there is nothing to do afterwards."""
    (tmp_path / "acme.py").write_text("def check(run):\n    raise ValueError('no')\n")
    (tmp_path / "spanwise.toml").write_text('evaluators = ["acme:check"]\n')
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    assert [3, 0] == [reconcile(place, exported, PYTHONPATH=path).code for _ in range(2)]
