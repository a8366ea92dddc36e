"""Which evaluators run, and with which parameters: by name, or by the tables that a user wrote."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from spanwise import extensions
from spanwise.catalog import EVALUATORS, JUDGES, PROFILES
from spanwise.errors import SpecError
from spanwise.evaluators.tool_selection import ToolSelection
from spanwise.evaluators.tool_sequence import ToolSequence
from spanwise.extensions import Adapt
from spanwise.model.expectation import Rule
from spanwise.model.ports import AnyEvaluator
from spanwise.parameters import built
from spanwise.rules import anti_patterns_of, load_rules, rules_of

OVERALL = "overall"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Evaluators as they are asked for; what cannot be is told among the errors, with its place.

    `rules` are those of queries, for an evaluator that has none of its own; files of rules are named from `folder`.
    `adapt` makes evaluators of runs out of those of another library.
    """

    profile: str
    folder: Path = Path()
    rules: tuple[Rule, ...] = ()
    held: Mapping[str, AnyEvaluator] = field(default_factory=dict[str, AnyEvaluator])
    adapt: Adapt | None = None
    errors: list[str] = field(default_factory=list[str])

    def by_name(self, names: Collection[str], where: str) -> dict[str, AnyEvaluator]:
        """The evaluators of these names: those held, else those of the profile, the catalogue and other packages.

        Those held, or of the profile, come first, in their order, the others as they are named. `overall` is none.
        """
        order = {name: at for at, name in enumerate(self.held or PROFILES[self.profile].evaluators)}
        found: dict[str, AnyEvaluator] = {}
        for name in sorted(dict.fromkeys(names), key=lambda name: order.get(name, len(order))):
            if name != OVERALL:
                self._put(found, name, self.held.get(name) or self._made(name, {}, where))
        return found

    def by_table(self, table: Mapping[str, object], where: str) -> dict[str, AnyEvaluator]:
        """The evaluators of the profile as a table has them: switched off, with other parameters, and further ones.

        A table sets an evaluator's parameters; its key `use` names the evaluator where the table's own name does not.
        True runs an evaluator with its defaults, false runs it not at all.
        """
        found: dict[str, AnyEvaluator] = {}
        for name in dict.fromkeys((*PROFILES[self.profile].evaluators, *table)):
            value = table.get(name, True)
            place = f"{where}.{name}"
            if isinstance(value, bool):
                if value and name != OVERALL:
                    self._put(found, name, self._made(name, {}, place))
            elif name == OVERALL:
                self.errors.append(f"{place}: read {value!r}, expected true or false; `weights` says how it weighs")
            elif isinstance(value, Mapping):
                self._put(found, name, self._of_table(name, cast("Mapping[str, object]", value), place))
            else:
                self.errors.append(f"{place}: read {value!r}, expected a table of parameters, true or false")
        return found

    @staticmethod
    def _put(found: dict[str, AnyEvaluator], name: str, made: AnyEvaluator | None) -> None:
        if made is not None:
            found[name] = made

    def _of_table(self, name: str, table: Mapping[str, object], place: str) -> AnyEvaluator | None:
        use = table.get("use", name)
        if not isinstance(use, str):
            self.errors.append(f"{place}.use: read {use!r}, expected a name, or a path such as acme.checks:Refund")
            return None
        return self._made(use, {key: value for key, value in table.items() if key != "use"}, place)

    def _made(self, use: str, parameters: Mapping[str, object], place: str) -> AnyEvaluator | None:
        """The evaluator of a name, an entry point or a path, with some parameters; None where there is none."""
        try:
            make = self._loaded(use) if ":" in use else self._known(use)
        except SpecError as error:
            self.errors.append(f"{place}: {error}")
            return None
        if make is None:
            known = ", ".join(dict.fromkeys((*PROFILES[self.profile].evaluators, *EVALUATORS, *extensions.announced())))
            self.errors.append(f"{place}: unknown evaluator {use!r}; known: {known}")
            return None
        if not isinstance(make, type):
            if parameters:
                self.errors.append(f"{place}: {use!r} has no parameters; read {', '.join(parameters)}")
            return cast("AnyEvaluator", make)
        return self._built(use, cast("Callable[..., object]", make), parameters, place)

    def _known(self, name: str) -> object | None:
        own = PROFILES[self.profile].evaluators.get(name) or EVALUATORS.get(name) or JUDGES.get(name)
        if own is not None:
            return own
        point = extensions.announced().get(name)
        return self._loaded(point.value) if point else None

    def _loaded(self, path: str) -> object:
        return extensions.load(path) if self.adapt is None else extensions.load(path, self.adapt)

    def _built(
        self, use: str, make: Callable[..., object], parameters: Mapping[str, object], place: str
    ) -> AnyEvaluator | None:
        fields = dict(parameters)
        read: dict[str, object] = {}
        if make is ToolSelection:
            read["rules"] = self.rules
            if "rules" in fields:
                read["rules"] = read_rules(fields.pop("rules"), f"{place}.rules", self.folder, self.errors)
        elif make is ToolSequence and "anti_patterns" in fields:
            given = fields.pop("anti_patterns")
            where = f"{place}.anti_patterns"
            read["anti_patterns"] = _told(lambda: anti_patterns_of(given, where), self.errors)
        made = built(make, fields, place, self.errors, read=read)
        problem = "" if made is None else extensions.problem_of(made)
        if problem:
            self.errors.append(f"{place}: {use!r} makes no evaluator, {problem}; expected {extensions.EXPECTED}")
            return None
        return cast("AnyEvaluator | None", made)


def read_rules(value: object, place: str, folder: Path, errors: list[str]) -> tuple[Rule, ...]:
    """The rules in a list of tables, or in the file of that name."""
    if isinstance(value, str):
        return _told(lambda: load_rules(folder / value), errors, f"{place}: ")
    return _told(lambda: rules_of(value, place), errors)


def _told(read: Callable[[], tuple[_T, ...]], errors: list[str], before: str = "") -> tuple[_T, ...]:
    try:
        return read()
    except SpecError as error:
        errors += [f"{before}{line}" for line in str(error).splitlines()]
        return ()
