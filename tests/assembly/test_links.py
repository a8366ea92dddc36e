"""Order and links: the compiled loops and those in Python give the same."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress, product
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from spanwise.assembly import doubled, links
from spanwise.conventions import _batches as batches
from spanwise.conventions import _openinference_kinds
from spanwise.model.raw import Key, RawSpan, Scope
from spanwise.native import Linker, core
from tests.making import agent, span, tool
from tests.recordings_io import FOLDER, spans

NAMES = sorted(path.name.removesuffix(".facts.json") for path in FOLDER.glob("*.facts.json"))
KEYS = (
    "gen_ai.operation.name",
    "gen_ai.tool.name",
    "openinference.span.kind",
    "tool.name",
    "agent.name",
    "graph.node.id",
    "traceloop.span.kind",
    "langfuse.observation.type",
    "ai.operationId",
    "mcp.method.name",
    "llm.model_name",
    "http.request.method",
)
VALUES = (
    None,
    "invoke_agent",
    "invoke_workflow",
    "chat",
    "execute_tool",
    "AGENT",
    "CHAIN",
    "RETRIEVER",
    "LLM",
    "TOOL",
    "task",
    "tool",
    "",
    7,
)
SCOPES = (
    "tests",
    "strands.telemetry.tracer",
    "pydantic-ai",
    "ai",
    "openinference.instrumentation.langchain",
    "openinference.instrumentation.openai_agents",
    "openinference.instrumentation.beeai",
    "opentelemetry.instrumentation.langchain",
    "opentelemetry.instrumentation.llamaindex",
)
NAMES_OF_SPANS = ("span", "handoff to x", "OpenAI._prepare_chat", "AgentWorkflow.run_agent_step", "mcp_tools", "x.step")

NONE = frozenset[str]()

compiled = pytest.mark.skipif(core is None, reason="the compiled part was not built here")


@st.composite
def some_spans(draw: st.DrawFn) -> list[RawSpan]:
    """Spans that share ids, starts and parents now and then, in any order, of any dialect or none."""
    made: list[RawSpan] = []
    for number in range(draw(st.integers(0, 12))):
        fields = draw(st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=4))
        one = span(
            draw(st.sampled_from([number, number, number, 3])),
            parent=draw(st.one_of(st.none(), st.integers(0, 14))),
            start=draw(st.one_of(st.integers(0, 40), st.sampled_from([-(2**70), 2**63, 2**70]))),
            end=draw(st.sampled_from([0, 5, 30, 50, -(2**70), 2**70])),
            attributes=fields,
            scope=Scope(draw(st.sampled_from(SCOPES)), "1", {}),
            remote=draw(st.booleans()),
        )
        one.name = draw(st.sampled_from(NAMES_OF_SPANS))
        one.dropped = draw(st.sampled_from([0, 0, 2]))
        if draw(st.booleans()):
            one.attributes = MappingProxyType(dict(one.attributes))
        made.append(one)
    return made


def both(ordered: list[RawSpan]) -> None:
    """Linking these gives the same by either way."""
    assert links._linked(ordered, None) == links.link(ordered, None)


@compiled
@pytest.mark.parametrize("name", NAMES)
def test_recordings(name: str) -> None:
    """Every recording is put in order and linked the same way by both."""
    recorded = list(spans(name))
    ordered = links.in_order(recorded, set())
    assert links._sorted(recorded, set()) == ordered
    both(ordered)


@compiled
@given(some_spans())
def test_any_spans(made: list[RawSpan]) -> None:
    """Spans of any order, dialect and damage are put in order and linked the same way by both."""
    here: set[object] = set()
    there: set[object] = set()
    ordered = links.in_order(made, here)
    assert (links._sorted(made, there), there) == (ordered, here)
    both(ordered)


@compiled
@pytest.mark.parametrize("named", sorted(_openinference_kinds.KINDS))
def test_kinds_that_openinference_names(named: str) -> None:
    """What corrects a named kind does so by either way: each scope, each title, with and without what it looks at."""
    looked_at = ("agent.name", "graph.node.id", "tool.name", "gen_ai.operation.name", "metadata.path")
    cases = product(
        (*_openinference_kinds.CORRECTIONS, "tests"), NAMES_OF_SPANS, product((False, True), repeat=len(looked_at))
    )
    both(
        [
            span(
                number,
                name=title,
                attributes={
                    "openinference.span.kind": named,
                    **dict.fromkeys(compress(looked_at, there), "execute_tool"),
                },
                scope=Scope(scope, "1", {}),
            )
            for number, (scope, title, there) in enumerate(cases, start=1)
        ]
    )


@compiled
def test_a_name_of_another_type() -> None:
    """An attribute's name that is a text of the caller's own type tells a dialect as plain text does, by either way."""

    class Name(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return super().__hash__()

    key = Name("gen_ai.operation.name")
    named = span(1, attributes={"http.request.method": "GET", key: "chat"})
    assert "llm" == links.link([named], None)[0][0].kind
    both([named])


@pytest.mark.parametrize("number", [127, 128, 129])
def test_the_limit_of_attributes(number: int) -> None:
    """A span with exactly as many attributes as the SDK keeps may have lost some, and is counted, by either way."""
    full = span(1, attributes={f"key{at}": at for at in range(number)})
    counted = (False, 0, 0, 0, 0, int(number == 128))
    assert counted == links.link([full], None)[3:] == links._linked([full], None)[3:]


@pytest.mark.parametrize("watched", [(), tuple(doubled.TELLERS)[:1], tuple(doubled.TELLERS)])
def test_watched_scopes(watched: tuple[str, ...]) -> None:
    """Which of the watched scopes a trace has is told by either way, however many others there are."""
    scopes = [Scope(name, "1", {}) for name in (*(f"scope{at}" for at in range(40)), *watched)]
    ordered = [span(at, scope=scope) for at, scope in enumerate(scopes * 2, start=1)]
    ordered += [
        replace(one, span_id=f"{at:016x}", attributes=MappingProxyType({})) for at, one in enumerate(ordered, 200)
    ]
    heard = 0
    for name in watched:
        heard |= doubled.TELLERS[name] | links.BATCHED * (name in batches.SCOPES)
    assert heard == links.link(ordered, None)[4] == links._linked(ordered, None)[4]


def test_pauses() -> None:
    """Others get their turn while a long trace is linked, by either way."""
    ordered = [span(at) for at in range(200)]
    told: list[int] = []
    links.link(ordered, lambda: told.append(1))
    assert len(told) >= 3
    told.clear()
    links._linked(ordered, lambda: told.append(1))
    assert len(told) >= 3


@compiled
@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (lambda one: 7, TypeError),
        (lambda one: replace(one, scope=None), TypeError),
        (lambda one: replace(one, end_ns=None), TypeError),
    ],
)
def test_what_is_no_span_is_refused(damage: object, error: type[Exception]) -> None:
    """What is no span, or a span of other things than a span's, is an error and no crash."""
    assert callable(damage)
    with pytest.raises(error):
        links.link([span(1), damage(span(2))], None)


