"""What an instrumentor leaves behind when it is turned off, and how it is taken away.

OpenLLMetry's `uninstrument` leaves wrappers and handlers in place for some frameworks; spans would go on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, MutableSequence
from typing import cast


def from_module(thing: object, prefix: str) -> bool:
    """The thing, or its class, was defined in a module of that name or below it."""
    names = {getattr(thing, "__module__", None), type(thing).__module__}
    return any(name == prefix or str(name).startswith(f"{prefix}.") for name in names)


def unwrap(prefix: str, targets: Iterable[tuple[str, str]]) -> None:
    """Take the wrappers of a package off functions, each given as its module and its dotted name there."""
    for module, dotted in targets:
        *path, name = dotted.split(".")
        owner: object = sys.modules.get(module)
        for part in path:
            owner = getattr(owner, part, None)
        bound: object = getattr(owner, "__dict__", {}).get(name)
        bare = bound
        while bare is not None and from_module(_wrapper(bare), prefix):
            bare = getattr(bare, "__wrapped__", None)
        if bare is not None and bare is not bound:
            setattr(owner, name, bare)


def take_out(prefix: str, handlers: object) -> None:
    """Take the handlers of a package out of a list."""
    if isinstance(handlers, list):
        kept = cast("MutableSequence[object]", handlers)
        kept[:] = [one for one in kept if not from_module(one, prefix)]


def _wrapper(bound: object) -> object:
    """What wrapt calls in place of the function, under the name that it keeps it by."""
    name = "_self_wrapper"
    return getattr(bound, name, None)
