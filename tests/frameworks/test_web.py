"""FastAPI, Starlette and Flask for real: concurrent requests keep their ids apart, and the undo takes them away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.conftest import run_script


@pytest.fixture(scope="module")
def seen(frameworks_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the apps answered, and which ids their runs had."""
    home: Path = tmp_path_factory.mktemp("web")
    return run_script(frameworks_python, "drive_web.py", home=home)


def test_fastapi(seen: dict[str, Any]) -> None:
    """Fifteen requests at once, async, threaded and streamed, have their own ids on all their runs."""
    told = seen["fastapi"]
    kinds = [(number, ("ask", "thread", "stream")[number % 3]) for number in range(15)]
    expected = [[f"{kind} {n}", f"r{n}", f"s{n}"] for n, kind in kinds for _ in range(1 + (kind == "stream"))]
    assert sorted(expected) == told["seen"]
    assert ['"asked"', '"threaded"', "ab"] * 5 == told["answers"]
    assert told["same"] is True


def test_fastapi_after_the_undo(seen: dict[str, Any]) -> None:
    """After the undo runs have no ids; an app that has started already can be wrapped again."""
    told = seen["fastapi"]
    assert [["", ""]] == told["after"]
    assert [["ask 0", "r0", "s0"], ["stream 2", "r2", "s2"], ["stream 2", "r2", "s2"], ["thread 1", "r1", "s1"]] == (
        told["started"]
    )


def test_starlette(seen: dict[str, Any]) -> None:
    """Undone before it started, an app is as it was; a callable may say who a request is from."""
    told = seen["starlette"]
    assert ([["route", "", ""], ["route", "", "/"]], 0, [True, True]) == (told["seen"], told["left"], told["apps"])


def test_flask(seen: dict[str, Any]) -> None:
    """Ten requests in three threads, half of them streamed, have their own ids on all their runs."""
    told = seen["flask"]
    expected = [[f"{('ask', 'stream')[n % 2]} {n}", f"r{n}", f"s{n}"] for n in range(10)]
    assert sorted(expected) == told["seen"]
    assert ["asked" if n % 2 == 0 else f"/stream/{n}b" for n in range(10)] == told["answers"]
    assert told["same"] is True


def test_flask_after_the_undo(seen: dict[str, Any]) -> None:
    """After the undo the app is what it was."""
    assert ([["ask 0", "", ""]], True) == (seen["flask"]["after"], seen["flask"]["restored"])
