"""Questions of quality that need a reader: goal, plan, reasoning and choice of tools, each with one scope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spanwise.judges.judge import Judge, lacking
from spanwise.judges.questions import Scope
from spanwise.judges.transcript import Transcript
from spanwise.judges.verdicts import Merge
from spanwise.model.score import Score, not_applicable, not_measurable
from spanwise.model.trace import Run

_GOAL = Scope(
    asks="whether the run reached what the user asked for: compare the task with the answer, and with what the tools"
    " did.",
    leaves=(
        "how the agent got there, its plan, its reasoning or its tools",
        "how long it took or what it cost",
        "style and length of the answer, unless the task asks for them",
    ),
    levels={
        3: "everything that was asked for is there, and what the tools returned bears it out",
        2: "what was asked for is there in the main; something small is missing or unclear",
        1: "a part of it is there, or the answer goes beside the question",
        0: "nothing that was asked for is there, or the answer contradicts what the tools returned",
    },
)
_REASONING = Scope(
    asks="whether each thing that the models say follows from the task and from what they had seen by then.",
    leaves=(
        "whether the task was fulfilled",
        "which tools were chosen and with which arguments",
        "whether there was a plan, or whether it was followed",
        "style and length",
    ),
    levels={
        3: "every step follows; results are read as they are, and errors are noticed",
        2: "small leaps that change nothing",
        1: "a conclusion that does not follow, a result that is misread or overlooked, and it matters",
        0: "reasoning that contradicts itself or what was seen, or is made up",
    },
)
_PLAN = Scope(
    asks="whether the plan that the agent states would lead to what the user asked for, with the tools at hand. The"
    " plan is what the agent says it will do, in its first messages or in a tool for plans. Without any such words the"
    " score is null.",
    leaves=(
        "whether the plan was followed",
        "how the run ended, and whether the task was fulfilled: judge by what was known when the plan was made",
        "style and length",
    ),
    levels={
        3: "complete, in a sensible order, nothing superfluous, and possible with these tools",
        2: "would do, with a gap or a detour that is easily mended",
        1: "lacks something essential, or relies on what is not at hand",
        0: "would not lead to what was asked for",
    },
)
_ADHERENCE = Scope(
    asks="whether the agent did what it had said it would do: compare the plan that it states with the calls that"
    " follow. To deviate with a reason that is stated, or forced by a result, is no fault. Without a stated plan the"
    " score is null.",
    leaves=(
        "whether the plan was any good",
        "whether the task was fulfilled",
        "whether single calls succeeded, or had the right arguments",
    ),
    levels={
        3: "every step of the plan was done or given up for a reason",
        2: "a small step was left out or added without a reason",
        1: "an essential step was left out, or much was done that was not planned",
        0: "what was done has nothing to do with the plan",
    },
)
_CHOICE = Scope(
    asks="whether each tool call was a fitting choice at its time, given the task, the tools at hand and what had been"
    " seen: the right tool, needed, and none that was needed left out.",
    leaves=(
        "the values of arguments, apart from their showing a wrong tool",
        "whether a call failed for reasons outside of the choice",
        "whether the answer is right",
        "repeated calls, which are counted elsewhere",
    ),
    levels={
        3: "every call fits, and none is missing",
        2: "a call that was not needed, or a second-best tool, at little cost",
        1: "a wrong tool where a fitting one was at hand, or a needed call left out",
        0: "the tools have little to do with the task",
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal(Judge):
    """How far the run reached what the user asked for: 0 to 3, as a value of 0, 0.33, 0.67 or 1."""

    question = "Was what the user asked for reached?"

    @property
    def scope(self) -> Scope:
        """Whether the task was fulfilled."""
        return _GOAL

    @property
    def merging(self) -> Merge:
        """A goal is reached over all parts together."""
        return "median"

    def unfit(self, run: Run, told: Transcript) -> Score | None:
        """A run that ended in an error without an answer needs no judge."""
        if told.answer is None and told.ended_in:
            return not_applicable(self.name, f"not asked: the run ended in {told.ended_in}, without an answer")
        return lacking(self.name, run, "spans", "query", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningQuality(Judge):
    """Whether what the models say follows from what they knew: 0 to 3, as a value of 0, 0.33, 0.67 or 1."""

    question = "Does what the models say follow from what they knew?"

    @property
    def scope(self) -> Scope:
        """Whether each thought follows."""
        return _REASONING

    def unfit(self, run: Run, told: Transcript) -> Score | None:
        """Where the models only called tools, there is no reasoning to read."""
        return lacking(self.name, run, "spans", "query") or _wordless(self.name, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuality(Judge):
    """Whether the stated plan would lead to the goal: 0 to 3, as a value of 0, 0.33, 0.67 or 1."""

    question = "Would the stated plan lead to the goal?"

    shows_tools: ClassVar[bool] = True

    @property
    def scope(self) -> Scope:
        """Whether the plan is any good."""
        return _PLAN

    @property
    def merging(self) -> Merge:
        """There is one plan, however many parts the run has."""
        return "median"

    def unfit(self, run: Run, told: Transcript) -> Score | None:
        """Where nothing was said and no tool was called, there is no plan."""
        return lacking(self.name, run, "spans", "query") or _planless(self.name, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAdherence(Judge):
    """Whether the agent did what it had planned: 0 to 3, as a value of 0, 0.33, 0.67 or 1."""

    question = "Was the stated plan followed, or left for a reason?"

    after: tuple[str, ...] = ("tool_sequence",)

    @property
    def scope(self) -> Scope:
        """Whether the plan was followed."""
        return _ADHERENCE

    def unfit(self, run: Run, told: Transcript) -> Score | None:
        """A plan is followed by calls of tools; where there are none, nothing can be compared."""
        missing = lacking(self.name, run, "spans", "query", "tool_calls")
        if missing is None and not run.work:
            return not_applicable(self.name, "no tool was called, so there is nothing to compare with a plan")
        return missing or _planless(self.name, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChoice(Judge):
    """Whether the tools were chosen well: 0 to 3, as a value of 0, 0.33, 0.67 or 1."""

    question = "Was each call a fitting choice at its time?"

    after: tuple[str, ...] = ("tool_selection",)
    shows_tools: ClassVar[bool] = True

    @property
    def scope(self) -> Scope:
        """Whether each call was a fitting choice."""
        return _CHOICE

    def unfit(self, run: Run, told: Transcript) -> Score | None:
        """Without a tool that was called or offered there was no choice."""
        missing = lacking(self.name, run, "spans", "query", "tool_calls")
        if missing is None and not run.work and not told.tools:
            return not_applicable(self.name, "no tool was called, and none is recorded as offered")
        return missing


def _wordless(name: str, run: Run) -> Score | None:
    if any(said.text for said in run.said):
        return None
    if run.said and all(said.text == "" for said in run.said):
        return not_applicable(name, "the models said nothing beside calling tools")
    missing = lacking(name, run, "llm_calls", "tool_calls", "answer")
    return missing or not_measurable(name, f"No span records what the models said. {run.content_switch}".strip())


def _planless(name: str, run: Run) -> Score | None:
    """A plan is words, or the arguments of a tool for plans; whether the words are a plan is for the model to say."""
    if any("plan" in call.name.lower() or "todo" in call.name.lower() for call in run.tool_calls):
        return None
    return _wordless(name, run)
