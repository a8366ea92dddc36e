"""A project of Langfuse is read page by page, whole, within its limits, whatever its server is like."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from spanwise import sources
from spanwise.catalog import default_evaluators
from spanwise.errors import SourceError
from spanwise.model.raw import RawSpan
from spanwise.offline.reading import Reading
from spanwise.sources._langfuse_http import CLOUD, parse
from spanwise.sources._source import Tally
from spanwise.sources.langfuse_api import LARGEST, host_of, is_address, since
from tests.sinks.langfuse_server import PUBLIC, SECRET, Fault, LangfuseServer, serving
from tests.sources.langfuse_project import Project, moment

ADDRESS = "langfuse://"


@pytest.fixture(autouse=True)
def _needs_the_sdk(require: Callable[[str], str]) -> None:
    require("langfuse")
    require("httpx")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LangfuseServer]:
    """A server, and the variables that name it."""
    with serving() as running:
        monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", PUBLIC)
        monkeypatch.setenv("LANGFUSE_SECRET_KEY", SECRET)
        monkeypatch.setenv("LANGFUSE_BASE_URL", running.host)
        yield running


@pytest.fixture(params=["today", "before"])
def project(request: pytest.FixtureRequest, server: LangfuseServer) -> Project:
    """Twenty traces, on a server of today or on one before."""
    project = Project(20)
    project.has_v2 = request.param == "today"
    server.reads = project
    return project


def read(address: str = ADDRESS, **more: Any) -> list[RawSpan]:
    """The spans that an address gives."""
    return [record for record in sources.read(address, **more) if isinstance(record, RawSpan)]


def test_all_of_it(project: Project) -> None:
    """Every observation comes out once, as from an export, and each trace makes a run with its calls."""
    spans = read()
    assert sorted(row["id"] for row in project.rows) == sorted(span.span_id for span in spans)
    reading = Reading(paths=[ADDRESS])
    results = list(reading.results(default_evaluators()))
    assert (20, 0, []) == (len(results), reading.errors, reading.remarks())
    for result in results:
        run = result.run
        assert (["search", "search"], "How tall is K2?", True) == (
            [call.name for call in run.tool_calls],
            run.query,
            run.completeness.complete,
        )
        assert 0.5 == next(score.value for score in result.scores if score.name == "redundancy")
    assert {one["id"] for one in project.traces} == {result.run.trace.trace_id for result in results}


def test_a_part_of_it(project: Project) -> None:
    """A window of time, environments and a session narrow what is asked for."""
    assert 4 * 10 == len(read("langfuse://?environment=prod"))
    assert 4 * 20 == len(read("langfuse://?environment=prod&environment=dev"))
    assert 4 * 7 == len(read("langfuse://?session=s-1"))
    start, end = (moment(second).replace("+", "%2B") for second in (99.0, 148.0))
    assert 4 * 5 == len(read(f"langfuse://?since={start}&until={end}"))


def test_an_age(project: Project) -> None:
    """`since=7d` asks for what began within seven days, up to a fixed end."""
    list(sources.read("langfuse://?since=7d"))
    _, query = next(asked for asked in project.asked if "fromStartTime" in asked[1])
    begin, end = (time.mktime(time.strptime(query[name][0][:19], "%Y-%m-%dT%H:%M:%S")) for name in _WINDOW)
    assert 7 * 86_400 == end - begin
    assert 1 == len({query["toStartTime"][0] for _, query in project.asked if "toStartTime" in query})


_WINDOW = ("fromStartTime", "toStartTime")


def test_pages(server: LangfuseServer) -> None:
    """Large projects are read in as few requests as there are pages, with progress."""
    server.reads = project = Project(300, every_s=1)
    progress: list[int] = []
    assert 1_200 == len(read(on_progress=progress.append))
    assert (3, 3) == (len(project.asked), len(progress))
    assert progress == sorted(progress)
    project.has_v2, project.asked[:] = False, []
    assert 1_200 == len(read())
    paths = [path.rpartition("/")[2] for path, _ in project.asked[1:]]
    assert (12, 3) == (paths.count("observations"), paths.count("traces"))


def test_it_streams(server: LangfuseServer) -> None:
    """Spans come out before the last page is asked for."""
    server.reads = project = Project(300, every_s=1)
    stream = sources.read(ADDRESS)
    next(stream)
    assert 1 == len(project.asked)
    assert 1_199 == len(list(stream))


def test_pages_that_are_too_large(server: LangfuseServer) -> None:
    """Where the server cannot give so many rows at once, fewer are asked for."""
    server.reads = project = Project(100)
    project.largest = 100
    assert 400 == len(read())
    assert [LARGEST, LARGEST, LARGEST // 3, LARGEST // 3, LARGEST // 9] == [
        int(query["limit"][0]) for _, query in project.asked
    ][:5]


def test_long_metadata_is_whole(server: LangfuseServer) -> None:
    """What another instrumentation sent to Langfuse is not cut short."""
    server.reads = project = Project(1)
    project.rows[1]["metadata"] = {"attributes": {"openinference.span.kind": "TOOL", "tool.parameters": "x" * 1_000}}
    (span,) = [span for span in read() if "tool.parameters" in span.attributes]
    assert 1_000 == len(str(span.attributes["tool.parameters"]))


def test_observations_without_a_trace(server: LangfuseServer) -> None:
    """On servers before today's, observations whose trace is not listed are read all the same."""
    server.reads = project = Project(3)
    project.has_v2, project.others = False, {project.traces[0]["id"]}
    assert 12 == len(read())


