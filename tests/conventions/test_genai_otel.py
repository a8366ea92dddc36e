"""genai-otel-instrument: messages as events of its own, calls under OpenInference's names."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given

from spanwise import conventions
from spanwise.conventions import genai_otel
from spanwise.model.content import TRUNCATED, LLMFields, Memo, Message, Messages, Part, ToolDefinition
from spanwise.model.raw import EMPTY, RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

SCOPE = "genai_otel.instrumentors.base"
CALL = "llm.output_messages.0.message.tool_calls.0.tool_call"
ASKED = {f"{CALL}.id": "c1", f"{CALL}.function.name": "search", f"{CALL}.function.arguments": '{"q": "x"}'}
KEYS = (*ASKED, "llm.tools", "gen_ai.request.first_message", "gen_ai.usage.cost.total", "gen_ai.usage.input_tokens")
WORDS = ("chat", "tool", "[{")


def said(side: str, number: int, role: str, content: object) -> tuple[str, dict[str, object]]:
    """An event that tells one message."""
    return f"gen_ai.{side}.{number}", {f"gen_ai.{side}.role": role, f"gen_ai.{side}.content": content}


def span(*events: tuple[str, dict[str, object]], attributes: Mapping[str, object] = EMPTY) -> RawSpan:
    """A model's span."""
    return made(scope=SCOPE, attributes={"gen_ai.operation.name": "chat", **attributes}, events=events)


def test_kind() -> None:
    """The operation tells the kind, and the scope the dialect."""
    index, found = conventions.classify(span(attributes=ASKED))
    assert ("genai_otel", "llm") == (conventions.CONVENTIONS[index].name, found)


def test_messages() -> None:
    """Events hold what was sent, attributes what was asked for; an answer without words is none."""
    events = [
        said("prompt", 0, "system", "Be kind."),
        said("prompt", 1, "user", "Who?"),
        said("prompt", 2, "assistant", ""),
        said("prompt", 3, "tool", "Ada"),
        said("completion", 0, "assistant", None),
    ]
    sent = (
        Message("system", (Part("text", "Be kind."),)),
        Message("user", (Part("text", "Who?"),)),
        Message("assistant", ()),
        Message("tool", (Part("tool_result", "", None, None, "Ada"),)),
    )
    got = genai_otel.messages(span(*events, attributes=ASKED), Memo())
    assert sent == got.input
    assert [("search", "c1")] == [(part.name, part.id) for message in got.output or () for part in message.parts]
    answered = genai_otel.output(span(said("completion", 0, "assistant", "Ada.")), Memo())
    assert (Message("assistant", (Part("text", "Ada."),)),) == answered


def test_cut() -> None:
    """A text as long as the default limit may be cut: it is no question and no answer, and a result says so."""
    long = "x" * 200
    found = genai_otel.messages(span(said("prompt", 0, "user", long), said("prompt", 1, "tool", long)), Memo())
    told = (Message("user", ()), Message("tool", (Part("tool_result", "", None, None, long + TRUNCATED),)))
    assert told == found.input


def test_without_content() -> None:
    """What was asked for is recorded without content, too; that an answer without it has no text says nothing."""
    bare = span(attributes=ASKED)
    assert ["search"] == [part.name for part in genai_otel.requests(bare, Memo()) or ()]
    assert Messages(None, None) == genai_otel.messages(bare, Memo())
    assert [] == genai_otel.requests(span(attributes={"gen_ai.response.finish_reasons": ["stop"]}), Memo())
    assert None is genai_otel.requests(span(), Memo())


def test_first_message() -> None:
    """Where no event tells what was sent, the first message may stand on the span."""
    first = {"gen_ai.request.first_message": '{"role": "user", "content": "Hi"}'}
    found = genai_otel.messages(span(attributes=first), Memo())
    assert (Message("user", (Part("text", "Hi"),)),) == found.input


def test_definitions_and_cost() -> None:
    """The tools that were offered, and the cost; one of nothing is that of a price that was not known."""
    tools = '[{"type": "function", "function": {"name": "search", "description": "Finds.", "parameters": {}}}]'
    held = span(attributes={"llm.tools": tools, "gen_ai.usage.cost.total": 0.25, "gen_ai.usage.input_tokens": 3})
    assert (ToolDefinition("search", "Finds."),) == genai_otel.definitions(held, Memo())
    assert LLMFields(input_tokens=3, cost_usd=0.25) == genai_otel.llm(held, Memo())
    for odd in (0, -1.5, float("nan"), float("inf"), True, "free"):
        assert None is genai_otel.llm(span(attributes={"gen_ai.usage.cost.total": odd}), Memo()).cost_usd, odd


@given(spans(genai_otel.CONVENTION, keys=KEYS, words=WORDS))
def test_never_raises(raw: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    assert read_all(genai_otel.CONVENTION, raw)
