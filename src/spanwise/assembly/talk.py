"""What the models of a run said, and what one of them was told.

What was said is read from the outputs of the model calls alone, each once: inputs repeat the conversation so far.
"""

from __future__ import annotations

from collections.abc import Sequence

from spanwise import conventions
from spanwise.assembly import llms
from spanwise.model.calls import Said, Told
from spanwise.model.content import Memo, Message, Part, state_of
from spanwise.model.span import RUN_KINDS, Span
from spanwise.model.trace import Run
from spanwise.model.wordforms import text_of

_OTHERS = frozenset({"user", "human", "system", "tool"})
# What stands in the JSON text of an answer that says anything in words: a part's type or field, or bare text in a
# list, of which spread-out JSON does not show the beginning.
_WORDY = ("text", "content", "reasoning", "thinking", '["', '[ "', "\n")
_USERS = frozenset({"user", "human"})


def said(run: Run) -> tuple[Said, ...]:
    """What was said in each model call; where no model call left a span, what the agents' spans record as said."""
    if run.llm_groups:
        return tuple(_said(group[0], _words(run, group)) for group in run.trace.paced(run.llm_groups))
    memo = run.trace.memo
    runners = [(span, conventions.output(span.raw, memo, span.dialect)) for span in run.spans if span.kind in RUN_KINDS]
    return tuple(_said(span, _spoken(got)) for span, got in runners if got)


def _said(span: Span, text: str | None) -> Said:
    return Said(text, span.index, span.agent, span.start_ns, span.end_ns, span.raw.span_id)


def _words(run: Run, group: Sequence[Span]) -> str | None:
    """The words of one call; a call that failed said none. Answers that only ask for tools are not decoded."""
    texts = [conventions.answer_text(span.raw, span.dialect) for span in group]
    if all(text is not None and not any(mark in text for mark in _WORDY) for text in texts):
        return ""
    got = llms.output(run, group)
    if got:
        return _spoken(got)
    return "" if any(conventions.failed(span.raw, span.dialect) for span in group) else None


def _spoken(got: Sequence[Message]) -> str:
    """The text of what a model answered; parts that ask for tools or hold results have none."""
    return "\n".join(part.text for message in got if message.role not in _OTHERS for part in message.parts if part.text)


def told(run: Run, group: Sequence[Span]) -> Told | None:
    """What a model was told in one call, or None where not all of it can be read, or no user says anything in it.

    A conversation that the provider keeps is recorded in part: what is new may be nothing but a tool's result.
    """
    memo = run.trace.memo
    texts: list[str] = []
    asked = ""
    for message in llms.messages(run, group).input or ():
        read = [_readable(part, memo) for part in message.parts]
        if None in read:
            return None
        texts += [text for text in read if text]
        if message.role in _USERS:
            asked = message.text or asked
    return Told("\n".join(texts), asked) if asked else None


def _readable(part: Part, memo: Memo) -> str | None:
    """The text of a part of a message; None for what is no text, or not whole."""
    held = part.value if part.type in {"tool_call", "tool_result"} else part.text
    if part.type == "other" or state_of(held, held) in {"redacted", "truncated"}:
        return None
    return text_of(held, memo) if held is not None else ""
