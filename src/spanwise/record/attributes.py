"""The attributes of spans, most of them made only where a span records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import cast

from opentelemetry.util.types import AttributeValue

from spanwise.record.encoding import messages_of, text_of
from spanwise.record.spans import Late, with_content


def when_content(late: Late) -> Late:
    """These, if content is recorded."""
    return late if with_content() else {}


def given(known: Mapping[str, str | None]) -> dict[str, AttributeValue]:
    """Those that are not None."""
    return {name: value for name, value in known.items() if value is not None}


def constant(value: AttributeValue) -> Callable[[], AttributeValue]:
    """What makes this value."""
    return lambda: value


def answer_of(answer: object) -> Late:
    """An agent's answer."""
    if answer is None:
        return {}
    return when_content({"gen_ai.output.messages": lambda: messages_of(text_of(answer), "assistant")})


def output_of(output: object, tool_calls: object, finish_reason: str | None) -> str | None:
    """A model's answer: text or messages, and what it asked for."""
    if output is None and not tool_calls:
        return None
    asked = {"role": "assistant", "tool_calls": tool_calls}
    if output is None or isinstance(output, str):
        reason = finish_reason or ("tool_call" if tool_calls else "stop")
        return messages_of({**asked, "content": output, "finish_reason": reason}, "assistant")
    single = isinstance(output, Mapping) or not isinstance(output, Iterable)
    listed: list[object] = [output] if single else list(cast("Iterable[object]", output))
    return messages_of([*listed, asked] if tool_calls else listed, "assistant")
