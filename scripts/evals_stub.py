"""Writes src/spanwise/evals/classes.pyi: the signatures of the evaluator classes, read from the built-ins.

python scripts/evals_stub.py          write it
python scripts/evals_stub.py --check  exit 1 if it is not what would be written
"""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import re
import subprocess
import sys
import typing
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from spanwise.catalog import EVALUATORS  # noqa: E402  (from this checkout)

STUB = ROOT / "src" / "spanwise" / "evals" / "classes.pyi"
HEAD = '''"""The signatures of the evaluator classes. Written by scripts/evals_stub.py; do not edit."""
'''
_KNOWN = {"tuple", "list", "dict", "str", "int", "float", "bool", "object", "None"}


def _parameter(text: str) -> str:
    """The annotation of a parameter: lists are taken for tuples, as files have them."""
    listed = re.match(r"tuple\[(.+), \.\.\.\](.*)$", text)
    return f"{text[: listed.start(2)]} | list[{listed[1]}]{listed[2]}" if listed else text


def _imports(annotation: str, module: Mapping[str, object], where: str) -> set[tuple[str, str]]:
    """Where the names of an annotation are imported from."""
    found: set[tuple[str, str]] = set()
    for name in re.findall(r"\b[A-Za-z_]\w*\b", re.sub(r"([\"']).*?\1", "", annotation)):
        if name in _KNOWN or hasattr(builtins, name):
            continue
        value = module[name]
        if getattr(typing, name, None) is value and name in typing.__all__:
            found.add(("typing", name))
        elif isinstance(value, type):
            found.add((value.__module__, name))
        elif getattr(value, "__module__", "").startswith("collections"):
            found.add(("collections.abc", name))
        else:
            found.add((where, name))
    return found


def stub() -> str:
    """The text of the stub, formatted."""
    imports = {("collections.abc", "Sequence"), ("pydantic_evals.evaluators", "Evaluator")}
    imports |= {("spanwise.evals.evaluator", "RunEvaluator"), ("spanwise.evals.overall", "Overall as Overall")}
    classes: list[str] = []
    for built_in in EVALUATORS.values():
        assert isinstance(built_in, type)
        module = vars(sys.modules[built_in.__module__])
        annotations: Mapping[str, str] = inspect.get_annotations(built_in)
        for annotation in annotations.values():
            imports |= _imports(annotation, module, built_in.__module__)
        fields = [f"    {name}: {annotation}" for name, annotation in annotations.items()]
        names = [field.name for field in dataclasses.fields(built_in)]
        given = [f"{name}: {_parameter(annotations[name])} = ..." for name in names]
        signature = ", ".join(["self", "*", *given, "evaluation_name: str | None = None"])
        doc = (inspect.getdoc(built_in) or "").replace("\n", "\n    ").replace("\n    \n", "\n\n")
        closing = "\n    " if "\n" in doc else ""
        classes.append(
            "\n".join(
                [
                    f"class {built_in.__name__}(RunEvaluator):",
                    f'    """{doc}{closing}"""',
                    *fields,
                    "    evaluation_name: str | None",
                    f"    def __init__({signature}) -> None: ...",
                ]
            )
        )
    lines = [f"from {module} import {name}" for module, name in sorted(imports)]
    text = "\n".join([HEAD, *lines, "", "ALL: Sequence[type[Evaluator[object, object, object]]]", "", *classes, ""])
    ruff = [sys.executable, "-m", "ruff"]
    for step in (["check", "--quiet", "--fix", "--select", "I,UP"], ["format", "--quiet"]):
        command = [*ruff, *step, "--stdin-filename", str(STUB), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return text


if __name__ == "__main__":
    made = stub()
    if "--check" in sys.argv:
        sys.exit(0 if STUB.is_file() and STUB.read_text(encoding="utf-8") == made else 1)
    STUB.write_text(made, encoding="utf-8")
