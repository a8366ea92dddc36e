"""The signatures of the evaluator classes. Written by scripts/evals_stub.py; do not edit."""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic_evals.evaluators import Evaluator

from spanwise.evals.evaluator import RunEvaluator
from spanwise.evals.overall import Overall as Overall
from spanwise.evaluators.grounding import Of
from spanwise.evaluators.tool_arguments import Match
from spanwise.evaluators.tool_sequence import Mode, Vocabulary
from spanwise.model.antipatterns import AntiPattern
from spanwise.model.expectation import Rule
from spanwise.model.expected_call import ExpectedCall

ALL: Sequence[type[Evaluator[object, object, object]]]

class ToolSelection(RunEvaluator):
    """F1 of the tools called against the tools expected, or valid calls / calls where nothing was expected.

    What is expected is `expected`, else what the `rules` that match the query say. A call that failed is not done: a
    tool that only failed counts as a wrong call. A tool counts once, unless the expectation names it more often. An
    empty `expected` says that no tool is needed. A call of a forbidden tool makes the score 0.
    """

    expected: tuple[str, ...] | None
    forbidden: tuple[str, ...]
    rules: tuple[Rule, ...]
    effects_only: bool
    effect_tools: tuple[str, ...] | None
    check_arguments: bool
    evaluation_name: str | None
    def __init__(
        self,
        *,
        expected: tuple[str, ...] | list[str] | None = ...,
        forbidden: tuple[str, ...] | list[str] = ...,
        rules: tuple[Rule, ...] | list[Rule] = ...,
        effects_only: bool = ...,
        effect_tools: tuple[str, ...] | list[str] | None = ...,
        check_arguments: bool = ...,
        evaluation_name: str | None = None,
    ) -> None: ...

class ToolSequence(RunEvaluator):
    """How well the calls match the expected sequence, less what anti-patterns cost.

    Only calls that ran and succeeded count, or whose outcome is not recorded. Calls that ran side by side may stand in
    any order. Without `expected` the score is 1 less the penalties.
    """

    expected: tuple[str, ...] | None
    mode: Mode
    vocabulary: Vocabulary
    anti_patterns: tuple[AntiPattern, ...]
    effects_only: bool
    effect_tools: tuple[str, ...] | None
    evaluation_name: str | None
    def __init__(
        self,
        *,
        expected: tuple[str, ...] | list[str] | None = ...,
        mode: Mode = ...,
        vocabulary: Vocabulary = ...,
        anti_patterns: tuple[AntiPattern, ...] | list[AntiPattern] = ...,
        effects_only: bool = ...,
        effect_tools: tuple[str, ...] | list[str] | None = ...,
        evaluation_name: str | None = None,
    ) -> None: ...

class ToolArguments(RunEvaluator):
    """Credit of the calls against those expected / (expected calls + calls of these tools too many).

    Expected and made calls of a tool are matched one to one so that the sum of credits is largest; the credit of a
    pair is its equal leaf arguments / all its leaf arguments. `match` says which keys have to be there: `exact` those
    of both sides, `superset` at least the expected ones, `subset` none but expected ones, `ignore` any. Failed calls
    are not done. Without `expected`: calls that fit their tool's schema / calls of tools with a recorded schema.
    """

    expected: tuple[ExpectedCall, ...] | None
    match: Match
    overrides: Mapping[str, Match]
    paths: tuple[str, ...]
    ignore: tuple[str, ...]
    defaults: Mapping[str, Mapping[str, object]]
    tolerance: float
    effects_only: bool
    effect_tools: tuple[str, ...] | None
    evaluation_name: str | None
    def __init__(
        self,
        *,
        expected: tuple[ExpectedCall, ...] | list[ExpectedCall] | None = ...,
        match: Match = ...,
        overrides: Mapping[str, Match] = ...,
        paths: tuple[str, ...] | list[str] = ...,
        ignore: tuple[str, ...] | list[str] = ...,
        defaults: Mapping[str, Mapping[str, object]] = ...,
        tolerance: float = ...,
        effects_only: bool = ...,
        effect_tools: tuple[str, ...] | list[str] | None = ...,
        evaluation_name: str | None = None,
    ) -> None: ...

class Redundancy(RunEvaluator):
    """1 - duplicates / (calls - exempt).

    A duplicate equals an earlier call that succeeded (same tool, same canonical arguments) with no call of a tool with
    side effects in between. A call after failed ones only is a retry, and a repeated read whose result changed is
    polling: both are exempt, they count neither way. Calls that ask nearly the same (`near_duplicates`) are named as
    issues, or count as duplicates, or are not looked for.
    """

    near_duplicates: Literal["issue", "count", "off"]
    evaluation_name: str | None
    def __init__(
        self, *, near_duplicates: Literal["issue", "count", "off"] = ..., evaluation_name: str | None = None
    ) -> None: ...

class Loops(RunEvaluator):
    """1 - calls in repeats of a cycle after its first round / calls, for cycles of any length.

    One call over and over is a loop from `minimum` times in a row, a cycle of several calls from `minimum_rounds` whole
    rounds. Calls are the same if tool and canonical arguments are, and nothing new came of the later one: a success
    after a failure is new, and so is a read whose result differs from the last time. Failed calls belong to a cycle.
    """

    minimum: int
    minimum_rounds: int
    evaluation_name: str | None
    def __init__(
        self, *, minimum: int = ..., minimum_rounds: int = ..., evaluation_name: str | None = None
    ) -> None: ...

