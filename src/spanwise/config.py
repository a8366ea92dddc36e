"""What a user set for a project: `[tool.spanwise]` in pyproject.toml, or a spanwise.toml of its own.

    [tool.spanwise]
    profile = "default"                          # or "classic": which evaluators run, and how they are weighed
    budget_ms = 50                               # how long one evaluator may take for one run
    rules = "rules.yaml"                         # which tools a kind of query calls for

    [tool.spanwise.evaluators]                   # a list of names instead: only these run
    cost = false                                 # not this one
    redundancy_strict = { use = "redundancy", near_duplicates = "count" }
    refund = { use = "acme.checks:Refund", limit = 3 }

    [tool.spanwise.judge]                        # for judges, which run where they are named: goal = true
    models = ["openai:gpt-5-mini"]
    day_usd = 5.0

    [tool.spanwise.weights]                      # for the overall score; what is not named stays as it is
    refund = 0.2

    [tool.spanwise.thresholds.redundancy]        # when a score without a unit is ok, and when it is an alert
    ok = 0.95
    alert = 0.85

    [tool.spanwise.sinks]                        # where `instrument` sends results, if it is not told in code
    jsonl = { to = "runs.jsonl", content = "none" }
    langfuse = true

    [tool.spanwise.serve]                        # of the service `spanwise serve`
    scores_to = "http://127.0.0.1:4320"

    [tool.spanwise.masking]                      # what never leaves
    patterns = { customer = "CUST-[0-9]{6}" }
    allow = ["support@acme.com"]

In spanwise.toml the same keys stand at the top. All errors of a file are told at once, before any trace is read.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from spanwise.catalog import PROFILES, default_evaluators
from spanwise.errors import ModelError, SpecError
from spanwise.evaluators.overall import Overall, is_known, is_weight
from spanwise.extensions import Adapt
from spanwise.judges import Panel, with_settings
from spanwise.masking import CONTENT, DEFAULT, Content, Masking
from spanwise.model.expectation import Rules
from spanwise.model.ports import AnyEvaluator
from spanwise.parameters import built
from spanwise.run import DEFAULT_THRESHOLD, THRESHOLDS
from spanwise.selection import OVERALL, Selection, read_rules

KEYS = ("profile", "evaluators", "judge", "weights", "thresholds", "rules", "budget_ms", "sinks", "masking", "serve")
_LIMITS = ("ok", "alert")
_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkSettings:
    """A sink as settings name it: which one, how much content it gets (its own level where not said), its options."""

    use: str
    content: Content | None = None
    options: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a project; `source` is the file they are from, empty for the defaults."""

    profile: str = "default"
    evaluators: Mapping[str, AnyEvaluator] = field(default_factory=default_evaluators)
    overall: Overall | None = field(default_factory=lambda: PROFILES["default"].overall)
    thresholds: Mapping[str, tuple[float, float]] = field(default_factory=lambda: dict(THRESHOLDS))
    rules: Rules = field(default_factory=Rules)
    budget_ns: int | None = None
    sinks: Mapping[str, SinkSettings] = field(default_factory=dict[str, SinkSettings])
    masking: Masking = DEFAULT
    panel: Panel | None = None
    serve: Mapping[str, object] = field(default_factory=dict[str, object])
    """As the file has it; the service reads it."""
    source: str = ""
    adapt: Adapt | None = field(default=None, repr=False, compare=False)

    def only(self, names: Collection[str]) -> Settings:
        """These settings for the evaluators of these names alone; an overall score is given if it is named.

        Raises:
            SpecError: No evaluator has one of the names.
        """
        selection = Selection(profile=self.profile, rules=self.rules.rules, held=self.evaluators, adapt=self.adapt)
        found = selection.by_name(names, "evaluators")
        if selection.errors:
            raise SpecError("\n".join(selection.errors))
        found = with_settings(found, panel=self.panel, checks=self.evaluators, thresholds=self.thresholds)
        return replace(self, evaluators=found, overall=self.overall if OVERALL in names else None)

    @property
    def score_names(self) -> tuple[str, ...]:
        """The names of the scores that every run gets; an evaluator's further ones have its name in front."""
        return (*self.evaluators, OVERALL) if self.overall else tuple(self.evaluators)


