"""What an app says of a request by `spanwise.context`."""

from __future__ import annotations

import pytest

from spanwise import conventions
from spanwise.conventions._stated import stated
from spanwise.model.content import ContextFields, Memo
from spanwise.model.raw import RawSpan
from tests.making import span

STATED = {
    "spanwise.session_id": "s",
    "spanwise.user_id": "u",
    "spanwise.request_id": "r",
    "spanwise.tags": ["a", "b", 3],
    "spanwise.metadata": '{"plan": "pro", "n": 1}',
}


def of(attributes: dict[str, object]) -> RawSpan:
    """A span of these attributes."""
    return span(1, attributes=attributes)


def test_what_the_app_said_of_a_request() -> None:
    """What `spanwise.context` wrote is read, tags also from JSON text; what is none of it says nothing."""
    whole = ContextFields("s", "u", "r", ("a", "b"), {"plan": "pro", "n": 1})
    as_text = {**STATED, "spanwise.tags": '["a", "b"]'}
    assert [whole, whole] == [stated(of(each), Memo()) for each in (STATED, as_text)]
    odd = {"spanwise.user_id": 7, "spanwise.tags": "no list", "spanwise.metadata": "[]"}
    assert ContextFields(None, "7") == stated(of(odd), Memo())
    assert None is stated(of({"session.id": "s"}), Memo())


@pytest.mark.parametrize(
    "theirs",
    [
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "x", "user.id": "x", "request.id": "x"},
        {"openinference.span.kind": "AGENT", "session.id": "x", "metadata": '{"user_id": "x", "request_id": "x"}'},
        {"langfuse.observation.type": "agent", "session.id": "x", "user.id": "x"},
        {"traceloop.span.kind": "agent", "traceloop.association.properties.session_id": "x"},
        {"mlflow.spanType": "AGENT", "mlflow.trace.session": "x"},
        {"gcp.vertex.agent.session_id": "x", "gen_ai.operation.name": "invoke_agent"},
        {},
    ],
    ids=lambda theirs: next(iter(theirs), "nothing"),
)
def test_the_apps_word_goes_first_in_every_dialect(theirs: dict[str, object]) -> None:
    """In every dialect what the app said goes before what the dialect found; the rest is the dialect's."""
    found = conventions.context(of({**theirs, **STATED}), Memo())
    assert ("s", "u", "r") == (found.session_id, found.user_id, found.request_id)
    assert {"plan": "pro", "n": 1}.items() <= (found.metadata or {}).items()
    alone = conventions.context(of(theirs), Memo())
    some = conventions.context(of({**theirs, "spanwise.user_id": "mine"}), Memo())
    assert ContextFields(alone.session_id, "mine", alone.request_id, alone.tags, alone.metadata) == some


def test_tags_and_metadata_are_put_together() -> None:
    """Tags of both are united, metadata merged; where both name a thing, the app's word counts."""
    theirs = {"openinference.span.kind": "AGENT", "tag.tags": ["b", "c"], "metadata": '{"plan": "free", "thread": 2}'}
    found = conventions.context(of({**theirs, **STATED}), Memo())
    assert (("a", "b", "c"), {"plan": "pro", "thread": 2, "n": 1}) == (found.tags, found.metadata)
