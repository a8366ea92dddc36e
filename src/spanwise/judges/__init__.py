"""Judges: questions that need a reader, asked of a language model, with one scope each and everything bounded.

Opt-in, by name in the settings, or as values in code. pydantic-ai (the extra `judge`) is imported when the first judge
asks; without it, a model or a key, a judge says so and everything else works.
"""

from __future__ import annotations

from spanwise.judges.beside import Beside
from spanwise.judges.failures import (
    ContextOverflowError,
    JudgeError,
    RefusedError,
    ReplyError,
    TruncatedError,
    UnaskedError,
    UnjudgedError,
    UnreachableError,
)
from spanwise.judges.judge import Judge, with_settings
from spanwise.judges.kinds import Goal, PlanAdherence, PlanQuality, ReasoningQuality, ToolChoice
from spanwise.judges.panel import Panel
from spanwise.judges.questions import Example, Question, Scope
from spanwise.judges.rubric import Rubric

__all__ = [
    "Beside",
    "ContextOverflowError",
    "Example",
    "Goal",
    "Judge",
    "JudgeError",
    "Panel",
    "PlanAdherence",
    "PlanQuality",
    "Question",
    "ReasoningQuality",
    "RefusedError",
    "ReplyError",
    "Rubric",
    "Scope",
    "ToolChoice",
    "TruncatedError",
    "UnaskedError",
    "UnjudgedError",
    "UnreachableError",
    "with_settings",
]
