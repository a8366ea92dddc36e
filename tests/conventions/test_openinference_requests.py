"""What OpenInference's models asked for, read the short way: the same as in the whole answer, or nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spanwise.conventions import openinference
from spanwise.model.content import Memo
from spanwise.model.raw import RawSpan
from tests.recordings_io import FOLDER, made
from tests.recordings_io import spans as recorded

KIND = "openinference.span.kind"


def _agree(span: RawSpan) -> int:
    """Whether requests, and ids, read the short way are those in the whole answer; 1 if there was a short way."""
    short = openinference.requests(span, Memo())
    ids = openinference.call_ids(span)
    assert ids is None or (short is not None and list(ids) == [part.id for part in short])
    if short is None:
        return 0
    whole = [part for message in openinference.output(span, Memo()) or () for part in message.parts]
    assert [part for part in whole if part.type == "tool_call" and part.name] == list(short)
    return 1


def test_requests_are_those_of_the_answer() -> None:
    """On every recorded span the requested calls are the same, read alone or with the whole answer."""
    names = [
        path.name.removesuffix(".json") for path in FOLDER.glob("*openinference*.json") if path.name.count(".") == 1
    ]
    assert sum(_agree(span) for name in names for span in recorded(name) if KIND in span.attributes) > 20


_LEAVES = (
    "0.message.role 0.message.content 0.message.tool_calls.0.tool_call.id "
    "0.message.tool_calls.0.tool_call.function.name "
    "0.message.tool_calls.1.tool_call.function.name 0.message.tool_calls.0.tool_call.function.arguments "
    "0.message.tool_calls.1.tool_call.id 0.message.contents.0.message_content.text 1.message.content"
).split()


@given(
    st.dictionaries(st.sampled_from(_LEAVES), st.sampled_from(["assistant", "user", "a", "{}", '{"x":1}', "", None, 1]))
)
def test_any_requests_are_those_of_the_answer(leaves: dict[str, object]) -> None:
    """Whatever is flattened, the requested calls are the same, read alone or with the whole answer."""
    attributes = {f"llm.output_messages.{leaf}": value for leaf, value in leaves.items()}
    _agree(made(attributes={KIND: "LLM", **attributes}))
