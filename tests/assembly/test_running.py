"""Model calls that count the tokens of the calls before them."""

from __future__ import annotations

import pytest

from spanwise.assembly.tree import build_trace
from spanwise.model.raw import Scope
from tests.making import span as at_place

OF_BOOT = Scope("org.springframework.boot", "3.5.16", {})


def calls(*counted: tuple[int, int], below: str | None = "advisor") -> list[tuple[int | None, int | None]]:
    """What each of some model calls below one span is said to have used."""
    kind = {"spring.ai.kind": below} if below else {"gen_ai.operation.name": "invoke_agent"}
    found = [at_place(1, scope=OF_BOOT, attributes=kind)]
    for at, (sent, got) in enumerate(counted, 2):
        used = {"gen_ai.usage.input_tokens": str(sent), "gen_ai.usage.output_tokens": str(got)}
        found.append(at_place(at, parent=1, scope=OF_BOOT, attributes={"gen_ai.operation.name": "chat", **used}))
    (run,) = build_trace("t", found).runs
    return [(call.usage.input_tokens, call.usage.output_tokens) for call in run.llm_calls]


def test_sums_of_a_loop() -> None:
    """Below an advisor each call counts those before it too; below other spans where the numbers can be such sums."""
    assert [(10, 5), (2, 0), (20, 1)] == calls((10, 5), (12, 5), (32, 6))
    assert [(10, 5), (12, 5), (20, 1)] == calls((10, 5), (22, 10), (42, 11), below=None)
    assert [(10, 5), (15, 6), (18, 7)] == calls((10, 5), (15, 6), (18, 7), below=None)
    assert [(10, 5), (30, 4)] == calls((10, 5), (30, 4))


def test_model_calls_without_a_span_around_them() -> None:
    """Calls that nothing holds together are no loop."""
    used = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": "9", "gen_ai.usage.output_tokens": "1"}
    (run,) = build_trace("t", [at_place(at, scope=OF_BOOT, attributes=used) for at in (1, 2)]).runs
    assert [9, 9] == [call.usage.input_tokens for call in run.llm_calls]


@pytest.mark.parametrize("sent", ["30", None])
def test_a_stream(sent: str | None) -> None:
    """Of a stream each call stands inside the one before it, and all of them record the sum: it counts once."""
    used = {} if sent is None else {"gen_ai.usage.input_tokens": sent, "gen_ai.usage.output_tokens": "3"}
    chat = {"gen_ai.operation.name": "chat", "gen_ai.response.model": "m", **used}
    found = [at_place(1, scope=OF_BOOT, attributes={"spring.ai.kind": "chat_client"})]
    found += [at_place(at, parent=at - 1, scope=OF_BOOT, attributes=chat) for at in (2, 3, 4)]
    (run,) = build_trace("t", found).runs
    assert 3 == len(run.llm_calls)
    assert (None if sent is None else 30) == (run.tokens and run.tokens.input)
    assert [None, None] == [call.cost_usd for call in run.llm_calls[:2]]