def linker_of(teller: Callable[[object], object], *, marks: int) -> Linker:
    """A linker of its own, with so many marks that tell a dialect."""
    assert core is not None
    return core.Linker(
        raw=RawSpan,
        span=links.Span,
        scope=Scope,
        by_scope={"tests": ((0, teller),)},
        watched={},
        marks=tuple((f"mark{at}", at, teller, None) for at in range(marks)),
        roles={},
        slow=teller,
        unknown=(-1, "other"),
    )


@compiled
def test_the_order_of_marks() -> None:
    """Of as many marks as there may be the first that a span has tells its dialect, and more are refused."""
    linker = linker_of(lambda raw: "tool", marks=64)
    for named in ([0], [63], [5, 62], [63, 17, 40], []):
        one = replace(span(1, attributes=dict.fromkeys(f"mark{at}" for at in named)), scope=Scope("other", "", {}))
        assert min(named, default=-1) == linker.link([one], 128, None)[0][0].dialect
    with pytest.raises(ValueError, match="65 marks, at most 64 are looked for"):
        linker_of(lambda raw: "tool", marks=65)


@compiled
def test_a_dialect_that_fails_is_an_error() -> None:
    """What a dialect raises comes out, and what was made until then is let go."""

    def broken(raw: object) -> tuple[int, str]:
        raise LookupError("broken")

    linker = linker_of(broken, marks=1)
    for one in (span(1), replace(span(1), attributes=MappingProxyType({}))):
        with pytest.raises(LookupError, match="broken"):
            linker.link([one], 128, None)


