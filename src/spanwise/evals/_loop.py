"""The event loop on which asynchronous evaluators run: one, on a thread of its own, as long as the process lives.

What they cache, such as connections of HTTP clients, belongs to the loop that it was made on, and is of no use on
another. So the loop is not made anew for each run.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 60.0
_lock = threading.Lock()
_held: list[tuple[int, asyncio.AbstractEventLoop]] = []


def waited(waiting: Coroutine[object, object, T], timeout_s: float = PATIENCE_S) -> T:
    """What a coroutine gives, run in the context of this call; not to be called on a thread with a running loop.

    Raises:
        TimeoutError: It took longer, and was cancelled.
    """
    found = asyncio.run_coroutine_threadsafe(waiting, _loop())
    try:
        return found.result(timeout_s)
    except TimeoutError:
        if found.done():  # it is the coroutine's own
            raise
        found.cancel()
        raise TimeoutError(f"no verdict within {timeout_s:g} s") from None


def _loop() -> asyncio.AbstractEventLoop:
    with _lock:
        if not _held or _held[0][0] != os.getpid():  # threads do not survive a fork
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="spanwise-evaluators", daemon=True).start()
            _held[:] = [(os.getpid(), loop)]
        return _held[0][1]
