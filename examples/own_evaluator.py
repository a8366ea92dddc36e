"""An evaluator of your own, on recorded spans: does the answer name the document that it rests on?

python examples/own_evaluator.py tests/recordings/langgraph__openinference.json
"""

from __future__ import annotations

import sys

import spanwise
from spanwise.model.score import Score, not_applicable, not_measurable
from spanwise.model.trace import Run


def cited(run: Run) -> Score:
    """The share of answers' best documents that the answer names."""
    if not run.retrievals:
        return not_applicable("cited", "The run retrieved nothing.")
    best = [max(item.documents, key=lambda d: d.score or 0.0) for item in run.retrievals if item.documents]
    if run.answer is None or not best:
        return not_measurable("cited", "The spans record no answer, or no documents.")
    named = [document.id for document in best if document.id and document.id in run.answer]
    return Score(name="cited", value=len(named) / len(best), reason=f"The answer names {', '.join(named) or 'none'}.")


if __name__ == "__main__":
    for result in spanwise.score(sys.argv[1:], evaluators={"cited": cited}):
        for score in result.scores:
            print(result.run.query, "|", score.status, score.value, score.reason)