@compiled
@pytest.mark.parametrize("rule", [("llm",), ("llm", (), "", ""), ("llm", NONE, 7, ""), ("llm", NONE, "", 7)])
def test_impossible_kinds_are_refused(rule: tuple[object, ...]) -> None:
    """What a kind takes beside its word has its form, or is an error when the linker is made."""
    assert core is not None
    with pytest.raises(TypeError, match="a kind, scopes"):
        core.Linker(
            raw=RawSpan,
            span=links.Span,
            scope=Scope,
            by_scope={},
            watched={},
            marks=(("mark", 0, None, {"LLM": rule}),),
            roles={},
            slow=None,
            unknown=(-1, "other"),
        )


IDS: tuple[Callable[[int], Key], ...] = (
    lambda number: number,
    lambda number: (number << 64) - 3,
    lambda number: number.to_bytes(8, "big"),
    lambda number: b"\x01" * number,
    lambda number: f"{number * 1_234_567_891:016x}",
    lambda number: f"{'aB' * (number % 3)}{number:X}",
    lambda number: f"{number}é",
)


@st.composite
def tied(draw: st.DrawFn) -> list[RawSpan]:
    """Spans of which many start together, with ids of one kind or of two."""
    kinds = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=2))
    count = draw(st.integers(1, 12))
    ids = [kinds[number % len(kinds)](number) for number in range(1, count + 1)]
    made = [
        replace(
            span(1),
            span_id=own,
            parent_id=draw(st.none() | st.sampled_from(ids)),
            start_ns=draw(st.integers(1, 3)),
            end_ns=draw(st.sampled_from([0, 4, 5, 1 << 70])),
        )
        for own in ids
    ]
    return draw(st.permutations(made))


@given(tied())
def test_spans_that_start_together(made: list[RawSpan]) -> None:
    """The longer comes first, then by id, but each behind its parent: by either way, in whatever order they came."""
    assert links._sorted(made, set()) == links.in_order(made, set()) == links.in_order(made[::-1], set())


@compiled
@given(st.lists(st.integers(1, 12), unique=True), st.lists(st.integers(1, 12), unique=True))
def test_other_spans_than_those_put_in_order(numbers: list[int], others: list[int]) -> None:
    """Spans are linked by their own ids, whichever were put in order last, even where some of them are the same."""
    known = {number: span(number, parent=number - 1, start=number) for number in range(1, 13)}
    ordered = links.in_order([known[number] for number in sorted(numbers)], set())
    both([known[number] for number in others])
    links.in_order(ordered, set())
    both(ordered)


def test_without_the_compiled_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it was not built, spans are put in order and linked in Python, with the same outcome."""
    ordered = [agent(1), tool(2, parent=1), tool(3, parent=9)]
    expected = links.link(ordered, None)
    monkeypatch.setattr(links, "_ORDER", None)
    monkeypatch.setattr(links, "_LINK", None)
    assert ordered == links.in_order(reversed(ordered), set())
    assert expected == links.link(ordered, None)
