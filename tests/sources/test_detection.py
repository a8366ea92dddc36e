"""Every format is told from every other by its content."""

from __future__ import annotations

import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise import sources
from spanwise.sources import SOURCES
from spanwise.sources._open import HEAD_BYTES
from tests.sources.exports import TRACE, lines, openai, trace_row
from tests.sources.formats import written
from tests.sources.otlp import Outcome

FORMATS = [source.name for source in SOURCES]


def recognised(content: bytes) -> list[str]:
    """The formats whose sniffers take the content for theirs."""
    return [source.name for source in SOURCES if source.sniff(content[:HEAD_BYTES], "")]


def test_every_format_is_tried() -> None:
    """There are documents in each format of the table."""
    assert sorted(FORMATS) == sorted(written())


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_taken_for_itself_and_no_other(name: str) -> None:
    """Of all sniffers only its own knows a document, in every layout in which it is met."""
    layouts = written()[name]
    assert {layout: [name] for layout in layouts} == {
        layout: recognised(content) for layout, content in layouts.items()
    }


@pytest.mark.parametrize("name", FORMATS)
def test_the_name_of_a_file_decides_nothing(name: str) -> None:
    """A format is told alike under another format's usual file name."""
    content = next(iter(written()[name].values()))[:HEAD_BYTES]
    found = {file: sources.detect(content, file) for file in ("", "trail.json", "x.pb", "spans.jsonl", "chat.txt")}
    assert dict.fromkeys(found, name) == {file: source and source.name for file, source in found.items()}


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_recognised_is_read(name: str) -> None:
    """Each document is read without an error, and gives spans."""
    outcomes = {layout: Outcome(content) for layout, content in written()[name].items()}
    assert {} == {layout: outcome.messages for layout, outcome in outcomes.items() if outcome.messages}
    assert [] == [layout for layout, outcome in outcomes.items() if not outcome.names or not outcome.adds_up()]


@pytest.mark.parametrize("name", FORMATS)
def test_a_byte_order_mark_changes_nothing(name: str) -> None:
    """JSON text behind a byte order mark is known and read as without it."""
    if name == "otlp_proto":
        assert [] == recognised(b"\xef\xbb\xbf" + next(iter(written()[name].values())))
        return
    content = next(iter(written()[name].values()))
    marked = Outcome(b"\xef\xbb\xbf" + content)
    assert (Outcome(content).names, []) == (marked.names, marked.messages)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"   \n",
        b"null",
        b"[]",
        b"{}",
        b'"messages"',
        b"[1, 2]",
        b'{"messages": []}',
        b'{"data": []}',
        b'{"spans": []}',
        b'{"name": "x", "version": "1.0.0", "dependencies": {}}',
        b'{"type": "FeatureCollection", "features": []}',
        b'[{"id": 1, "name": "row"}]',
        b'{"id": "s1", "timestamp": "2026-11-18", "dataType": "NUMERIC", "environment": "x", "userId": "u"}',
        b"messages: []",
        b"\x00\x01\x02",
        b"role,content\nuser,hi\n",
    ],
)
def test_other_texts_are_of_no_export(content: bytes) -> None:
    """Texts that only resemble an export are taken for none."""
    assert [] == [name for name in recognised(content) if not name.startswith("otlp")]


def test_messages_inside_other_records_are_no_transcript() -> None:
    """A trace of Langfuse that was given messages stays Langfuse's, a transcript with an id and a time a chat."""
    asked = lines(trace_row(input=openai()["messages"]))
    kept = lines({"id": TRACE, "timestamp": "2026-11-18T06:13:00Z", "user_id": "u", "session_id": "s", **openai()})
    assert (["langfuse_export"], ["chat"]) == (recognised(asked), recognised(kept))


def test_a_long_first_value_hides_nothing() -> None:
    """A document whose first message is longer than what a sniffer sees is known by what stands before it."""
    document = {"messages": [{"content": "x" * 2 * HEAD_BYTES, "role": "user"}]}
    assert ["chat"] == recognised(lines(document))


@given(st.binary(max_size=400), st.integers(0, 400), st.randoms(use_true_random=False))
def test_no_sniffer_raises(noise: bytes, cut: int, choice: random.Random) -> None:
    """Whatever the first bytes are, be they noise or a document that is cut and spoilt, every sniffer answers."""
    layouts = [content for name, held in written().items() if name != "otlp_proto" for content in held.values()]
    content = choice.choice(layouts)
    for text in (noise, content[:cut] + noise, content[:cut] + noise + content[cut + 1 :]):
        assert isinstance(recognised(text), list)


def test_standard_streams_are_read_like_files() -> None:
    """A stream that cannot be rewound is told and read by its first bytes."""
    content = written()["langfuse_export"]["trace"]
    assert 3 == len(list(sources.read(io.BytesIO(content))))
