"""What Langfuse is told of a result: bodies of its score API, with ids and times that are the same at every sending.

A score with a value is NUMERIC, or BOOLEAN where its unit is "bool". A score without one never is a number: it is a
CATEGORICAL score of its own name, `<name>.status`, so that no average of the numbers is spoilt and the share of runs
that could not be measured can be charted. It has an id of its own too, since Langfuse tells rows apart by name and id.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from spanwise.model.result import RunResult
from spanwise.model.score import Score, score_id
from spanwise.sinks._choice import Choice, chosen_of

COMMENT = 1_000
NAME = 200
ENVIRONMENT = re.compile(r"(?!langfuse)[a-z0-9_-]{1,40}")
STATUS = ".status"
Body: TypeAlias = dict[str, object]
# In this order Langfuse itself looks for the environment of a span.
_ENVIRONMENTS = ("langfuse.environment", "deployment.environment.name", "deployment.environment")
_RANKS: Mapping[str, int] = {"ok": 1, "warn": 2, "alert": 3}


@dataclass(frozen=True, slots=True)
class Item:
    """One score for Langfuse: its id there, what to send, and how much it would be missed (0: least)."""

    id: str
    body: Body
    rank: int


def items_of(result: RunResult, choice: Choice, *, environment: str | None = None) -> list[Item]:
    """The chosen scores of a run."""
    where = environment or _environment_of(result)
    return [_item(result, score, where) for score in chosen_of(result.scores, choice)]


def session_item(result: RunResult, session: str, mean: float, runs: int, *, environment: str | None = None) -> Item:
    """The mean of the overall scores of a session's runs, as a score of the session."""
    body: Body = {
        "id": score_id(trace_id="session", run_id=session, name="overall"),
        "sessionId": session,
        "name": "overall",
        "value": mean,
        "dataType": "NUMERIC",
        "metadata": {"spanwise.session.runs": runs},
    }
    where = environment or _environment_of(result)
    if where:
        body["environment"] = where
    return Item(str(body["id"]), body, 1)


def _item(result: RunResult, score: Score, environment: str | None) -> Item:
    body: Body = {"id": result.id_of(score), "traceId": result.run.trace.trace_id}
    observation = _observation_of(result, score)
    if observation:
        body["observationId"] = observation
    _put_value(body, score)
    comment = _comment_of(score)
    if comment:
        body["comment"] = comment
    body["metadata"] = _metadata_of(result, score)
    if environment:
        body["environment"] = environment
    ended = result.run.end_ns or result.run.start_ns
    if ended > 0:
        body["timestamp"] = _iso_of(ended)
    return Item(str(body["id"]), body, _rank_of(score))


def _put_value(body: Body, score: Score) -> None:
    name = score.name[:NAME]
    value = score.value
    if value is None or not math.isfinite(value):
        body["id"] = f"{body['id']}-status"
        body["name"] = f"{name}{STATUS}"
        body["value"] = score.status if value is None else "error"
        body["dataType"] = "CATEGORICAL"
        return
    yes_or_no = score.unit == "bool" and value in (0.0, 1.0)
    body["name"] = name
    body["value"] = int(value) if yes_or_no else float(value)
    body["dataType"] = "BOOLEAN" if yes_or_no else "NUMERIC"


def _observation_of(result: RunResult, score: Score) -> str:
    """The span that a score is shown on; empty for the trace as a whole.

    A finding (a score that warns, with its evidence on one span) is shown there. Otherwise a run that shares its trace
    with others is told apart by its own span.
    """
    places = {one.span_id for one in score.evidence if one.span_id}
    if score.label in ("warn", "alert") and len(places) == 1 and score.name != "overall":
        (place,) = places
        if place != result.run.run_id:
            return place
    return result.run.run_id if len(result.run.trace.run_roots) > 1 else ""


def _comment_of(score: Score) -> str:
    """What people read beside the value, as far as the content level lets it out."""
    parts = [part for part in (score.reason, *score.issues, *score.recommendations) if part]
    text = "\n".join(dict.fromkeys(parts))
    return text if len(text) <= COMMENT else text[: COMMENT - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _metadata_of(result: RunResult, score: Score) -> Body:
    held: Body = {
        "spanwise.score.id": result.id_of(score),
        "spanwise.score.revision": result.revision,
        "spanwise.run.id": result.run.run_id,
        "status": score.status,
        # Langfuse merges metadata: what no longer holds has to be written over.
        "label": score.label,
        "unit": score.unit,
        "evaluator": score.evaluator,
        "version": score.version,
        "config_hash": score.config_hash,
        "complete": result.run.completeness.complete,
    }
    spans = list(dict.fromkeys(one.span_id for one in score.evidence if one.span_id))[:20]
    held["spans"] = spans
    return held


def _rank_of(score: Score) -> int:
    if score.status == "error":
        return _RANKS["warn"]
    return _RANKS.get(score.label, 1) if score.status == "scored" else 0


def _environment_of(result: RunResult) -> str | None:
    """The environment that Langfuse gives to the run's spans, so that its scores stand with them."""
    root = result.run.root_span or (result.run.spans[0] if result.run.spans else None)
    if root is None:
        return None
    for held in (root.attributes, root.raw.scope.resource):
        for key in _ENVIRONMENTS:
            value = held.get(key)
            if isinstance(value, str) and ENVIRONMENT.fullmatch(value):
                return value
    return None


def _iso_of(ns: int) -> str:
    """The time as Langfuse stores it, in milliseconds."""
    at = datetime.fromtimestamp(ns // 1_000_000_000, UTC).replace(microsecond=ns % 1_000_000_000 // 1_000_000 * 1_000)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
