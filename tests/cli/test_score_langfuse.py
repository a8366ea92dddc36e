"""`spanwise score langfuse://`, against a stand-in of Langfuse."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.command import Done, spanwise
from tests.sinks.langfuse_server import PUBLIC, SECRET, Fault, LangfuseServer, serving
from tests.sources.langfuse_project import Project

CHOSEN = {"tool_selection", "redundancy", "latency", "overall"}
ALERTS = {"efficiency", "loops"}


@pytest.fixture
def server(require: Callable[[str], str]) -> Iterator[LangfuseServer]:
    """A server with thirty traces."""
    require("langfuse")
    require("httpx")
    with serving() as running:
        running.reads = Project(30)
        yield running


@pytest.fixture
def score(server: LangfuseServer, tmp_path: Path) -> Callable[..., Done]:
    """The verb, with the variables that name the server."""

    def run(*arguments: str, **more: str) -> Done:
        variables = {
            "LANGFUSE_PUBLIC_KEY": PUBLIC,
            "LANGFUSE_SECRET_KEY": SECRET,
            "LANGFUSE_BASE_URL": server.host,
            "XDG_STATE_HOME": str(tmp_path),
        }
        return spanwise("score", *arguments, cwd=tmp_path, **{**variables, **more})

    return run


def test_old_traces_are_scored(score: Callable[..., Done], server: LangfuseServer) -> None:
    """The traces of a project are scored where they are; nothing is written there unless asked."""
    done = score("langfuse://", "--format", "json")
    runs = [json.loads(line) for line in done.out.splitlines()]
    assert (0, "", 30) == (done.code, done.err, len(runs))
    assert {"langfuse://"} == {run["source"] for run in runs}
    assert {2} == {len(run["tool_calls"]) for run in runs}
    assert ({}, {"GET"}) == (server.scores, {method for method, *_ in server.asked})


def test_an_age(score: Callable[..., Done], server: LangfuseServer) -> None:
    """`--since` narrows what is read."""
    done = score("langfuse://?environment=dev", "--since", "52w", "--format", "json")
    assert (0, 15) == (done.code, len(done.out.splitlines()))
    done = score("langfuse://?until=52w", "--since", "53w")
    assert (2, "error: no run was found in what was given\n") == (done.code, done.err)


def test_writing_back(score: Callable[..., Done], server: LangfuseServer) -> None:
    """With `--write-back` the scores arrive on the traces, each once however often it is done, without content."""
    for _ in range(2):
        done = score("langfuse://", "--write-back", LANGFUSE_TRACING_ENVIRONMENT="elsewhere")
        assert 0 == done.code, done.err
        assert "scores written to Langfuse" in done.err
    rows = list(server.scores.values())
    assert {f"{number:032x}" for number in range(1, 31)} == {row["traceId"] for row in rows}
    names = {row["name"].removesuffix(".status") for row in rows}
    assert CHOSEN <= names <= CHOSEN | ALERTS | {"grounding"}
    assert ({"dev", "prod"}, False) == (
        {row["environment"] for row in rows},
        any("comment" in row or "K2" in json.dumps(row) for row in rows),
    )


def test_writing_back_what_was_exported(score: Callable[..., Done], server: LangfuseServer, tmp_path: Path) -> None:
    """Scores of a file that was exported from Langfuse can be written back as well."""
    (tmp_path / "export.json").write_text(json.dumps({"data": Project(2).rows}))
    done = score("export.json", "--write-back")
    assert (0, 2) == (done.code, len({row["traceId"] for row in server.scores.values()})), done.err


def test_what_could_not_be_written(score: Callable[..., Done], server: LangfuseServer) -> None:
    """Scores that Langfuse does not take just now are kept, told with exit code 3, and written the next time."""
    server.fail = lambda bodies: Fault(401) if bodies else None
    done = score("langfuse://", "--write-back")
    assert 3 == done.code
    assert "check LANGFUSE_PUBLIC_KEY" in done.err
    assert "sent by the next --write-back" in done.err
    assert SECRET not in done.err
    server.fail = lambda bodies: None
    assert 0 == score("langfuse://?since=1s", "--write-back").code & 1
    assert 30 == len({row["traceId"] for row in server.scores.values()})


@pytest.mark.parametrize(
    ("arguments", "variables", "said"),
    [
        (["langfuse://", "--since", "soon"], {}, "expected an age such as 12h"),
        (["langfuse://?since=1d", "--since", "7d"], {}, "both name an age"),
        (["x.json", "--since", "7d"], {}, "give langfuse:// as a path"),
        (["langfuse://"], {"LANGFUSE_SECRET_KEY": ""}, "needs LANGFUSE_SECRET_KEY"),
        (["langfuse://", "--write-back"], {"LANGFUSE_PUBLIC_KEY": ""}, "need LANGFUSE_PUBLIC_KEY"),
        (["langfuse://a", "langfuse://b", "--write-back"], {}, "is for one project"),
    ],
)
def test_what_cannot_be_done(
    arguments: list[str], variables: dict[str, str], said: str, score: Callable[..., Done]
) -> None:
    """What is missing or wrong is told in one line, with exit code 2."""
    done = score(*arguments, **variables)
    assert 2 == done.code
    assert said in done.err
