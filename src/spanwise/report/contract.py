"""The JSON contract `spanwise.score/1`: one object per run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spanwise.masking import masked, shown
from spanwise.model.calls import Retrieval, Tokens, ToolCall
from spanwise.model.ports import Content, Mask
from spanwise.model.result import RunResult
from spanwise.model.score import Evidence, Score
from spanwise.model.trace import Run
from spanwise.report.repairs import repairs_of

SCHEMA = "spanwise.score/1"


def to_contract(
    result: RunResult, /, *, content: Content | bool = "all", mask: Mask | None = None
) -> dict[str, object]:
    """The result as the contract spells it.

    Without content (`none`, False) what people, models and tools wrote is null; names, ids and numbers stay. With
    `evidence` quotes, reasons, issues and recommendations are told, and nothing else of it.

    Args:
        result: A run with its scores.
        content: How much is told of what people, models and tools wrote.
        mask: Takes secrets out of all that.
    """
    level: Content = content if isinstance(content, str) else "all" if content else "none"
    told = level != "none"
    result = shown(result, content="all", masking=mask) if told else result
    run, text = result.run, _Text(level=level, mask=mask)
    kind = {"query_type": result.query_type} if result.query_type else {}
    return {
        "schema": SCHEMA,
        "trace_id": run.trace.trace_id,
        "run_id": run.run_id,
        "source": result.source,
        "completeness": {"complete": run.completeness.complete, "reasons": list(run.completeness.reasons)},
        "query": text.of(run.query),
        **kind,
        "answer": text.of(run.answer),
        "agents": [agent.name for agent in run.agents],
        "tool_calls": [_call(call, text) for call in run.tool_calls],
        "llm_calls": len(run.llm_calls),
        "tokens": _tokens(run.tokens),
        "cost_usd": run.cost_usd,
        "cost_estimated": run.cost_estimated,
        "duration_ms": run.duration_ms,
        "retrievals": [_retrieval(item, text) for item in run.retrievals],
        "handoffs": [{"from": item.source, "to": item.target, "span_id": item.span_id} for item in run.handoffs],
        "session_id": run.who.session_id,
        "user_id": run.who.user_id,
        "missing": _missing(run),
        "repairs": repairs_of(run),
        "scores": [_score(result, score, content=told) for score in result.scores],
        "issues": _gathered([score.issues for score in result.scores]) if told else None,
        "recommendations": _gathered([score.recommendations for score in result.scores]) if told else None,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """How what people, models and tools wrote is told."""

    level: Content
    mask: Mask | None

    @property
    def whole(self) -> bool:
        """It is told at all, beyond quotes and reasons."""
        return self.level == "all"

    def of(self, value: object) -> object:
        """A value, masked; None where it may not be told."""
        if not self.whole:
            return None
        return value if self.mask is None else masked(value, self.mask)


def _call(call: ToolCall, text: _Text) -> dict[str, object]:
    return {
        "name": call.name,
        "arguments": text.of(call.arguments),
        "result": text.of(call.result),
        "status": call.status,
        "span_id": call.span_id,
        "call_id": call.call_id,
        "origin": call.origin,
        "control": call.control,
        "start_ns": call.start_ns,
        "error": None if call.error is None else {"type": call.error.type, "message": text.of(call.error.message)},
    }


def _tokens(tokens: Tokens | None) -> Mapping[str, int | None] | None:
    if tokens is None:
        return None
    return {
        "input": tokens.input,
        "output": tokens.output,
        "cache_read": tokens.cache_read,
        "cache_write": tokens.cache_write,
        "reasoning": tokens.reasoning,
    }


def _retrieval(item: Retrieval, text: _Text) -> dict[str, object]:
    documents = None if item.documents is None else [{"id": d.id, "score": d.score} for d in item.documents]
    return {"query": text.of(item.query), "documents": documents, "span_id": item.span_id}


def _missing(run: Run) -> list[dict[str, str]]:
    return [{"field": item.field, "why": item.why, "switch": item.switch} for item in run.missing]


def _score(result: RunResult, score: Score, *, content: bool) -> dict[str, object]:
    return {
        "name": score.name,
        "value": score.value,
        "unit": score.unit or None,
        "label": score.label or None,
        "status": score.status,
        "reason": score.reason if content else reason_of(score, content=False) or None,
        "evidence": [evidence_of(one, content=content) for one in score.evidence],
        "issues": list(score.issues) if content else None,
        "recommendations": list(score.recommendations) if content else None,
        "evaluator": score.evaluator,
        "version": score.version,
        "config_hash": score.config_hash,
        "revision": score.revision,
        "id": result.id_of(score),
    }


def evidence_of(one: Evidence, *, content: bool = True) -> dict[str, object]:
    """The span, the quote, and where it is known its place in the recorded text."""
    where = {} if one.start is None else {"start": one.start, "end": one.end}
    return {"span_id": one.span_id, "quote": one.quote if content else None, **where}


def reason_of(score: Score, *, content: bool) -> str | None:
    """The score's reason; without content only what names the data or the type of exception that stood in the way."""
    if content or score.status in {"not_applicable", "not_measurable"}:
        return score.reason
    return score.reason.partition(":")[0] if score.status == "error" else None


def _gathered(lists: list[tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys(line for lines in lists for line in lines))