@pytest.mark.parametrize("kind", [429, 500, 503, "drop"])
def test_failures_that_pass(
    kind: int | str, project: Project, server: LangfuseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails for a while is asked again, and nothing is there twice."""
    monkeypatch.setattr("spanwise.sources._langfuse_http._FIRST_S", 0.01)
    server.faults.extend([Fault(kind, {"Retry-After": "0.01"} if kind == 429 else {})] * 2)
    assert 80 == len(read())


def test_a_plan_with_few_requests(server: LangfuseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more requests are made in a minute than were allowed, so that none is refused."""
    monkeypatch.setattr("spanwise.sources._langfuse_http._MINUTE_S", 0.5)
    server.per_minute, server.seconds_per_minute = 2, 0.45
    server.reads = project = Project(100)
    project.has_v2 = False
    begun = time.monotonic()
    assert 400 == len(read("langfuse://?per_minute=2"))
    assert time.monotonic() - begun > 0.9
    assert [] == [status for _, _, status, _ in server.asked if status == 429]


def test_the_server_says_when(server: LangfuseServer, project: Project) -> None:
    """A request that was one too many is made again when the server says."""
    server.faults.append(Fault(429, {"Retry-After": "0.6"}))
    begun = time.monotonic()
    assert 80 == len(read())
    assert 0.6 < time.monotonic() - begun < 10


@pytest.mark.parametrize(
    ("status", "said"),
    [(401, "LANGFUSE_PUBLIC_KEY"), (403, "LANGFUSE_SECRET_KEY"), (418, "HTTP 418")],
)
def test_what_cannot_be_read(status: int, said: str, server: LangfuseServer) -> None:
    """A refusal ends the reading at once, with a way out and without the keys."""
    server.faults.extend([Fault(status)] * 3)
    with pytest.raises(SourceError, match=said) as raised:
        read()
    assert SECRET not in str(raised.value)


def test_a_server_that_stays_away(server: LangfuseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that cannot be reached is one error, at last."""
    monkeypatch.setattr("spanwise.sources._langfuse_http._FIRST_S", 0.001)
    server.down()
    reading = Reading(paths=[ADDRESS])
    told: list[str] = []
    reading.on_error = lambda error: told.append(str(error))
    assert [] == list(reading.results({}))
    (error,) = told
    assert ("8 tries" in error, 1) == (True, reading.errors)


def test_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing keys are told by their names."""
    monkeypatch.delenv("LANGFUSE_PUBLIC_KEY", raising=False)
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "x")
    with pytest.raises(SourceError, match="needs LANGFUSE_PUBLIC_KEY"):
        read()


def test_broken_rows(server: LangfuseServer) -> None:
    """A row that cannot be used is one error and costs only itself."""
    server.reads = project = Project(2)
    project.rows[3]["traceId"] = None
    told: list[SourceError] = []
    tally = Tally()
    assert 7 == len(read(on_error=told.append, tally=tally))
    assert (1, 1, "langfuse://") == (len(told), tally.refused, told[0].source)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("langfuse://", "https://eu.example.com"),
        ("langfuse://?since=7d", "https://eu.example.com"),
        ("langfuse://us.cloud.langfuse.com", "https://us.cloud.langfuse.com"),
        ("langfuse://us.cloud.langfuse.com/?since=7d", "https://us.cloud.langfuse.com"),
        ("langfuse://localhost:3000", "http://localhost:3000"),
        ("langfuse://127.0.0.1:3000/proxied", "http://127.0.0.1:3000/proxied"),
    ],
)
def test_hosts(text: str, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address names a host, or the variables do; only this machine is asked without encryption."""
    monkeypatch.setenv("LANGFUSE_BASE_URL", "https://eu.example.com/")
    assert host == host_of(text)
    assert is_address(text)


def test_the_default_host() -> None:
    """Where nothing names a host, it is Langfuse's cloud; LANGFUSE_HOST is read, too."""
    assert CLOUD == parse(ADDRESS, {}).host
    assert "http://old" == parse(ADDRESS, {"LANGFUSE_HOST": "http://old"}).host


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("langfuse://?sinse=7d", "read 'sinse', expected one of since"),
        ("langfuse://?per_minute=0", "expected a number of requests"),
        ("langfuse://pk:sk@host", "keys belong into LANGFUSE_PUBLIC_KEY"),
        ("langfuse://?since", "this is no address"),
        ("langfuse://?since=soon", "expected an age such as 12h"),
        ("langfuse://?until=-1", "expected an age such as 12h"),
    ],
)
def test_addresses_that_are_none(text: str, said: str, server: LangfuseServer) -> None:
    """What cannot be understood is told before anything is asked."""
    with pytest.raises(SourceError, match=said):
        read(text)
    assert [] == server.asked


def test_adding_an_age() -> None:
    """An age from elsewhere is added to an address, unless it names one."""
    assert "langfuse://?since=7d" == since("langfuse://", "7d")
    assert "langfuse://h?environment=prod&since=12h" == since("langfuse://h?environment=prod", "12h")
    with pytest.raises(SourceError, match="both name an age"):
        since("langfuse://?since=1d", "7d")


def test_expanding() -> None:
    """An address stands for itself, each once, before files; an address of another kind is an error."""
    errors: list[str] = []
    found = sources.expand(
        [ADDRESS, ADDRESS, "https://example.com/x"], on_error=lambda error: errors.append(error.message)
    )
    assert ([ADDRESS], 1) == (found, len(errors))
