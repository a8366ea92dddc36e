"""Whether an evaluator can travel to another process, and as what."""

from __future__ import annotations

import importlib.util
import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from spanwise.capture._frames import Sent, encode
from spanwise.errors import ModelError
from spanwise.model.ports import AnyEvaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class ByPath:
    """An evaluator that is imported in the helper process only: `ByPath(path="acme.checks:Refund")`.

    `parameters` are what a class is called with; they travel as plain values.
    """

    path: str
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])


class _Refusing(pickle.Unpickler):
    """Finds out whether something could be unpickled in a process with another main module."""

    def find_class(self, module_name: str, global_name: str, /) -> object:
        if module_name in {"__main__", "__mp_main__"}:
            raise ModelError(f"{global_name!r} is defined in the script that is run")
        return super().find_class(module_name, global_name)


def _refuse(name: str, why: object) -> NoReturn:
    raise ModelError(
        f"Evaluator {name!r} cannot be sent to a helper process: {why}; define it in a module that can be imported,"
        f" or give its path, as in ByPath(path='acme.checks:Refund')."
    )


def sent(name: str, evaluator: AnyEvaluator | ByPath) -> Sent:
    """An evaluator as it travels.

    Raises:
        ModelError: It cannot; the message says why, and what to do.
    """
    if isinstance(evaluator, ByPath):
        module, colon, inside = evaluator.path.partition(":")
        if not colon or not all(part.isidentifier() for part in (*module.split("."), *inside.split("."))):
            _refuse(name, f"read {evaluator.path!r}, expected a path such as 'acme.checks:Refund'")
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            _refuse(name, f"there is no module {module.partition('.')[0]!r}")
        made = Sent(name, path=evaluator.path, parameters=dict(evaluator.parameters))
        try:
            encode(made)
        except Exception as error:  # noqa: BLE001  (whatever a parameter is made of)
            _refuse(name, error)
        return made
    try:
        pickled = pickle.dumps(evaluator)
        _Refusing(io.BytesIO(pickled)).load()
    except Exception as error:  # noqa: BLE001  (anybody's __reduce__ and __setstate__ run here)
        _refuse(name, error)
    return Sent(name, pickled=pickled)
