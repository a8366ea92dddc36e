"""The process that has loaded `spanwise`, and forks one for each request; tests/preloaded.py starts it and asks.

    python -P tests/_preloading.py SOCKET

A request is its length, its JSON, and four descriptors: standard input, output and error, and a socket that is told
the process's id and then its exit code.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import socket
import sys
import threading
import time
from importlib import import_module
from typing import Any

_LENGTH = 4
_DESCRIPTORS = 4
_USED = (
    "genai_prices.data",
    "spanwise.report.scores",
    "spanwise.service.server",
    "spanwise.store.store",
    "alembic.command",
    "uvicorn.protocols.http.h11_impl",
)
"""What the verbs load only once they need it."""


def _load() -> None:
    from spanwise.cli.verbs import VERBS

    for name in ("spanwise.cli.main", *(verb.path.partition(":")[0] for verb in VERBS), *_USED):
        try:
            import_module(name)
        except ImportError:  # of an extra that is not here; whoever asks for the verb is told
            continue
    assert threading.active_count() == 1, "what was loaded began a thread, which no forked process would have"
    gc.freeze()


def _asked(control: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    head, descriptors, _, _ = socket.recv_fds(control, _LENGTH, _DESCRIPTORS)
    if not head:
        return None
    length = int.from_bytes(head, "big")
    with control.makefile("rb", buffering=0) as stream:
        body = b""
        while len(body) < length:
            body += stream.read(length - len(body)) or b""
    return json.loads(body), descriptors


def _is_the_process(tells: int) -> bool:
    """Fork the process; what stays behind tells its id and its exit code, and ends."""
    if os.fork():
        return False
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if not child:
        return True
    with socket.socket(fileno=tells) as to:
        to.sendall(b"%d\n" % child)
        _, status = os.waitpid(child, 0)
        to.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become(asked: dict[str, Any], descriptors: list[int]) -> None:
    for number, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        os.close(descriptor)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    sys.path.insert(0, asked["cwd"])
    sys.argv = ["spanwise", *asked["arguments"]]


def main(control: socket.socket) -> None:
    """Fork a process for each request, until nobody can ask any more."""
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while (found := _asked(control)) is not None:
        asked, descriptors = found
        if _is_the_process(descriptors[3]):
            control.close()
            _become(asked, descriptors)
            runpy.run_module("spanwise", run_name="__main__", alter_sys=True)
            return
        for descriptor in descriptors:
            os.close(descriptor)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