class Efficiency(RunEvaluator):
    """Useful calls / calls; with `step_bands` set, times the factor of the band that the number of calls falls in.

    A call is of no use if it repeats an earlier one (as in redundancy), if it failed and its tool never succeeded
    afterwards, or if nothing of its result is found in a later argument, a later retrieval's query, a later message of
    a model or the answer, and no claim of the answer rests on it (as in grounding). A tool with side effects is of use
    by its effect.
    """

    step_bands: tuple[tuple[int, float], ...] | None
    evaluation_name: str | None
    def __init__(
        self,
        *,
        step_bands: tuple[tuple[int, float], ...] | list[tuple[int, float]] | None = ...,
        evaluation_name: str | None = None,
    ) -> None: ...

class Recovery(RunEvaluator):
    """Recovered failure episodes / failure episodes.

    An episode is a failed call and its retries by the same tool; it is recovered by a later success of that tool. A
    retry that the tool asked the model for (pydantic-ai's ModelRetry) is a failure that may recover. Without a failure
    the question does not arise. Failed model calls are named, and change no value.
    """

    evaluation_name: str | None
    def __init__(self, *, evaluation_name: str | None = None) -> None: ...

class Latency(RunEvaluator):
    """The share of the critical path that was neither idle nor spent on failed or repeated calls.

    With `target_ms`, the time that a run may take, the share is multiplied by min(1, target / actual). The targets per
    call of a tool, a model or a retrieval change no value: what exceeds them is named in the issues. A gap in which
    nothing ran is idle if it is longer than `gap_ms`; shorter ones are the framework's own time.
    """

    target_ms: float | None
    tool_target_ms: float | None
    llm_target_ms: float | None
    retrieval_target_ms: float | None
    gap_ms: float
    evaluation_name: str | None
    def __init__(
        self,
        *,
        target_ms: float | None = ...,
        tool_target_ms: float | None = ...,
        llm_target_ms: float | None = ...,
        retrieval_target_ms: float | None = ...,
        gap_ms: float = ...,
        evaluation_name: str | None = None,
    ) -> None: ...

class Cost(RunEvaluator):
    """Dollars of all model calls, as recorded, else estimated from tokens and list prices; the reason says which.

    With `budget_usd` a second score, `cost_budget`, is min(1, budget / cost). More tokens than `budget_tokens` are an
    issue.
    """

    budget_usd: float | None
    budget_tokens: int | None
    evaluation_name: str | None
    def __init__(
        self, *, budget_usd: float | None = ..., budget_tokens: int | None = ..., evaluation_name: str | None = None
    ) -> None: ...

class RetrievalRelevance(RunEvaluator):
    """The mean over the retrievals of the best document's recorded score, or of its lexical match with the query.

    A best document below `minimum` is an issue. An empty retrieval counts 0 if the answer does not say so and nothing
    found later explains it; if it does, it counts neither way, and neither does a retrieval that failed. `admissions`
    are further phrases by which answers say that nothing was found.

    With `expected`, ids, titles, addresses or texts of documents, the value is the share of these that the run
    retrieved, or by `measure` F1 or NDCG against them, and none of the above counts.
    """

    minimum: float
    admissions: tuple[str, ...]
    expected: tuple[str, ...] | None
    measure: Literal["recall", "f1", "ndcg"]
    evaluation_name: str | None
    def __init__(
        self,
        *,
        minimum: float = ...,
        admissions: tuple[str, ...] | list[str] = ...,
        expected: tuple[str, ...] | list[str] | None = ...,
        measure: Literal["recall", "f1", "ndcg"] = ...,
        evaluation_name: str | None = None,
    ) -> None: ...

class Grounding(RunEvaluator):
    """s / (s + u + 2c) over the supported, unsupported and contradicted claims of the final answer.

    With `of="messages"` all that the agents said is judged, the final answer included, each message by what had been
    seen when it was said.

    Evidence are the results of `tools`, the retrieved `documents`, the `query` of the user, and as `context` what else
    the first model call was given: instructions, and the conversation before. Each kind can be switched off.
    """

    tools: bool
    documents: bool
    query: bool
    context: bool
    of: Of
    evaluation_name: str | None
    def __init__(
        self,
        *,
        tools: bool = ...,
        documents: bool = ...,
        query: bool = ...,
        context: bool = ...,
        of: Of = ...,
        evaluation_name: str | None = None,
    ) -> None: ...

class Handoffs(RunEvaluator):
    """F1 of the hand-offs against the expected ones, in any order; without an expectation 1 - ping-pong / hand-offs.

    An expected hand-off is a target (`"billing"`), or a source and a target (`("triage", "billing")` or
    `"triage -> billing"`). Ping-pong is a hand-off back to the agent that control came from, before the agent that
    had it ran a tool, retrieved anything or called a model more than once. `max_depth` limits how many agents deep
    control may pass without coming back; a deeper run has an issue, its value stays. So has a run in which what one
    agent knew did not come to the next one with the control.
    """

    expected: tuple[str | tuple[str, str], ...] | None
    max_depth: int | None
    evaluation_name: str | None
    def __init__(
        self,
        *,
        expected: tuple[str | tuple[str, str], ...] | list[str | tuple[str, str]] | None = ...,
        max_depth: int | None = ...,
        evaluation_name: str | None = None,
    ) -> None: ...
