"""What is decoded on the event loop itself, and what on a thread beside it."""

from __future__ import annotations

import asyncio

import pytest

from spanwise.service.batches import Batch, ContentType, Signal
from spanwise.service.receiving import Desk, Limits, Taken, is_quick
from spanwise.service.refusal import Refusal
from tests.service.encoding import otlp_json
from tests.service.receivers import logs_request, traces_request

_KB = 1024
_CASES: dict[str, tuple[Signal, ContentType, int, int, bool]] = {
    "little": ("traces", "protobuf", 200, 500, True),
    "much in large spans": ("traces", "protobuf", 700, 2 * _KB, True),
    "much in small spans": ("traces", "protobuf", 9_000, 0, False),
    "very much": ("traces", "protobuf", 1_100, 2 * _KB, False),
    "little JSON": ("traces", "json", 100, 2 * _KB, True),
    "much JSON": ("traces", "json", 700, 2 * _KB, False),
    "little in log events": ("logs", "protobuf", 500, 0, True),
    "much in log events": ("logs", "protobuf", 9_000, 0, False),
}


def _payload(signal: Signal, content: ContentType, records: int, text: int) -> bytes:
    if signal == "logs":
        return logs_request(linked=records, unlinked=0).SerializeToString()
    request = traces_request(records, text="x" * text)
    return request.SerializeToString() if content == "protobuf" else otlp_json(request)


@pytest.mark.parametrize("case", _CASES)
def test_what_takes_long_is_decoded_beside_the_loop(case: str) -> None:
    """Requests that take some milliseconds at most are decoded at once; either way nothing of them is lost."""
    signal, content, records, text, expected = _CASES[case]
    payload = _payload(signal, content, records, text)
    offered: list[Batch] = []

    async def offer(batch: Batch) -> Refusal | None:
        offered.append(batch)
        return None

    assert expected == is_quick(signal, content, payload)
    outcome = asyncio.run(Desk(offer, Limits()).take(signal, content, payload))
    assert (Taken(), [records]) == (outcome, [len(batch.records) for batch in offered])
