"""Compiles src/spanwise/native/*.c with the machine's C compiler, where there is one.

The compiled part only makes Spanwise faster: without a compiler, on another Python than CPython, on Windows, or with
SPANWISE_PURE=1, the package is built without it and does the same.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FOLDER = Path(__file__).parent / "src" / "spanwise" / "native"
_FLAGS = (
    *("-O2", "-fPIC", "-fno-strict-aliasing", "-fwrapv", "-fvisibility=hidden", "-DNDEBUG", "-Wall", "-Wextra"),
    "-ffp-contract=off",  # sums of fractions come out as Python's do
)
_LINK = {"darwin": ("-bundle", "-undefined", "dynamic_lookup")}


class NativeHook(BuildHookInterface):
    """Adds the compiled module to a wheel, or puts it beside its sources for an editable installation."""

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        """Compile, and say that the wheel is one of this platform."""
        target = _compiled()
        if target is None:
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        artifacts = build_data["artifacts"]
        assert isinstance(artifacts, list)
        artifacts.append(str(target.relative_to(self.root)))


def _compiled() -> Path | None:
    """The compiled module, made anew where its sources are newer; None where it cannot be made."""
    why = _unfit()
    if why is not None:
        return _without(why)
    target = _FOLDER / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    sources = sorted(_FOLDER.glob("*.c"))
    newest = max(file.stat().st_mtime for file in (*sources, *_FOLDER.glob("*.h"), Path(__file__)))
    if target.is_file() and target.stat().st_mtime > newest:
        return target
    made = target.with_suffix(f".{os.getpid()}.tmp")
    command = [
        *shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"),
        *_FLAGS,
        *_LINK.get(sys.platform, ("-shared",)),
        f"-I{sysconfig.get_paths()['include']}",
        *map(str, sources),
        "-o",
        str(made),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return _without(str(error))
    if done.returncode != 0:
        made.unlink(missing_ok=True)
        target.unlink(missing_ok=True)  # made of older sources, it would pass for what these say
        return _without(done.stderr.strip() or f"the compiler ended with {done.returncode}")
    made.replace(target)
    return target


def _unfit() -> str | None:
    if os.environ.get("SPANWISE_PURE"):
        return "SPANWISE_PURE is set"
    if sys.implementation.name != "cpython" or sys.platform == "win32":
        return f"not for {sys.implementation.name} on {sys.platform}"
    return "this Python has no global lock" if sysconfig.get_config_var("Py_GIL_DISABLED") else None


def _without(why: str) -> None:
    print(f"spanwise: built without its compiled part, which only makes it faster: {why}", file=sys.stderr)
