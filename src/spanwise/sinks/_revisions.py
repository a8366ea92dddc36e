"""What is to be done for a revision of a run where rows are changed: which scores are new, and which are gone."""

from __future__ import annotations

from collections import OrderedDict

from spanwise.model.result import RunResult
from spanwise.model.score import Score, not_applicable

SUPERSEDED = "superseded"
_RUNS = 10_000


class Revisions:
    """Remembers the names of the scores that the last runs had, and at which revision."""

    def __init__(self, most: int = _RUNS) -> None:
        self._most = most
        self._known: OrderedDict[tuple[str, str], tuple[int, frozenset[str]]] = OrderedDict()

    def gone(self, result: RunResult) -> tuple[Score, ...] | None:
        """The scores that the run had and has no longer, as not applicable; None for a revision that was overtaken."""
        key = (result.run.trace.trace_id, result.run.run_id)
        revision, names = self._known.get(key, (0, frozenset[str]()))
        if result.revision < revision:
            return None
        now = frozenset(score.name for score in result.scores)
        later = revision < result.revision
        self._known[key] = (result.revision, now if later else now | names)
        self._known.move_to_end(key)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return tuple(not_applicable(name, SUPERSEDED) for name in sorted(names - now)) if later else ()
