"""Spans with random content, for the property that no reader of a convention ever raises."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hypothesis import strategies as st

from spanwise import conventions
from spanwise.conventions._convention import Convention
from spanwise.model.content import Memo
from spanwise.model.raw import EMPTY, RawEvent, RawSpan, Scope

READERS = ("tool", "llm", "messages", "output", "requests", "agent", "retrieval", "handoff", "definitions", "context")
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.binary(max_size=4), st.text(max_size=12), st.just("null")
)


def values(words: Sequence[str]) -> st.SearchStrategy[object]:
    """Scalars, nested lists and mappings whose keys are often `words`, JSON text of them, JSON text that was cut."""
    keys = st.one_of(st.sampled_from(words), st.text(max_size=4)) if words else st.text(max_size=4)
    nested = st.recursive(
        st.one_of(_SCALARS, st.sampled_from([*words, ""])),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.tuples(inner, inner), st.dictionaries(keys, inner, max_size=4)
        ),
        max_leaves=12,
    )
    text = nested.map(lambda value: json.dumps(value, default=str))
    cut = st.tuples(text, st.integers(0, 40)).map(lambda pair: pair[0][: pair[1]])
    return st.one_of(nested, text, cut)


def spans(
    convention: Convention,
    *,
    keys: Sequence[str],
    words: Sequence[str] = (),
    names: Sequence[str] = ("span",),
    events: Sequence[str] = (),
) -> st.SearchStrategy[RawSpan]:
    """Spans of a convention's scope with values of any type under its keys, also in events and their bodies."""
    held = st.dictionaries(st.sampled_from(keys), values(words), max_size=len(keys))
    event = st.builds(RawEvent, st.sampled_from([*events, "exception", ""]), st.integers(0, 9), held, values(words))
    return st.builds(
        RawSpan,
        trace_id=st.just("t" * 32),
        span_id=st.just("s" * 16),
        parent_id=st.none(),
        name=st.one_of(st.sampled_from(names), st.text(max_size=8)),
        start_ns=st.just(1),
        end_ns=st.integers(0, 2),
        status_code=st.integers(0, 2),
        status_message=st.text(max_size=8),
        attributes=held,
        events=st.lists(event, max_size=3).map(tuple),
        scope=st.sampled_from([*convention.scopes, "other"]).map(lambda name: Scope(name, "1.2.3", EMPTY)),
    )


def read_all(convention: Convention, span: RawSpan) -> int:
    """Read everything that a convention reads, by itself and together with the other dialects; how many readers ran."""
    memo = Memo()
    convention.kind(span)
    dialect, _ = conventions.classify(span)
    ran = [getattr(convention, name)(span, memo) for name in READERS if getattr(convention, name) is not None]
    conventions.tool(span, memo, dialect)
    conventions.llm(span, memo, dialect)
    conventions.messages(span, memo, dialect)
    conventions.agent(span, memo, dialect)
    conventions.context(span, memo)
    conventions.error(span)
    if convention.error is not None:
        convention.error(span)
    return len(ran)
