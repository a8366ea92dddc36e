"""The recordings as other deployments would have written them: the same facts, or fewer, never others."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TypeAlias, cast

import pytest
from msgspec.structs import replace

from spanwise.assembly.tree import build_trace
from spanwise.model.content import is_cut
from spanwise.model.raw import LogEvent, RawSpan
from spanwise.model.trace import Run
from spanwise.sources import read
from tests.corpus.facts import NAMES, RECORDINGS, has_logs, observed

Json: TypeAlias = dict[str, object]
Records: TypeAlias = Sequence[RawSpan | LogEvent]
_IDS = ("traceId", "spanId", "parentSpanId")
_KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_CODES = ("UNSET", "OK", "ERROR")


def files(name: str) -> list[Json]:
    """The spans of a recording, and its log events if there are any, as they are written."""
    paths = [RECORDINGS / f"{name}.json", *([RECORDINGS / f"{name}.logs.json"] if has_logs(name) else [])]
    return [json.loads(path.read_text()) for path in paths]


def records_in(written: Sequence[Json]) -> list[RawSpan | LogEvent]:
    """What is read from such files."""
    return [record for one in written for record in read(io.BytesIO(json.dumps(one).encode()))]


def runs_in(records: Records) -> list[Run]:
    """The runs of some records, by start."""
    spans: dict[object, list[RawSpan]] = {}
    events = [record for record in records if isinstance(record, LogEvent)]
    for record in records:
        if isinstance(record, RawSpan):
            spans.setdefault(record.trace_id, []).append(record)
    traces = [
        build_trace(held[0].trace_id, held, events=[one for one in events if one.trace_id == held[0].trace_id])
        for held in spans.values()
    ]
    return sorted((run for trace in traces for run in trace.runs), key=lambda run: run.start_ns)


def facts_in(records: Records) -> list[Json]:
    """What is said of the runs of some records, with what is missing and why."""
    return [observed(run) | {"missing": run.missing} for run in runs_in(records)]


@cache
def records_of(name: str) -> list[RawSpan | LogEvent]:
    """What is read from a recording as it is."""
    return records_in(files(name))


@cache
def facts_of(name: str) -> list[Json]:
    """What is said of a recording as it is."""
    return facts_in(records_of(name))


def objects(value: object) -> Iterator[Json]:
    """Every object within a JSON value, the outer ones first."""
    if isinstance(value, dict):
        yield cast("Json", value)
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(item)


def _each(change: Callable[[Json], None]) -> Callable[[Json], None]:
    def changed(written: Json) -> None:
        for one in list(objects(written)):
            change(one)

    return changed


def _ids(spelled: Callable[[str], str]) -> Callable[[Json], None]:
    def change(one: Json) -> None:
        one.update({key: spelled(held) for key in _IDS if isinstance(held := one.get(key), str) and held})

    return _each(change)


def _whole_numbers(one: Json) -> None:
    if isinstance(number := one.get("intValue"), str):
        one["intValue"] = int(number)
    one.update({key: int(str(held)) for key, held in one.items() if key.endswith("UnixNano")})


def _as_text(one: Json) -> None:
    if isinstance(number := one.get("intValue"), int):
        one["intValue"] = str(number)


def _as_doubles(one: Json) -> None:
    if "intValue" in one:
        one["doubleValue"] = float(str(one.pop("intValue")))


def _as_integers(one: Json) -> None:
    if isinstance(number := one.get("doubleValue"), int | float) and number == int(number):
        del one["doubleValue"]
        one["intValue"] = str(int(number))


def _by_name(one: Json) -> None:
    if isinstance(kind := one.get("kind"), int):
        one["kind"] = f"SPAN_KIND_{_KINDS[kind]}"
    if isinstance(code := one.get("code"), int):
        one["code"] = f"STATUS_CODE_{_CODES[code]}"


def _without_resource(one: Json) -> None:
    one.pop("resource", None)


def _other_version(one: Json) -> None:
    if isinstance(scope := one.get("scope"), dict):
        scope["version"] = "unknown"
        scope.pop("attributes", None)
    one.pop("schemaUrl", None)


def _with_more(one: Json) -> None:
    if "spanId" in one and "name" in one:
        pod = {"key": "k8s.pod.name", "value": {"stringValue": "pod-1"}}
        one["attributes"] = [*cast("list[Json]", one.get("attributes", [])), pod]
        one.setdefault("parentSpanId", "")
        one.setdefault("links", [])


SPELLINGS: dict[str, tuple[Callable[[Json], None], ...]] = {
    "base64, numbers, names": (
        _ids(lambda text: base64.b64encode(bytes.fromhex(text)).decode()),
        _each(_whole_numbers),
        _each(_by_name),
        _each(_without_resource),
    ),
    "capitals, text, more": (_ids(str.upper), _each(_as_text), _each(_other_version), _each(_with_more)),
    "whole numbers as doubles": (_each(_as_doubles),),
    "doubles as whole numbers": (_each(_as_integers),),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_other_spellings_of_the_same(spelling: str) -> None:
    """However OTLP/JSON spells ids, numbers and enumerations, and whatever a Collector adds: the facts are the same."""
    for name in NAMES:
        changed = files(name)
        for one in changed:
            for change in SPELLINGS[spelling]:
                change(one)
        assert (name, facts_of(name)) == (name, facts_in(records_in(changed)))


def test_a_request_for_each_span() -> None:
    """Spans that came one by one, the last first and each twice, are the same trace."""
    for name in NAMES:
        records = records_of(name)
        assert (name, facts_of(name)) == (name, facts_in([*records[::-1], *records]))


def _behind(records: Records) -> list[RawSpan | LogEvent]:
    """The same with each span that begins right after its parent a millisecond before it, as a late clock has it."""
    spans = {record.span_id: record for record in records if isinstance(record, RawSpan)}
    out: list[RawSpan | LogEvent] = []
    for record in records:
        above = spans.get(record.parent_id) if isinstance(record, RawSpan) and record.parent_id else None
        late = 0 if above is None or not isinstance(record, RawSpan) else record.start_ns - above.start_ns
        if isinstance(record, RawSpan) and above is not None and late < 5_000_000 and record.end_ns:
            back = late + 1_000_000
            record = replace(record, start_ns=record.start_ns - back, end_ns=record.end_ns - back)
        out.append(record)
    return out


def test_a_clock_that_runs_behind() -> None:
    """Children that start before their parents, by the clock of another host, are told and folded as before."""
    for name in NAMES:
        assert (name, facts_of(name)) == (name, facts_in(_behind(records_of(name))))


def test_two_runs_in_one_trace() -> None:
    """What ran before in the same trace changes nothing, be both below a request of the app or not."""
    for name in NAMES:
        records = records_of(name)
        first = runs_in(records)
        spans = [record for record in records if isinstance(record, RawSpan)]
        if first[0].root < 0 or len({span.trace_id for span in spans}) > 1:
            continue
        later = max(span.end_ns for span in spans) - min(span.start_ns for span in spans) + 1_000_000_000
        both = runs_in([*records, *(_moved(record, later) for record in records)])
        want = [observed(run) for run in first]
        assert (name, [*want, *want]) == (name, [observed(run) for run in both])


def _moved(record: RawSpan | LogEvent, later: int) -> RawSpan | LogEvent:
    """The same record of another run."""
    if isinstance(record, LogEvent):
        event = replace(record.event, time_ns=record.event.time_ns + later)
        return replace(record, span_id=_other(record.span_id), event=event)
    return replace(
        record,
        span_id=_other(record.span_id),
        parent_id=None if record.parent_id is None else _other(record.parent_id),
        start_ns=record.start_ns + later,
        end_ns=record.end_ns and record.end_ns + later,
        events=tuple(replace(event, time_ns=event.time_ns + later) for event in record.events),
    )


def _other(key: object) -> str:
    return f"{int(str(key), 16) ^ 1 << 63:016x}"


@pytest.mark.parametrize("limit", [1000, 400, 128])
def test_a_limit_on_the_length_of_attributes(limit: int) -> None:
    """What was cut is no question, no answer and no query; tools are all offered or not known, and nothing raises."""
    for name in NAMES:
        records = records_of(name)
        cut = [_cut(record, limit) if isinstance(record, RawSpan) else record for record in records]
        for run, whole in zip(runs_in(cut), runs_in(records), strict=True):
            said = (run.query, run.answer, *(one.query for one in run.retrievals))
            assert (name, []) == (name, [text for text in said if text is not None and is_cut(text)])
            for kept, text in (("query", whole.query), ("answer", whole.answer)):
                lost = text is not None and getattr(run, kept) is None
                assert (name, lost) == (name, lost and kept in {one.field for one in run.missing})


def _cut(span: RawSpan, limit: int) -> RawSpan:
    return replace(
        span,
        attributes={key: held[:limit] if isinstance(held, str) else held for key, held in span.attributes.items()},
    )


_HIDES = {"input.value": "__REDACTED__", "output.value": "__REDACTED__"}
_LEFT_OUT = ("llm.input_messages", "llm.output_messages", "input.mime_type", "output.mime_type", "llm.tools")


def test_what_openinference_is_told_to_hide() -> None:
    """With inputs and outputs hidden no text is told, no failure is taken for a success, and all names are right."""
    for name in [name for name in NAMES if "openinference" in name]:
        records = records_of(name)
        hidden = [_hidden(record) if isinstance(record, RawSpan) else record for record in records]
        for run, whole in zip(runs_in(hidden), runs_in(records), strict=True):
            ended = {(call.span, call.status) for call in run.tool_calls if call.span >= 0}
            failed = {(call.span, "ok") for call in whole.tool_calls if call.status == "error"}
            assert (name, set()) == (name, ended & failed)
            assert "__REDACTED__" not in json.dumps([list(map(str, run.handoffs)), run.query, run.answer])


def _hidden(span: RawSpan) -> RawSpan:
    attributes = {key: held for key, held in span.attributes.items() if not key.startswith(_LEFT_OUT)}
    return replace(span, attributes=attributes | {key: mask for key, mask in _HIDES.items() if key in attributes})
