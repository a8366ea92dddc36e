"""The helper process: it holds evaluators, is told runs on its standard input, and answers with their scores.

It does not import the app's main module, needs no guard in it, and ends with the app: when its input ends, when its
parent is another, or at once on Linux. What evaluators print goes to standard error; input and output are taken away
from them.
"""

from __future__ import annotations

import io
import logging
import os
import pickle
import queue
import select
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import cast

import msgspec
from msgspec import structs

from spanwise import extensions
from spanwise.capture._frames import LENGTH, Job, Reply, Sent, Setup, encode, run_of
from spanwise.errors import SpanwiseError
from spanwise.model.ports import AnyEvaluator
from spanwise.model.score import Score
from spanwise.run import evaluate

_PR_SET_PDEATHSIG = 1
_WATCH_S = 1.0
_REPLY = msgspec.msgpack.Decoder(Reply)


def main(parent: int) -> None:
    """Answer until the input ends."""
    _end_with(parent)
    given, out = _own_pipes()
    frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(given, parent, frames.put), name="spanwise-input", daemon=True).start()
    _be_humble()
    setup = msgspec.msgpack.decode(frames.get(), type=Setup)
    evaluators = {sent.name: _loaded(sent) for sent in setup.evaluators}
    _limit_memory(setup.memory_bytes)
    _write(out, Reply("ready"))
    decoder = msgspec.msgpack.Decoder(Job)
    while True:
        _answer(decoder.decode(frames.get()), evaluators, setup, lambda reply: _write(out, reply))


def _answer(
    job: Job, evaluators: Mapping[str, AnyEvaluator | str], setup: Setup, write: Callable[[Reply], None]
) -> None:
    run = run_of(job)
    write(Reply("built"))
    for name in job.names:
        held = evaluators[name]
        if isinstance(held, str):
            reason = held
        else:
            try:
                result = evaluate(run, {name: held}, revision=job.revision, thresholds=setup.thresholds)
                reply = Reply("scores", name, [_exact(score) for score in result.scores])
                _REPLY.decode(encode(reply)[LENGTH.size :])
                write(reply)
                continue
            except BaseException as error:  # noqa: BLE001  (sys.exit in an evaluator ends the evaluator, not the rest)
                reason = f"{type(error).__name__}: {error}"
        failed = Score(name=name, status="error", reason=reason, evaluator=name, revision=job.revision)
        write(Reply("scores", name, [failed]))


def _exact(score: Score) -> Score:
    """The score with a plain number for whatever number an evaluator has computed."""
    return (
        score if score.value is None or type(score.value) is float else structs.replace(score, value=float(score.value))
    )


def _loaded(sent: Sent) -> AnyEvaluator | str:
    """The evaluator; why there is none, if it cannot be made here."""
    try:
        if sent.path:
            found = extensions.load(sent.path)
            made = cast("Callable[..., object]", found)(**sent.parameters) if isinstance(found, type) else found
        else:
            made = pickle.loads(sent.pickled)  # noqa: S301  (from the app itself, through a pipe of its own)
        problem = extensions.problem_of(made)
    except SpanwiseError as error:
        return str(error)
    except BaseException as error:
        logging.getLogger("spanwise").warning("evaluator %r cannot be loaded", sent.name, exc_info=True)
        return f"it cannot be loaded in the helper process: {type(error).__name__}: {error}"
    return f"it is no evaluator, {problem}" if problem else cast("AnyEvaluator", made)


def _read(given: io.FileIO, parent: int, put: Callable[[bytes], None]) -> None:
    """Take frames from the input; end the process with it, whatever an evaluator is busy with."""
    waiting = bytearray()
    while True:
        ready, _, _ = select.select([given], [], [], _WATCH_S)
        if os.getppid() != parent:
            os._exit(0)
        if not ready:
            continue
        piece = given.read(1 << 16)
        if not piece:
            os._exit(0)
        waiting += piece
        while len(waiting) >= LENGTH.size and len(waiting) >= (end := LENGTH.size + LENGTH.unpack_from(waiting)[0]):
            put(bytes(waiting[LENGTH.size : end]))
            del waiting[:end]


def _write(out: io.FileIO, reply: Reply) -> None:
    left = memoryview(encode(reply))
    while left:
        left = left[out.write(left) or 0 :]


def _own_pipes() -> tuple[io.FileIO, io.FileIO]:
    """The pipes to the app, where no evaluator finds them."""
    given, out = io.FileIO(os.dup(0), "r"), io.FileIO(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return given, out


def _end_with(parent: int) -> None:
    """Have the kernel end this process with the one that started it, where it can."""
    if sys.platform == "linux":
        with suppress(Exception):
            import ctypes

            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def _be_humble() -> None:
    """Give way to the app: in processor time, and when memory runs out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.nice(10)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _limit_memory(more: int | None) -> None:
    """Let evaluators have this much beyond what is in use now; without a limit where the kernel does not tell."""
    if more is None:
        return
    with suppress(OSError, ValueError, ImportError):
        import resource

        lines = Path("/proc/self/status").read_text().splitlines()
        used = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = used + more if hard == resource.RLIM_INFINITY else min(used + more, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
