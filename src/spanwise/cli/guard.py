"""What surrounds each verb: its exit code, and what becomes of an exception that nobody expected.

    0    fine
    1    a gate failed
    2    unusable input
    3    an infrastructure or internal error
    130  interrupted

Of several the gravest counts: 3 before 2 before 1.
"""

from __future__ import annotations

import logging
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec

import typer

from spanwise.errors import SinkError, SourceError, SpecError
from spanwise.report.escapes import visible

FINE, GATE_FAILED, UNUSABLE, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130
P = ParamSpec("P")


def complain(text: str) -> None:
    """Say something on standard error, one line for each line of the text."""
    try:
        for part in text.split("\n"):
            sys.stderr.write(f"{visible(part)}\n")
        sys.stderr.flush()
    except OSError:  # nobody reads it any more, or there is no room for it
        silence(sys.stderr.fileno())


def silence(descriptor: int) -> None:
    """Send what is still written to a stream that nobody reads any more to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def guarded(verb: Callable[P, int], /) -> Callable[P, None]:
    """The verb as a command that leaves with its exit code, whatever happens in it."""

    @wraps(verb)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        handler = _EvaluatorFailures()
        logger = logging.getLogger("spanwise")
        logger.addHandler(handler)
        try:
            code = verb(*args, **kwargs)
        except (SpecError, SourceError) as error:
            complain("\n".join(f"error: {part}" for part in str(error).split("\n")))
            code = UNUSABLE
        except KeyboardInterrupt:
            code = INTERRUPTED
        except BrokenPipeError:
            silence(sys.stdout.fileno())
            code = FINE
        except SinkError as error:
            complain(f"error: {error}")
            code = INTERNAL
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as error:  # noqa: BLE001  (the last line of defence: a bug is told, not thrown)
            code = tell_bug(error)
        finally:
            logger.removeHandler(handler)
        raise typer.Exit(code)

    return run


def tell_bug(error: BaseException) -> int:
    """Write a log of an unexpected exception, say where it is, and give the exit code."""
    complain(f"spanwise: a bug of Spanwise ({type(error).__name__}); please report it with the log {write_log(error)}")
    return INTERNAL


def write_log(error: BaseException) -> str:
    """The path of a new file that says where an exception came from, without its message, which may quote a trace."""
    from importlib.metadata import version

    lines = [
        f"spanwise {version('spanwise')}, Python {platform.python_version()}, {platform.platform()}",
        f"verb: {sys.argv[1] if len(sys.argv) > 1 and sys.argv[1].isalpha() else ''}",
    ]
    chain: BaseException | None = error
    while chain is not None:
        lines.append(f"{type(chain).__module__}.{type(chain).__qualname__}")
        lines += [
            f"  {_short(frame.filename)}:{frame.lineno} {frame.name}: {frame.line}"
            for frame in traceback.extract_tb(chain.__traceback__)
        ]
        chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)
    descriptor, path = tempfile.mkstemp(prefix="spanwise-", suffix=".log")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write("\n".join(lines) + "\n")
    return path


def _short(filename: str) -> str:
    """A path without what lies before the packages: a log is pasted, and the rest is the user's own."""
    for mark in ("site-packages/", "/src/", "lib/"):
        _, found, tail = filename.rpartition(mark)
        if found:
            return tail
    return Path(filename).name


class _EvaluatorFailures(logging.Handler):
    """Tells of evaluators that broke, each once, with a log; their scores say `error` in the result."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the log of a warning that carries an exception."""
        if record.levelno < logging.WARNING:
            return
        error = record.exc_info[1] if record.exc_info else None
        where = f" (log: {write_log(error)})" if error is not None else ""
        complain(f"warning: {record.getMessage()}{where}")
