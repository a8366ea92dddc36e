"""Fit the weights of grounding on labelled claims, and tell how well they do on claims that they were not fitted on.

    python scripts/fit_grounding.py ../shared/grounding             # tell
    python scripts/fit_grounding.py ../shared/grounding --write     # tell, and write
    src/spanwise/grounding/weights.json

A file is JSON lines of `{"claim", "evidence": [text...], "supported": bool}`. Each set counts the same, however many
claims it holds. The fit is logistic regression with a penalty on the squares of the weights, by Newton's method, which
needs nothing but this file: a dozen features make small matrices.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanwise.grounding.features import NAMES, match, read
from spanwise.grounding.index import Index, Sought
from spanwise.grounding.linear import Feature, Weights, score_of
from spanwise.grounding.support import check_by

PENALTY = 10.0
FOLDS = 5
SEEDS = 3
_THRESHOLD = 0.26
_WEIGHTS = Path(__file__).resolve().parents[1] / "src" / "spanwise" / "grounding" / "weights.json"


@dataclass(frozen=True)
class Row:
    """A labelled claim: its text and evidence, its features, and whether people found it supported."""

    claim: str
    evidence: tuple[str, ...]
    values: tuple[float, ...]
    supported: bool


def rows_of(path: Path) -> list[Row]:
    """The labelled claims of a file."""
    rows: list[Row] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        sought = Sought()
        claim = read(item["claim"], sought)
        index = Index(sought)
        for _ in index.add("\n".join(item["evidence"])):
            pass
        values = match(claim, index).values
        rows.append(Row(item["claim"], tuple(item["evidence"]), values, bool(item["supported"])))
    return rows


def sets_of(folder: Path) -> dict[str, list[Row]]:
    """The labelled sets of a folder, by name."""
    return {path.stem: rows_of(path) for path in sorted(folder.glob("*.jsonl"))}


def auroc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """How often a supported claim has the higher score than one that is not; equal scores count half."""
    order = sorted(range(len(scores)), key=scores.__getitem__)
    ranks = [0.0] * len(scores)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and scores[order[end]] == scores[order[at]]:
            end += 1
        for place in order[at:end]:
            ranks[place] = (at + end + 1) / 2
        at = end
    good = sum(labels)
    bad = len(labels) - good
    return (sum(rank for rank, label in zip(ranks, labels, strict=True) if label) - good * (good + 1) / 2) / (
        good * bad
    )


def fit(sets: Sequence[Sequence[Row]], use: Sequence[int] | None = None, *, penalty: float = PENALTY) -> Weights:
    """The weights that tell the supported claims of some sets from the others; `use` are the features looked at."""
    use = range(len(NAMES)) if use is None else use
    rows = [(row, 1000 / len(one)) for one in sets for row in one]
    total = math.fsum(worth for _, worth in rows)
    means = [math.fsum(row.values[k] * worth for row, worth in rows) / total for k in range(len(NAMES))]
    spreads = [
        math.sqrt(math.fsum((row.values[k] - means[k]) ** 2 * worth for row, worth in rows) / total) or 1.0
        for k in range(len(NAMES))
    ]
    made = [
        ([1.0, *((row.values[k] - means[k]) / spreads[k] for k in use)], row.supported, worth) for row, worth in rows
    ]
    solved = _newton(made, penalty)
    weight = dict.fromkeys(range(len(NAMES)), 0.0) | dict(zip(use, solved[1:], strict=True))
    features = {
        name: Feature(mean=round(means[k], 6), spread=round(spreads[k], 6), weight=round(weight[k], 6))
        for k, name in enumerate(NAMES)
    }
    return Weights(fitted="", data=(), bias=round(solved[0], 6), threshold=_THRESHOLD, features=features)


def _newton(made: Sequence[tuple[list[float], bool, float]], penalty: float) -> list[float]:
    size = len(made[0][0])
    weights = [0.0] * size
    for _ in range(25):
        gradient = [0.0] + [penalty * one for one in weights[1:]]
        hessian = [[penalty if a == b and a else 1e-9 if a == b else 0.0 for b in range(size)] for a in range(size)]
        for values, supported, worth in made:
            p = 1 / (1 + math.exp(-math.fsum(w * v for w, v in zip(weights, values, strict=True))))
            error, bend = worth * (p - supported), worth * p * (1 - p)
            for a, one in enumerate(values):
                gradient[a] += error * one
                row = hessian[a]
                for b, other in enumerate(values):
                    row[b] += bend * one * other
        step = _solve(hessian, gradient)
        weights = [one - change for one, change in zip(weights, step, strict=True)]
        if max(map(abs, step)) < 1e-9:
            break
    return weights


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    size = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for at in range(size):
        pivot = max(range(at, size), key=lambda k: abs(rows[k][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for k in range(size):
            if k != at and rows[k][at]:
                ratio = rows[k][at] / rows[at][at]
                rows[k] = [one - ratio * other for one, other in zip(rows[k], rows[at], strict=True)]
    return [rows[at][size] / rows[at][at] for at in range(size)]


def checked(row: Row, weights: Weights) -> float:
    """The score that `check` gives by some weights."""
    return check_by(row.claim, row.evidence, weights).score


def scored(row: Row, weights: Weights) -> float:
    """The score by the features alone, before a verdict lowers it."""
    return score_of(row.values, weights)


def cross_validated(
    sets: Mapping[str, Sequence[Row]],
    use: Sequence[int] | None = None,
    *,
    score: Callable[[Row, Weights], float] = checked,
    seeds: int = SEEDS,
) -> dict[str, float]:
    """AUROC of each set: each claim scored by weights fitted without its fold; the mean over several cuts."""
    found: dict[str, list[float]] = {name: [] for name in sets}
    for seed in range(seeds):
        folds = {name: _folds(rows, seed) for name, rows in sets.items()}
        scores = {name: [0.0] * len(rows) for name, rows in sets.items()}
        for fold in range(FOLDS):
            weights = fit(
                [[row for at, row in enumerate(rows) if folds[name][at] != fold] for name, rows in sets.items()], use
            )
            for name, rows in sets.items():
                for at, row in enumerate(rows):
                    if folds[name][at] == fold:
                        scores[name][at] = score(row, weights)
        for name, rows in sets.items():
            found[name].append(auroc(scores[name], [row.supported for row in rows]))
    return {name: math.fsum(values) / len(values) for name, values in found.items()}


def _folds(rows: Sequence[Row], seed: int) -> list[int]:
    """The fold of each claim, the supported ones spread evenly."""
    rng = random.Random(seed)
    out = [0] * len(rows)
    for label in (True, False):
        those = [at for at, row in enumerate(rows) if row.supported == label]
        rng.shuffle(those)
        for number, at in enumerate(those):
            out[at] = number % FOLDS
    return out


def left_out(sets: Mapping[str, Sequence[Row]]) -> dict[str, float]:
    """AUROC of each set by weights fitted on the other sets alone."""
    found: dict[str, float] = {}
    for name, rows in sets.items():
        weights = fit([other for key, other in sets.items() if key != name])
        found[name] = auroc([checked(row, weights) for row in rows], [row.supported for row in rows])
    return found


def threshold(sets: Mapping[str, Sequence[Row]], weights: Weights) -> float:
    """The score at which, over all sets alike, most of both kinds of claims are told right."""

    def right(bound: float) -> float:
        shares: list[float] = []
        for rows in sets.values():
            for label in (True, False):
                those = [score_of(row.values, weights) >= bound for row in rows if row.supported == label]
                shares.append(sum(one == label for one in those) / len(those))
        return math.fsum(shares)

    return max((number / 100 for number in range(20, 81)), key=right)


def main() -> None:
    """Tell, and write when asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="write the weights")
    chosen = parser.parse_args()
    sets = sets_of(chosen.folder)
    for title, found in (("cross-validated", cross_validated(sets)), ("fitted on the other sets", left_out(sets))):
        print(f"{title}: " + ", ".join(f"{name} {value:.4f}" for name, value in found.items()))
    made = fit(list(sets.values()))
    weights = Weights(
        fitted=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),  # noqa: TID251  (a script's own date)
        data=tuple(sets),
        bias=made.bias,
        threshold=threshold(sets, made),
        features=made.features,
    )
    text = json.dumps(
        {
            "fitted": weights.fitted,
            "data": weights.data,
            "bias": weights.bias,
            "threshold": weights.threshold,
            "features": {
                name: {"mean": one.mean, "spread": one.spread, "weight": one.weight}
                for name, one in weights.features.items()
            },
        },
        indent=1,
    )
    print(text)
    if chosen.write:
        _WEIGHTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
