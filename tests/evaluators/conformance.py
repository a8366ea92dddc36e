"""Conformance cases: runs told in a few words of JSON, with what an evaluator has to say of them.

A file under cases/ is a list of cases. Each has a `name`, the `why`, a run (`query`, `answer`, `tools`, `steps`), the
`parameters` of the evaluator, and what to `expect`. The run becomes spans in GenAI's words, so that a case goes the
whole way through assembly. Steps follow one another:

    {"tool": "search", "arguments": {"q": "x"}, "result": "r", "ms": 10}     a call with a span; `status` may be error,
                                                       retry (pydantic-ai's) or not_run (asked for, it left no span)
    {"llm": "gpt-4o-mini", "tokens": [900, 20], "says": "text", "ms": 5}     a model call; `asks`: tools asked for
    {"retrieval": "query", "documents": [{"id": "a", "content": "...", "score": 0.9}]}
    {"agent": "writer", "query": "...", "answer": "...", "steps": [...]}     a sub-agent
    {"handoff": ["triage", "billing"]}                                       control passed
    {"span": "GET /x", "attributes": {...}, "status": "error"}               any other span
    {"parallel": [[...], [...]]}                                             rows of steps side by side
    {"idle": 100}                                                            nothing, for so many milliseconds
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from spanwise.assembly.tree import build_trace
from spanwise.model.ports import Evaluator, SteppedEvaluator
from spanwise.model.raw import RawSpan, Scope
from spanwise.model.score import Score
from spanwise.model.trace import Run
from tests.making import SCOPE, TRACE, asks, says, span_id, user

CASES = Path(__file__).with_name("cases")
Case: TypeAlias = Mapping[str, Any]
Step: TypeAlias = Mapping[str, Any]

_MS = 1_000_000
_PYDANTIC_AI = Scope("pydantic-ai", "2.62.0", {})
_START = 1_760_000_000_000_000_000


def cases_of(name: str) -> list[Case]:
    """The cases of an evaluator."""
    return cast("list[Case]", json.loads((CASES / f"{name}.json").read_text(encoding="utf-8")))


def told(case: Case) -> str:
    """A case as the name of a test."""
    return str(case["name"])


def run_of_case(case: Case) -> Run:
    """The run that a case tells."""
    (run,) = build_trace(TRACE, Telling(case).spans).runs
    return run


def check(case: Case, make: Callable[..., Evaluator]) -> None:
    """The evaluator says of the case's run what the case expects.

    `expect` holds `status`, and where they matter `value` (or `about`: to a thousandth, for there is a microsecond
    between spans that follow one another), `label`, `reason` (words in it), `issues` (words of each, in
    order), `recommendations` (the same), `evidence` (how many), and `name` for one score of several.
    """
    evaluator = make(**{key: _frozen(value) for key, value in case.get("parameters", {}).items()})
    said = evaluator(run_of_case(case))
    if isinstance(evaluator, SteppedEvaluator):  # a worker goes through all the steps
        assert [said] == [score for score in evaluator.steps(run_of_case(case)) if score is not None]
    scores = [said] if isinstance(said, Score) else list(said)
    expected = case["expect"]
    (score,) = [one for one in scores if "name" not in expected or one.name == expected["name"]]
    assert expected["status"] == score.status, score
    if "value" in expected:
        assert score.value is not None
        assert abs(expected["value"] - score.value) < 1e-9, score
    if "about" in expected:
        assert score.value is not None
        assert abs(expected["about"] - score.value) < 1e-3, score
    if "label" in expected:
        assert expected["label"] == score.label
    if "reason" in expected:
        assert expected["reason"] in score.reason
    if "evidence" in expected:
        assert expected["evidence"] == len(score.evidence), score.evidence
    for field in ("issues", "recommendations"):
        if field in expected:
            told_ = getattr(score, field)
            assert len(expected[field]) == len(told_), told_
            for words, sentence in zip(expected[field], told_, strict=True):
                assert words in sentence


def _frozen(value: object) -> object:
    """Lists of JSON as tuples: parameters are frozen."""
    return tuple(map(_frozen, cast("list[object]", value))) if isinstance(value, list) else value


class Telling:
    """The spans of a case."""

    def __init__(self, case: Case) -> None:
        self.spans: list[RawSpan] = []
        self._now = _START
        self._calls = 0
        if case.get("agentless"):
            self._steps(case["steps"], None)
        else:
            self._agent({"agent": "helper", **case}, None)

    def _agent(self, step: Step, parent: int | None) -> None:
        fields: dict[str, object] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": step["agent"]}
        if "query" in step:
            fields["gen_ai.input.messages"] = json.dumps([user(step["query"])])
        if "answer" in step:
            fields["gen_ai.output.messages"] = json.dumps([says(step["answer"])])
        if "tools" in step:
            fields["gen_ai.tool.definitions"] = json.dumps(step["tools"])
        number, begun = self._open(), self._now
        self._steps(step.get("steps", ()), number)
        self._close(number, parent, f"invoke_agent {step['agent']}", begun, {**fields, **step.get("attributes", {})})

    def _steps(self, steps: Sequence[Step], parent: int | None) -> None:
        for step in steps:
            for key, tell in _TELLERS.items():
                if key in step:
                    tell(self, step, parent)
                    break
            else:
                raise ValueError(f"no step is like this: {step}")

    def _tool(self, step: Step, parent: int | None) -> None:
        self._calls += 1
        call_id = f"call_{self._calls}"
        if step.get("status") == "not_run":
            request = [asks((call_id, step["tool"], step.get("arguments", {})))]
            self._model({"llm": "gpt-4o-mini", "got": request, "ms": 1}, parent)
            self._model({"llm": "gpt-4o-mini", "says": "", "sent": [*request, user("go on")], "ms": 1}, parent)
            return
        fields: dict[str, object] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": step["tool"],
            "gen_ai.tool.call.id": call_id,
        }
        if "arguments" in step:
            fields["gen_ai.tool.call.arguments"] = json.dumps(step["arguments"])
        if "result" in step:
            fields["gen_ai.tool.call.result"] = json.dumps(step["result"])
        status = step.get("status", "ok")
        if status == "retry":
            fields |= {"pydantic_ai.tool.retry.cause": "model_retry", "pydantic_ai.tool.retry.attempt": 1}
        elif status == "error" and "error" in step:
            fields["error.type"] = step["error"]
        number, begun = self._open(), self._now
        self._steps(step.get("steps", ()), number)
        self._now += int(step.get("ms", 10) * _MS)
        self._close(
            number,
            parent,
            f"execute_tool {step['tool']}",
            begun,
            fields,
            failed=status in {"error", "retry"},
            message=step.get("message", "it broke") if status == "error" else "",
            scope=_PYDANTIC_AI if status == "retry" else SCOPE,
        )

    def _model(self, step: Step, parent: int | None) -> None:
        fields: dict[str, object] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": step["llm"]}
        if "tokens" in step:
            fields["gen_ai.usage.input_tokens"], fields["gen_ai.usage.output_tokens"] = step["tokens"]
        if "sent" in step:
            fields["gen_ai.input.messages"] = json.dumps(step["sent"])
        got = step.get("got", [says(step["says"])] if "says" in step else None)
        if "asks" in step:
            got = [asks(*((one.get("id"), one["tool"], one.get("arguments", {})) for one in step["asks"]))]
        if got is not None:
            fields["gen_ai.output.messages"] = json.dumps(got)
        number, begun = self._open(), self._now
        self._now += int(step.get("ms", 10) * _MS)
        self._close(
            number,
            parent,
            f"chat {step['llm']}",
            begun,
            {**fields, **step.get("attributes", {})},
            failed=step.get("status") == "error",
        )

    def _retrieval(self, step: Step, parent: int | None) -> None:
        fields: dict[str, object] = {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.data_source.id": "library",
            "gen_ai.retrieval.query.text": step["retrieval"],
        }
        if "documents" in step:
            fields["gen_ai.retrieval.documents"] = json.dumps(step["documents"])
        number, begun = self._open(), self._now
        self._now += int(step.get("ms", 10) * _MS)
        self._close(number, parent, "retrieval library", begun, fields)

    def _handoff(self, step: Step, parent: int | None) -> None:
        source, target = step["handoff"]
        fields = {
            "gen_ai.operation.name": "handoff",
            "gen_ai.handoff.from_agent": source,
            "gen_ai.handoff.to_agent": target,
        }
        number, begun = self._open(), self._now
        self._now += int(step.get("ms", 1) * _MS)
        self._close(number, parent, f"handoff to {target}", begun, {**fields, **step.get("attributes", {})})

    def _other(self, step: Step, parent: int | None) -> None:
        number, begun = self._open(), self._now
        self._steps(step.get("steps", ()), number)
        self._now += int(step.get("ms", 10) * _MS)
        failed = step.get("status") == "error"
        self._close(number, parent, step["span"], begun, step.get("attributes", {}), failed=failed)

    def _parallel(self, step: Step, parent: int | None) -> None:
        begun = latest = self._now
        for row in step["parallel"]:
            self._now = begun
            self._steps(row, parent)
            latest = max(latest, self._now)
        self._now = latest

    def _idle(self, step: Step, parent: int | None) -> None:
        self._now += int(step["idle"] * _MS)

    def _open(self) -> int:
        self.spans.append(cast("RawSpan", None))
        self._now += 1000  # no two begin together unless they are side by side
        return len(self.spans)

    def _close(
        self,
        number: int,
        parent: int | None,
        name: str,
        begun: int,
        attributes: Mapping[str, object],
        *,
        failed: bool = False,
        message: str = "",
        scope: Scope = SCOPE,
    ) -> None:
        self.spans[number - 1] = RawSpan(
            TRACE,
            span_id(number),
            None if parent is None else span_id(parent),
            name,
            begun,
            self._now,
            2 if failed else 0,
            message,
            dict(attributes),
            (),
            scope,
        )


_TELLERS: Mapping[str, Callable[[Telling, Step, int | None], None]] = {
    "tool": Telling._tool,
    "llm": Telling._model,
    "retrieval": Telling._retrieval,
    "agent": Telling._agent,
    "handoff": Telling._handoff,
    "span": Telling._other,
    "parallel": Telling._parallel,
    "idle": Telling._idle,
}