def load(
    path: Path | None = None, *, start: Path | None = None, profile: str = "", adapt: Adapt | None = None
) -> Settings:
    """The settings in a file, or in the nearest one at or above a folder; the defaults where there is none.

    Args:
        path: A file; the nearest one where not given.
        start: The folder to look from; the current one where not given.
        profile: Goes before the file's.
        adapt: Makes evaluators of runs out of those of another library, which paths may lead to.

    Raises:
        SpecError: A file that was named is not there, or its text is not usable, or there is no such profile.
    """
    if profile and profile not in PROFILES:
        raise SpecError(f"read {profile!r}, expected a profile: {', '.join(PROFILES)}")
    if path is not None:
        return _read(path, profile, adapt) or _settings({}, _Place(str(path), profile, adapt))
    for candidate in _candidates(start or Path.cwd()):
        found = _read(candidate, profile, adapt) if candidate.is_file() else None
        if found is not None:
            return found
    return _settings({}, _Place("", profile, adapt))


def _candidates(start: Path) -> Iterator[Path]:
    """The files that may hold settings, nearest first, up to the folder that holds the repository."""
    for folder in (start, *start.parents):
        yield folder / "spanwise.toml"
        yield folder / "pyproject.toml"
        if (folder / ".git").exists():
            return


@dataclass(slots=True)
class _Place:
    """Where settings are read from, and what is wrong with them."""

    source: str
    profile: str
    adapt: Adapt | None = None
    where: str = ""
    errors: list[str] = field(default_factory=list[str])

    def of(self, key: str) -> str:
        """The place of a key at the top."""
        return _inner(self.where, key)


def _read(path: Path, profile: str, adapt: Adapt | None) -> Settings | None:
    """The settings of a file; None where it is a pyproject.toml that has none."""
    try:
        document: Mapping[str, object] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SpecError(f"{path}: is not TOML: {error}") from error
    place = _Place(str(path), profile, adapt)
    table: object = document
    if path.name == "pyproject.toml":
        place.where = "tool.spanwise"
        tools = document.get("tool")
        table = cast("Mapping[str, object]", tools).get("spanwise") if isinstance(tools, Mapping) else None
        if table is None:
            return None
    settings = _settings(table, place)
    if place.errors:
        raise SpecError("\n".join(f"{path}, {error}" for error in place.errors))
    return settings


def _settings(table: object, at: _Place) -> Settings:
    errors = at.errors
    fields = _table(table, at.where, KEYS, errors)
    profile = at.profile or _profile(fields.get("profile", "default"), at)
    folder = Path(at.source).parent
    rules = read_rules(fields["rules"], at.of("rules"), folder, errors) if "rules" in fields else ()
    selection = Selection(profile=profile, folder=folder, rules=rules, errors=errors, adapt=at.adapt)
    evaluators, overall = _evaluators(fields.get("evaluators", {}), at, selection)
    weighed = _overall(fields.get("weights", {}), profile, evaluators, at) if overall else None
    thresholds = _thresholds(fields.get("thresholds", {}), at)
    panel = _panel(fields["judge"], at) if "judge" in fields else None
    return Settings(
        profile=profile,
        evaluators=with_settings(evaluators, panel=panel, checks=evaluators, thresholds=thresholds),
        overall=weighed,
        thresholds=thresholds,
        panel=panel,
        rules=Rules(rules),
        budget_ns=_budget(fields["budget_ms"], at) if "budget_ms" in fields else None,
        sinks=_sinks(fields.get("sinks", {}), at),
        masking=_masking(fields["masking"], at) if "masking" in fields else DEFAULT,
        serve=_table(fields.get("serve", {}), at.of("serve"), None, errors),
        source=at.source,
        adapt=at.adapt,
    )


def _panel(value: object, at: _Place) -> Panel | None:
    """Who judges; a folder for replies is named from the folder of the file."""
    where = at.of("judge")
    panel = cast("Panel | None", built(Panel, _table(value, where, None, at.errors), where, at.errors))
    if panel is None or not panel.cache:
        return panel
    return replace(panel, cache=str(Path(at.source).parent / Path(panel.cache).expanduser()))


