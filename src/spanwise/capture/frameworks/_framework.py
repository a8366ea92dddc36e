"""What a framework is to the live door: which targets are its own, and how its instrumentation is turned on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from types import ModuleType

from opentelemetry.sdk.trace import TracerProvider


def nothing() -> None:
    """Nothing was turned on, so nothing is turned off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Enabled:
    """What was turned on for a target, how to turn it off again, and what is still missing.

    `missing` are sentences that a developer acts on: what to install, or which switch records content. `undo` may be
    called more than once; `is_on` tells whether what was turned on still is, for others may turn it off.
    """

    did: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    undo: Callable[[], None] = nothing
    is_on: Callable[[], bool] = lambda: True


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """One agent framework."""

    name: str
    title: str
    modules: tuple[str, ...]
    """Packages whose objects are targets: `("pydantic_ai",)`."""
    marker: str
    """A module that the framework imports with itself, and no other package of the same name has."""
    package: str
    """What it is called when it is installed."""
    turn_on: Callable[[object, TracerProvider], Enabled]
    """Turns on its instrumentation; `enable` says as a missing thing what this raises."""

    def imported(self) -> bool:
        """The app has imported the framework."""
        return sys.modules.get(self.marker) is not None

    def installed(self) -> bool:
        """The framework is installed, imported or not."""
        try:
            distribution(self.package)
        except (PackageNotFoundError, ValueError):
            return False
        return True

    def matches(self, target: object) -> bool:
        """The target (an object, a class, a module, a function) is the framework's, or built on it; imports nothing."""
        return any(self.owns(name) for name in module_names(target))

    def owns(self, module: str) -> bool:
        """A module of that name is the imported framework's."""
        return any(module == own or module.startswith(f"{own}.") for own in self.modules) and self.imported()

    def enable(self, target: object, provider: TracerProvider) -> Enabled:
        """Turn on the framework's instrumentation, so that its spans go to the provider; never raises."""
        try:
            return self.turn_on(target, provider)
        except Exception as error:  # noqa: BLE001  (whatever another release of somebody's library does)
            return Enabled(missing=(f"{self.title} could not be instrumented ({type(error).__name__}: {error}).",))


def module_names(target: object) -> Iterator[str]:
    """Where a target is from: its module's name, or those of its class and of that class's bases."""
    if isinstance(target, ModuleType):
        yield target.__name__
        return
    kind = target if isinstance(target, type) else type(target)
    for one in kind.__mro__:
        yield str(one.__module__)
    own: object = getattr(target, "__module__", None)
    if isinstance(own, str):
        yield own
