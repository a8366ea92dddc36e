"""Scores as Phoenix's annotations on the spans of the runs, through its own client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

from spanwise.errors import SinkError
from spanwise.model.ports import Content
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.sinks._choice import Choice, checked, is_chosen
from spanwise.sinks._otel import subject_of
from spanwise.sinks._revisions import Revisions
from spanwise.sinks._tries import tried

if TYPE_CHECKING:
    from phoenix.client import Client
    from phoenix.client.__generated__.v1 import AnnotationResult, SpanAnnotationData

AT_ONCE = 100


class PhoenixSink:
    """Annotates the span of each run with its scores: `POST /v1/span_annotations`, all scores of a run in one request.

    The score's id is the annotation's identifier, so that a later revision overwrites what is there; a score that it
    no longer has becomes `not_applicable`, superseded. Phoenix keeps annotations until their span has come.

    Args:
        client: Phoenix' client; where not given one that reads PHOENIX_COLLECTOR_ENDPOINT and PHOENIX_API_KEY.
        scores: `all`, `default` (overall, tool_selection, redundancy, latency, grounding, and any alert), or names.

    Raises:
        SinkError: The client's package is not installed, or the choice is none.
    """

    emits: ClassVar[Content] = "none"

    def __init__(self, client: Client | None = None, *, scores: Choice = "all") -> None:
        if client is None and (find_spec("phoenix") is None or find_spec("phoenix.client") is None):
            raise SinkError("Phoenix needs arize-phoenix-client; install it with: pip install 'spanwise[phoenix]'")
        self._client = client
        self._choice = checked(scores)
        self._revisions = Revisions()
        self.sent = 0
        """Annotations that Phoenix took."""
        self.drops: dict[str, int] = {}
        """Annotations that it did not, by reason: `refused`, `unreachable`, or `no_span`."""

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Annotate the runs.

        Raises:
            SinkError: Phoenix did not take some annotations; the others were sent.
        """
        found = [one for result in results for one in self._annotations(result)]
        problem = ""
        for begin in range(0, len(found), AT_ONCE):
            problem = self._send(found[begin : begin + AT_ONCE]) or problem
        if problem:
            raise SinkError(f"Phoenix did not take annotations: {problem}")

    def close(self) -> None:
        """Nothing waits here."""

    def _annotations(self, result: RunResult) -> list[SpanAnnotationData]:
        gone = self._revisions.gone(result)
        if gone is None:
            return []
        scores = [score for score in (*result.scores, *gone) if is_chosen(score, self._choice)]
        subject = subject_of(result.run)
        if subject is None:
            self._drop("no_span", len(scores))
            return []
        return [annotation_of(result, score, subject.span_id) for score in scores]

    def _send(self, annotations: Sequence[SpanAnnotationData]) -> str:
        """Send annotations; what is wrong, if anything is. One that is refused does not cost the others."""
        from httpx import HTTPError, HTTPStatusError

        try:
            tried(self._posting(annotations), _again)
        except HTTPStatusError as error:
            if error.response.is_client_error and len(annotations) > 1:
                return max((self._send([one]) for one in annotations), key=len)
            return self._lost("refused", annotations, f"it answers {error.response.status_code}")
        except HTTPError as error:
            return self._lost("unreachable", annotations, f"it cannot be reached ({type(error).__name__})")
        self.sent += len(annotations)
        return ""

    def _lost(self, reason: str, annotations: Sequence[SpanAnnotationData], problem: str) -> str:
        self._drop(reason, len(annotations))
        return problem

    def _posting(self, annotations: Sequence[SpanAnnotationData]) -> Callable[[], object]:
        client = self._client
        if client is None:
            from phoenix.client import Client

            client = self._client = Client()
        return lambda: client.spans.log_span_annotations(span_annotations=annotations, sync=False)

    def _drop(self, reason: str, count: int) -> None:
        self.drops[reason] = self.drops.get(reason, 0) + count


def _again(error: Exception) -> float | None:
    from httpx import HTTPStatusError, TransportError

    if isinstance(error, HTTPStatusError):
        status = error.response.status_code
        if status not in {408, 425, 429} and status < 500:
            return None
        wanted = error.response.headers.get("retry-after", "")
        return float(wanted) if wanted.isdecimal() else 0.0
    return 0.0 if isinstance(error, TransportError) else None


def annotation_of(result: RunResult, score: Score, span_id: str) -> SpanAnnotationData:
    """One score as an annotation: what has no value has no score, and its status as label."""
    told: AnnotationResult = {}
    if score.value is not None:
        told["score"] = float(score.value)
    label = score.label if score.status == "scored" else score.status
    if label:
        told["label"] = label
    if score.reason:
        told["explanation"] = score.reason
    return {
        "name": score.name,
        "annotator_kind": "CODE",
        "span_id": span_id,
        "result": told,
        "metadata": {
            "spanwise.score.id": result.id_of(score),
            "spanwise.score.revision": result.revision,
            "spanwise.score.status": score.status,
            "spanwise.score.unit": score.unit,
            "spanwise.score.evaluator": score.evaluator,
            "spanwise.score.version": score.version,
            "spanwise.run.id": result.run.run_id,
        },
        "identifier": result.id_of(score),
    }
