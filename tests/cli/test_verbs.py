"""The table of verbs, and what is loaded for which."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from spanwise.cli.main import app
from spanwise.cli.verbs import VERBS
from tests.cli.command import Done, environment

# What no list of verbs needs: vendors of doors, sinks and stores, what draws tables, and the layers below the verbs.
# pydantic is not here: typer reads arguments by it.
HEAVY = (
    "alembic",
    "asyncio",
    "google.protobuf",
    "grpc",
    "httpx",
    "logfire",
    "msgspec",
    "opentelemetry",
    "psycopg",
    "pydantic_ai",
    "pydantic_evals",
    "re2",
    "rich",
    "spanwise.catalog",
    "spanwise.config",
    "spanwise.model",
    "spanwise.store",
    "sqlalchemy",
    "uvicorn",
    "yaml",
)
FOREIGN = {*HEAVY} - {"msgspec", "spanwise.catalog", "spanwise.config", "spanwise.model"}
TOLD = """
import sys
from spanwise.__main__ import main
code = main()
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""


def run(code: str, *arguments: str | Path) -> Done:
    """What the code leaves behind in an interpreter of its own, with these arguments on the command line."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environment(),
    )
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


def loaded(*arguments: str | Path) -> set[str]:
    """The modules that the command has loaded at its end."""
    return set(run(TOLD, *arguments).err.splitlines()[-1].split())


def verbs_of(modules: set[str]) -> set[str]:
    """Those of the modules that verbs of the table are in."""
    return modules & {verb.path.partition(":")[0] for verb in VERBS}


@pytest.mark.parametrize("arguments", ["--help", "--version", "", "scor", "store --help"])
def test_a_list_of_verbs_loads_none(arguments: str) -> None:
    """What lists the verbs, or runs none, loads no verb and nothing that is slow to load."""
    modules = loaded(*arguments.split())
    assert "spanwise.cli.verbs" in modules
    assert (set(), set()) == (verbs_of(modules), modules & {*HEAVY})


@pytest.mark.parametrize("verb", ["inspect", "score"])
def test_a_verb_loads_what_it_is_asked_for(verb: str, recordings: Path) -> None:
    """A verb loads no other, no vendor of a sink or store, and where it prints JSON nothing that draws tables."""
    path = recordings / "pydantic-ai__builtin.json"
    assert 0 == run(TOLD, verb, path, "--format", "json").code
    modules = loaded(verb, path, "--format", "json")
    assert ({f"spanwise.cli.{verb}"}, set()) == (verbs_of(modules), modules & FOREIGN)


def test_inspect_loads_no_evaluator(recordings: Path) -> None:
    """To show runs, nothing is loaded that scores them."""
    modules = loaded("inspect", recordings / "pydantic-ai__builtin.json")
    assert set() == modules & {"spanwise.catalog", "spanwise.config", "spanwise.judges", "spanwise.grounding"}


def test_help_and_list_say_the_same_verbs() -> None:
    """Each entry of the table is loaded as a command of its name, with its examples."""
    made = {verb.name: verb.load() for verb in VERBS}
    assert [name.split()[-1] for name in made] == [command.name for command in made.values()]
    assert all(
        f"  {example}" in (made[verb.name].epilog or "") and example.startswith(f"spanwise {verb.name}")
        for verb in VERBS
        for example, _ in verb.examples
    )


def test_every_verb_is_in_the_command() -> None:
    """The command has the verbs of the table, those with a group's name in the group, in the order of the table."""
    top = typer.main.get_command(app).commands
    assert [verb.name for verb in VERBS if " " not in verb.name] == [
        name for name in top if name not in {"store", "judge"}
    ]
    for group in ("store", "judge"):
        expected = [verb.name.split()[-1] for verb in VERBS if verb.name.startswith(f"{group} ")]
        assert expected == list(top[group].commands)


def test_a_verb_without_its_package_says_how_to_add_it() -> None:
    """Where a package of the command line is missing that only some verbs need, these name it and the pip line."""
    without = "import sys; sys.modules['rich'] = None; from spanwise.__main__ import main; sys.exit(main())"
    done = run(without, "doctor")
    assert (2, "") == (done.code, done.out)
    assert done.err.startswith("spanwise: the command line needs rich")
    assert done.err.endswith("install it with: pip install 'spanwise[cli]'\n")
    assert 0 == run(without, "--version").code
