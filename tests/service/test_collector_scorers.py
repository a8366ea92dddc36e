"""A real Collector with real scorers loses, tears and doubles nothing, whatever happens to any of them meanwhile.

Each test sends 300 interleaved traces of 20 spans, and compares what reached the backend with the scores of the whole
traces. `SPANWISE_AWAY_S` is how long the backend is away (5 s; `make e2e` and nightly take a minute).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.servers import Postgres
from tests.service.collector import TAIL_SAMPLING
from tests.service.picture import Picture
from tests.service.tally import Tally
from tests.service.traffic import expected, plan
from tests.sinks.langfuse_server import PUBLIC, SECRET, serving

if TYPE_CHECKING:
    from spanwise.store.store import Store

pytestmark = pytest.mark.timeout(900)
AWAY_S = float(os.environ.get("SPANWISE_AWAY_S", "5"))


@pytest.fixture
def begin(otelcol: Path, tmp_path: Path, require: Callable[[str], str]) -> Iterator[Callable[..., Picture]]:
    """Starts the picture."""
    require("grpc")
    require("uvicorn")
    with ExitStack() as stack:
        yield lambda **more: stack.enter_context(Picture(otelcol, tmp_path, **more))


@pytest.fixture(scope="module")
def picture(
    otelcol: Path, tmp_path_factory: pytest.TempPathFactory, require: Callable[[str], str]
) -> Iterator[Picture]:
    """A picture that tests share, one after the other: each leaves three scorers or more, and all parts running."""
    require("grpc")
    require("uvicorn")
    with Picture(otelcol, tmp_path_factory.mktemp("picture")) as running:
        yield running


def told(name: str, got: Tally) -> None:
    """Say what became of the traces, for the record."""
    sys.stderr.write(f"\n{name}: {got}\n")


def spans_at_backend(picture: Picture) -> int:
    """How many spans the backend has, each counted once."""
    return len({span.span_id for span in picture.backend.received.spans})


def test_all_are_scored_once(picture: Picture) -> None:
    """Nothing happens: each run has its scores once, at revision 1."""
    before = spans_at_backend(picture)
    got, app = picture.run()
    told("undisturbed", got)
    assert got.is_right, f"{got}\n{picture.logs()}"
    assert (0, 0) == (got.again, app.refused)
    assert picture.backend.received.wait(lambda _: spans_at_backend(picture) == before + 6000, timeout_s=30)


def test_a_scorer_is_added(picture: Picture) -> None:
    """A fourth scorer takes its share, when the others give back what they hold before the Collector knows of it."""
    got, _ = picture.run(meanwhile=picture.grow)
    told("a scorer added", got)
    assert got.is_right, f"{got}\n{picture.logs()}"


def test_a_scorer_is_drained(picture: Picture) -> None:
    """A scorer that got SIGTERM gives its traces back and exits with 0; those that remain score them whole."""
    codes: list[int] = []
    got, _ = picture.run(meanwhile=lambda: codes.append(picture.drain()))
    told("a scorer drained", got)
    assert got.is_right, f"{got}\n{picture.logs()}"
    assert [0] == codes


def test_a_scorer_is_killed(picture: Picture) -> None:
    """A scorer that was killed goes on from its write-ahead log, and gets from the Collector what it missed."""
    got, _ = picture.run(meanwhile=picture.kill_scorer)
    told("a scorer killed", got)
    assert got.is_right, f"{got}\n{picture.logs()}"


def test_the_collector_is_killed(picture: Picture) -> None:
    """A Collector that was killed goes on from its queues; apps and scorers come again meanwhile."""
    got, app = picture.run(meanwhile=picture.kill_collector)
    told("the Collector killed", got)
    assert got.is_right, f"{got}\n{picture.logs()}"
    assert app.refused > 0


def test_the_backend_is_away(picture: Picture) -> None:
    """All scores and spans arrive once the backend is there again."""
    before = spans_at_backend(picture)
    got, _ = picture.run(meanwhile=lambda: picture.backend_away(away_s=AWAY_S), within_s=60 + AWAY_S)
    told(f"the backend away for {AWAY_S:g} s", got)
    assert got.is_right, f"{got}\n{picture.logs()}"
    assert picture.backend.received.wait(lambda _: spans_at_backend(picture) == before + 6000, timeout_s=30)


def test_langfuse_says_too_many(begin: Callable[..., Picture]) -> None:
    """Langfuse answers 429 for a while: its scores arrive later, all of them, and the others are not held up."""
    with serving() as langfuse:
        langfuse.per_minute, langfuse.seconds_per_minute = 6, 2.0
        keys = {"LANGFUSE_PUBLIC_KEY": PUBLIC, "LANGFUSE_SECRET_KEY": SECRET, "LANGFUSE_BASE_URL": langfuse.host}
        picture = begin(environment=keys)
        got, _ = picture.run(traces=100)
        told("Langfuse answering 429", got)
        assert got.is_right, f"{got}\n{picture.logs()}"
        deadline = time.monotonic() + 60
        while len(_overall(langfuse.scores)) < 100 and time.monotonic() < deadline:
            time.sleep(0.2)
        assert 100 == len(_overall(langfuse.scores)), picture.logs()
        assert any(status == 429 for _, _, status, _ in langfuse.asked)


def _overall(rows: dict[str, dict[str, object]]) -> set[object]:
    return {row["traceId"] for row in rows.values() if row["name"] == "overall"}


def test_tail_sampling_by_real_scores(begin: Callable[..., Picture]) -> None:
    """Scorers forward whole traces with their scores, and the Collector keeps those with a low one."""
    picture = begin(configs=TAIL_SAMPLING)
    got, _ = picture.run(traces=90)
    assert got.is_right, f"{got}\n{picture.logs()}"
    overall = {trace: scores["overall"] or 0.0 for trace, scores in expected(plan(90)).items()}
    low = {trace for trace, value in overall.items() if value < 0.7}
    store = picture.backend.received
    there = store.wait(lambda _: low <= {one.trace_id for one in store.spans}, timeout_s=30)
    assert there, picture.logs()
    kept = [one.trace_id for one in store.spans]
    assert 0 < len(set(kept) - low) < 0.3 * len(overall.keys() - low)
    assert {20} == {kept.count(trace) for trace in set(kept)}
    roots = {one.trace_id: one.attributes for one in store.spans if not one.proto.parent_span_id}
    assert {trace: overall[trace] for trace in roots} == {
        trace: attributes["spanwise.score.overall"] for trace, attributes in roots.items()
    }
    assert not any("spanwise.route" in one.attributes for one in store.spans)


def test_scorers_share_a_database(begin: Callable[..., Picture], require: Callable[[str], str]) -> None:
    """Three scorers that write to one Postgres keep each run once with all its scores, one of them killed meanwhile."""
    require("psycopg")
    from spanwise.store.store import Store

    with Postgres() as server:
        picture = begin(environment={"SPANWISE_STORE": server.url()})
        got, _ = picture.run(traces=100, meanwhile=picture.kill_scorer)
        told("one database", got)
        assert got.is_right, f"{got}\n{picture.logs()}"
        wanted = expected(plan(100))
        with Store.open(server.url()) as store:
            deadline = time.monotonic() + 30
            while kept_in(store) != wanted and time.monotonic() < deadline:
                time.sleep(0.3)
            assert wanted == kept_in(store), picture.logs()


def kept_in(store: Store) -> dict[str, dict[str, float | None]]:
    """The scores in a store by trace and name; a run that is there twice is a failure."""
    found: dict[str, dict[str, float | None]] = {}
    for trace in store.page(limit=1000):
        (run,) = trace.runs
        found[run.trace_id] = {score.name: score.value for score in run.scores}
    return found
