"""When retrievals ran, told without what they found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.assembly.tree import build_trace
from spanwise.model.raw import RawSpan
from spanwise.model.searches import searches_of
from spanwise.model.trace import Run
from tests import recordings_io
from tests.making import agent, run_of, span, span_id, tool

NAMES = sorted(path.stem for path in recordings_io.FOLDER.glob("*.json") if not path.stem.endswith((".facts", ".logs")))
ROWS = st.lists(
    st.tuples(st.sampled_from(["retrieval", "tool", "other"]), st.integers(0, 9), st.integers(0, 60), st.booleans()),
    max_size=12,
)


def retrieval(number: int, *, parent: int, failed: bool = False, start: int | None = None) -> RawSpan:
    """A retriever's span."""
    attributes = {"gen_ai.operation.name": "retrieval"}
    return span(number, parent=parent, attributes=attributes, status=2 if failed else 0, start=start)


def agree(run: Run) -> None:
    """The searches are the run's retrievals."""
    found = [(one.span, one.start_ns, one.end_ns, one.failed) for one in searches_of(run)]
    assert [(one.span, one.start_ns, one.end_ns, one.failed) for one in run.retrievals] == found


def test_a_retriever_inside_a_retriever() -> None:
    """A retriever that only calls another is the same retrieval, and failed if either did."""
    run = run_of(agent(1), retrieval(2, parent=1), retrieval(3, parent=2, failed=True), retrieval(4, parent=1))
    assert [(1, 2, True), (3, 4, False)] == [(one.span, one.start_ns, one.failed) for one in searches_of(run)]
    assert () == searches_of(run_of(agent(1)))


def test_no_document_is_read() -> None:
    """Of what was found nothing is read."""
    run = run_of(agent(1), retrieval(2, parent=1))
    assert [span_id(2)] == [run.trace.spans[one.span].span_id for one in run.once(searches_of)]
    assert "retrievals" not in vars(run)


@given(ROWS)
def test_as_the_run_counts_them(rows: list[tuple[str, int, int, bool]]) -> None:
    """However retrievers, tools and other spans lie in each other, the run's retrievals are found."""
    made = [agent(1, end=100)]
    for number, (kind, above, start, failed) in enumerate(rows, start=2):
        parent = above % (number - 1) + 1
        if kind == "retrieval":
            made.append(retrieval(number, parent=parent, failed=failed, start=start))
        else:
            made.append((tool if kind == "tool" else span)(number, parent=parent, start=start))
    agree(run_of(*made))


@pytest.mark.parametrize("name", NAMES)
def test_in_recordings(name: str) -> None:
    """In every recording the run's retrievals are found."""
    traces: dict[object, list[RawSpan]] = {}
    for one in recordings_io.spans(name):
        traces.setdefault(one.trace_id, []).append(one)
    for key, held in traces.items():
        for run in build_trace(str(key), held).runs:
            agree(run)
