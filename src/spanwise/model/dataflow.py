"""What became of the results of tool calls: which later argument, query, message or answer has something of them.

The texts are gone through from the end, each once; what the models said between the calls only where all else had
nothing of a result. What stands in the query or in the call's own arguments is not looked for: what was known before
proves nothing. A result is called unread only if it holds something telling (a number of three digits, a word of six
letters), and nothing of it is found again.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from spanwise.model.abstention import has_arguments
from spanwise.model.calls import Retrieval, Said, ToolCall
from spanwise.model.content import state_of
from spanwise.model.lazy import lazy
from spanwise.model.trace import Run
from spanwise.model.wordforms import READ, Forms, is_telling, rounded, text_of

Fate: TypeAlias = Literal["read", "unread", "plain", "unknown"]
"""`plain`: the result holds nothing that could be found again, as `ok`; `unknown`: some content is not recorded."""

_NUMBERS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What became of one call's result: the reader that has `word` of it, a step or a message; None for the answer."""

    call: ToolCall
    fate: Fate
    reader: ToolCall | Retrieval | Said | None = None
    word: str = ""


def flows_of(run: Run, calls: Collection[ToolCall], *, deaf: Collection[int] = ()) -> tuple[Flow, ...]:
    """What became of the results of some calls, by start.

    Calls whose `id` is in `deaf` read nothing: a repeated call asks what was asked before.
    """
    asked = {id(call) for call in calls}
    forms = Forms()
    known = frozenset(forms.of(run.query or ""))
    places: dict[str, ToolCall | Retrieval | None] = dict.fromkeys(forms.of(run.answer or ""))
    talk = _Talk(run, forms)
    hidden = run.answer is None
    out: list[Flow] = []
    for step in run.trace.paced(reversed(_steps(run)), every=1):  # each reads a text
        if isinstance(step, Retrieval):
            places.update(dict.fromkeys(forms.of(step.query or ""), step))
            hidden = hidden or step.query is None
            continue
        own = forms.of(text_of(step.raw_arguments, step.memo)[:READ]) if step.raw_arguments is not None else ()
        if id(step) in asked:
            out.append(_flow(step, places, known.union(own), talk, hidden=hidden))
        if id(step) not in deaf:
            places.update(dict.fromkeys(own, step))
            hidden = hidden or not has_arguments(step)
    out.reverse()
    return tuple(out)


def _steps(run: Run) -> Sequence[ToolCall | Retrieval]:
    """All that has arguments or a query, by start, control tools among them."""
    if not run.retrievals:
        return run.tool_calls
    return sorted([*run.tool_calls, *run.retrievals], key=lambda step: step.start_ns)


class _Talk:
    """What the models of a run said, read when it is first asked for."""

    def __init__(self, run: Run, forms: Forms) -> None:
        self._run = run
        self.forms = forms

    @lazy
    def last(self) -> Mapping[str, Said]:
        """For each word the message that ended last of those that have it."""
        out: dict[str, Said] = {}
        for said in self._run.trace.paced(sorted(self._run.said, key=lambda said: said.end_ns)):
            out.update(dict.fromkeys(self.forms.of(said.text or ""), said))
        return out

    @lazy
    def untold_ns(self) -> int:
        """When the last message that is not recorded ended, 0 for none; what was said last of all is the answer."""
        said = sorted(self._run.said, key=lambda said: said.end_ns)
        between = said if self._run.answer is None else said[:-1]
        return max((one.end_ns for one in between if one.text is None), default=0)


@dataclass(frozen=True, slots=True)
class _Since:
    """The words of the messages that ended after a time."""

    last: Mapping[str, Said]
    since_ns: int

    def __contains__(self, word: object) -> bool:
        said = self.last.get(word) if isinstance(word, str) else None
        return said is not None and said.end_ns > self.since_ns


def _flow(
    call: ToolCall,
    places: Mapping[str, ToolCall | Retrieval | None],
    known: Collection[str],
    talk: _Talk,
    *,
    hidden: bool,
) -> Flow:
    """What became of a result, given where the words of later texts stand."""
    if call.raw_result is None:
        return Flow(call=call, fate="unknown")
    text = text_of(call.raw_result, call.memo)
    words = talk.forms.of(text[:READ])
    found = _found(words, places, known)
    if found:
        return Flow(call=call, fate="read", reader=places[found], word=found.lstrip("="))
    cut = len(text) > READ or state_of(call.raw_result, call.raw_result) != "present"
    telling = any(word not in known and is_telling(word, known) for word in words)
    if not (telling or cut or hidden):
        return Flow(call=call, fate="plain")
    # Most words stand in no message at all, which is told faster than that none is late enough.
    found = _found(words, talk.last, known) and _found(words, _Since(talk.last, call.end_ns), known)
    if found:
        return Flow(call=call, fate="read", reader=talk.last[found], word=found.lstrip("="))
    return Flow(call=call, fate="unknown" if cut or hidden or talk.untold_ns > call.end_ns else "unread")


def _found(words: Sequence[str], places: Container[str], known: Container[str]) -> str:
    """What stands somewhere and was not known: a telling word, any word, a number rounded; empty where nothing does."""
    met = [word for word in words if word in places and word not in known]
    if met:
        return next((word for word in met if is_telling(word, known)), met[0])
    numbers = [word for word in words if word[0] < "a" and len(word) > 2 and word.isdecimal()][:_NUMBERS]
    return next((one for word in numbers for one in rounded(word) if one in places and one not in known), "")