def _inner(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _table(value: object, where: str, known: tuple[str, ...] | None, errors: list[str]) -> Mapping[str, object]:
    """The value as a table; an error for anything else, and for each key that is not known."""
    if not isinstance(value, Mapping):
        errors.append(f"{where or 'top'}: read {value!r}, expected a table")
        return {}
    fields = cast("Mapping[str, object]", value)
    if known is not None:
        errors += [
            f"{_inner(where, key)}: unknown key; known: {', '.join(known)}" for key in fields if key not in known
        ]
    return fields


def _profile(value: object, at: _Place) -> str:
    if isinstance(value, str) and value in PROFILES:
        return value
    at.errors.append(f"{at.of('profile')}: read {value!r}, expected {' or '.join(map(repr, PROFILES))}")
    return "default"


def _evaluators(value: object, at: _Place, selection: Selection) -> tuple[dict[str, AnyEvaluator], bool]:
    """The evaluators of a list of names or of a table, and whether their scores are weighed into one."""
    where = at.of("evaluators")
    if isinstance(value, Mapping):
        table = cast("Mapping[str, object]", value)
        return selection.by_table(table, where), table.get(OVERALL, True) is not False
    listed = cast("list[object]", value) if isinstance(value, list) else []
    names = [name for name in listed if isinstance(name, str)]
    if not names or len(names) != len(listed):
        at.errors.append(f"{where}: read {value!r}, expected a list of names of evaluators, or a table")
    return selection.by_name(names, where), OVERALL in names


def _overall(value: object, profile: str, evaluators: Collection[str], at: _Place) -> Overall:
    standard = PROFILES[profile].overall
    where = at.of("weights")
    weights = dict(standard.weights)
    before = len(at.errors)
    for name, weight in _table(value, where, None, at.errors).items():
        place = _inner(where, name)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not is_weight(weight):
            at.errors.append(f"{place}: read {weight!r}, expected a number of at least 0")
        elif not is_known(name, evaluators):
            at.errors.append(f"{place}: unknown score; known: {', '.join(dict.fromkeys((*evaluators, *weights)))}")
        else:
            weights[name] = float(weight)
    if len(at.errors) > before:
        return standard
    try:
        return replace(standard, weights=weights, known=evaluators)
    except ModelError as error:
        at.errors.append(f"{where}: {error}")
        return standard


def _thresholds(value: object, at: _Place) -> Mapping[str, tuple[float, float]]:
    where = at.of("thresholds")
    found = dict(THRESHOLDS)
    for name, limits in _table(value, where, None, at.errors).items():
        found[name] = _threshold(limits, name, _inner(where, name), at.errors)
    return found


def _threshold(value: object, name: str, where: str, errors: list[str]) -> tuple[float, float]:
    good, bad = THRESHOLDS.get(name, DEFAULT_THRESHOLD)
    fields = _table(value, where, _LIMITS, errors)
    read = {"ok": good, "alert": bad}
    for key in _LIMITS:
        number = fields.get(key, read[key])
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0.0 <= number <= 1.0:
            errors.append(f"{_inner(where, key)}: read {number!r}, expected a number from 0 to 1")
        else:
            read[key] = float(number)
    if read["alert"] > read["ok"]:
        errors.append(f"{where}: alert {read['alert']} lies above ok {read['ok']}")
    return read["ok"], read["alert"]


def _budget(value: object, at: _Place) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (math.isfinite(value) and value > 0):
        at.errors.append(f"{at.of('budget_ms')}: read {value!r}, expected a number of milliseconds above 0")
        return None
    return round(value * _NS_PER_MS)


def _sinks(value: object, at: _Place) -> Mapping[str, SinkSettings]:
    """The sinks of a list of names, or of a table with their options. What they take is checked when they are made."""
    where = at.of("sinks")
    if isinstance(value, list):
        listed = cast("list[object]", value)
        if not all(isinstance(name, str) for name in listed):
            at.errors.append(f"{where}: read {value!r}, expected a list of names of sinks, or a table")
        return {str(name): SinkSettings(use=str(name)) for name in listed}
    found: dict[str, SinkSettings] = {}
    for name, told in _table(value, where, None, at.errors).items():
        if isinstance(told, Mapping):
            found[name] = _sink(name, cast("Mapping[str, object]", told), _inner(where, name), at.errors)
        elif not isinstance(told, bool):
            at.errors.append(f"{_inner(where, name)}: read {told!r}, expected a table of options, true or false")
        elif told:
            found[name] = SinkSettings(use=name)
    return found


def _sink(name: str, table: Mapping[str, object], where: str, errors: list[str]) -> SinkSettings:
    use, content = table.get("use", name), table.get("content")
    if not isinstance(use, str):
        errors.append(f"{where}.use: read {use!r}, expected a name, or a path such as acme.ledger:LedgerSink")
    if content is not None and content not in CONTENT:
        errors.append(f"{where}.content: read {content!r}, expected {' or '.join(map(repr, CONTENT))}")
    options = {key: option for key, option in table.items() if key not in {"use", "content"}}
    return SinkSettings(use=str(use), content=cast("Content | None", content), options=options)


def _masking(value: object, at: _Place) -> Masking:
    where = at.of("masking")
    made = built(Masking, _table(value, where, None, at.errors), where, at.errors)
    return made if isinstance(made, Masking) else DEFAULT
