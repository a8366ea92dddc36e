"""The pinned versions: each by hash, and in step with what pyproject.toml asks for."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

LOCKS = ("base-test.txt", "dev.txt", "frameworks.txt", "lowest.txt", "peers.txt", "uv.txt")
PIN = re.compile(r"(?P<name>[a-z0-9][a-z0-9._-]*)==(?P<version>\S+)(?: ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")
# The name of a package, a file of this folder, or nothing after the word.
ORIGIN = re.compile(
    r"    #(?: via)?(?: +(?:-r requirements/\w+\.in|spanwise \(pyproject\.toml\)|[a-z0-9][a-z0-9._-]*))?"
)


def name_of(requirement: str) -> str:
    """The package that a requirement line asks for."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None, requirement
    return match.group().lower()


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    """The [project] table of pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_is_a_pin_a_hash_or_its_origin(root: Path, lock: str) -> None:
    """A lock holds pins, hashes and package names, and so no host and no path."""
    lines = (root / "requirements" / lock).read_text(encoding="utf-8").splitlines()
    strange = [line for line in lines if not (PIN.fullmatch(line) or HASH.fullmatch(line) or ORIGIN.fullmatch(line))]
    assert [] == strange


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_a_hash(root: Path, lock: str) -> None:
    """No pin of a lock stands without a hash behind it."""
    lines = (root / "requirements" / lock).read_text(encoding="utf-8").splitlines()
    bare = [
        line
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
        if PIN.fullmatch(line) and not HASH.fullmatch(following)
    ]
    assert [] == bare
    assert any(PIN.fullmatch(line) for line in lines)


def test_all_locks_are_checked(root: Path) -> None:
    """Every lock in the folder is one of those checked here."""
    assert sorted(LOCKS) == sorted(path.name for path in (root / "requirements").glob("*.txt"))


def test_dependencies_are_in_the_development_lock(root: Path, project: dict[str, Any]) -> None:
    """What pyproject.toml asks for, extras included, is pinned for development."""
    pinned = {match["name"] for match in PIN.finditer((root / "requirements" / "dev.txt").read_text(encoding="utf-8"))}
    asked = {
        name_of(line)
        for lines in (project["dependencies"], *project["optional-dependencies"].values())
        for line in lines
    }
    assert set() == asked - pinned - {"spanwise"}


def test_ranges_stay_open(project: dict[str, Any]) -> None:
    """Every dependency has a lower bound and none an upper one."""
    asked = [line for lines in (project["dependencies"], *project["optional-dependencies"].values()) for line in lines]
    closed = [
        line for line in asked if not re.fullmatch(r"[a-z0-9-]+(?:\[[a-z,-]+\])?>=[0-9.]+|spanwise\[[a-z,-]+\]", line)
    ]
    assert [] == closed


def test_lowest_lock_has_the_lower_bounds(root: Path, project: dict[str, Any]) -> None:
    """The lock of the lowest versions pins each lower bound exactly, so that it is the bound that is tested."""
    text = (root / "requirements" / "lowest.txt").read_text(encoding="utf-8")
    pinned = {match["name"]: match["version"] for match in PIN.finditer(text)}
    asked = (*project["dependencies"], *project["optional-dependencies"]["cli"])
    bounds = {name_of(line): line.split(">=")[1] for line in asked}
    differ = {
        name: (bound, pinned.get(name)) for name, bound in bounds.items() if not same(bound, pinned.get(name, ""))
    }
    assert {} == differ


def same(bound: str, version: str) -> bool:
    """True when two versions differ only in trailing zeros."""
    return bound == version or re.fullmatch(rf"{re.escape(bound)}(?:\.0)+", version) is not None


def test_all_extra_takes_all(project: dict[str, Any]) -> None:
    """The extra `all` brings every other extra."""
    extras = project["optional-dependencies"]
    expected = f"spanwise[{','.join(sorted(set(extras) - {'all'}))}]"
    assert [expected] == extras["all"]
