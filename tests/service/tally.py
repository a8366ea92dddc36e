"""What became of the traces that were sent: read from the score events that reached the backend."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.sinks.otlp_server import Got

EVENT = "gen_ai.evaluation.result"
Expected = Mapping[str, Mapping[str, float | None]]


@dataclass
class Tally:
    """Traces by what became of them. A trace counts once in `scored` or `lost`, and beside that in what is wrong."""

    sent: int
    scored: int = 0
    lost: list[str] = field(default_factory=list[str])
    """Without any score, or without one that it should have."""
    split: list[str] = field(default_factory=list[str])
    """Its spans were scored as more than one run."""
    wrong: list[str] = field(default_factory=list[str])
    """Its scores at the highest revision are not those of the whole trace."""
    doubled: list[str] = field(default_factory=list[str])
    """One score stands under two ids, or one revision of it says two things."""
    again: int = 0
    """Traces of which a later revision exists."""
    repeated: int = 0
    """Score events that came more than once, as equals."""

    @property
    def is_right(self) -> bool:
        """Every trace has the scores of the whole of it, once."""
        return self.scored == self.sent and not (self.lost or self.split or self.wrong or self.doubled)

    def __str__(self) -> str:
        bad = {"lost": self.lost, "split": self.split, "wrong": self.wrong, "doubled": self.doubled}
        told = ", ".join(f"{name} {len(ids)}" for name, ids in bad.items())
        return (
            f"traces {self.sent}, scored {self.scored}, {told}, revised {self.again}, repeated events {self.repeated}"
        )


@dataclass
class _Trace:
    runs: set[str] = field(default_factory=set[str])
    ids: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    told: dict[tuple[str, int], list[tuple[str, float | None]]] = field(default_factory=lambda: defaultdict(list))


def tally(expected: Expected, events: Iterable[Got]) -> Tally:
    """What became of the expected traces, by the events that arrived."""
    found: dict[str, _Trace] = defaultdict(_Trace)
    for event in events:
        if event.proto.event_name == EVENT:
            _note(found[event.trace_id], event.attributes)
    done = Tally(len(expected))
    for trace_id, scores in expected.items():
        _judge(done, trace_id, found.get(trace_id), scores)
    return done


def _note(trace: _Trace, attributes: Mapping[str, object]) -> None:
    name, score_id = str(attributes["gen_ai.evaluation.name"]), str(attributes["spanwise.score.id"])
    revision = attributes["spanwise.score.revision"]
    value = attributes.get("gen_ai.evaluation.score.value")
    assert isinstance(revision, int)
    trace.runs.add(str(attributes["spanwise.run.id"]))
    trace.ids[name].add(score_id)
    trace.told[score_id, revision].append((name, value if isinstance(value, float) else None))


def _judge(done: Tally, trace_id: str, trace: _Trace | None, scores: Mapping[str, float | None]) -> None:
    if trace is None or not scores.keys() <= trace.ids.keys():
        done.lost.append(trace_id)
        return
    done.scored += 1
    if len(trace.runs) > 1:
        done.split.append(trace_id)
    if any(len(ids) > 1 for ids in trace.ids.values()) or any(len(set(told)) > 1 for told in trace.told.values()):
        done.doubled.append(trace_id)
    highest: dict[str, int] = defaultdict(int)
    for score_id, revision in trace.told:
        highest[score_id] = max(highest[score_id], revision)
    final = {name: value for score_id, at in highest.items() for name, value in trace.told[score_id, at]}
    if not all(_equal(final.get(name), scores.get(name)) for name in final.keys() | scores.keys()):
        done.wrong.append(trace_id)
    done.again += max(highest.values()) > 1
    done.repeated += sum(len(told) - len(set(told)) for told in trace.told.values())


def _equal(one: float | None, other: float | None) -> bool:
    return one is other if one is None or other is None else math.isclose(one, other, rel_tol=1e-9)
