"""Getting scores out of the outbox and to Langfuse, on a thread of its own.

One thread delivers, the oldest scores first. What is refused is parted in halves until the culprit stands alone; it is
dropped and counted, the others arrive. While the server fails, the portions become smaller and the pauses longer; what
fails alone goes behind the others, and is given up once the server broke on it `TRIES` times while others arrived.
Refused keys and a wrong host cost nothing: everything is kept, and tried again now and then.

Where several processes share an outbox, the one that holds a lock on the file beside it delivers for all.
"""

from __future__ import annotations

import logging
import math
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from spanwise.sinks._langfuse_api import MAX_BYTES, Answer, Api
from spanwise.sinks._outbox import Held, Outbox

_log = logging.getLogger("spanwise")
TRIES = 10
_QUIET_S = 300.0
_LOOK_S = 5.0
_FORMS = 4
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How delivery takes its time, in seconds.

    Args:
        linger_s: How long scores are gathered before a request that is not full.
        first_retry_s: The pause after a first failure; each further one doubles it.
        longest_retry_s: The longest pause, unless the server asks for a longer one.
        denied_retry_s: The pause after keys were refused, or where there is no Langfuse.
        timeout_s: How long a request may take to connect, and to answer.
    """

    linger_s: float = 1.0
    first_retry_s: float = 1.0
    longest_retry_s: float = 60.0
    denied_retry_s: float = 300.0
    timeout_s: float = 10.0


@dataclass(slots=True, kw_only=True)
class DeliveryCounts:
    """What delivery did. Each refused score is in `dropped`, by the server's reason."""

    retries: int = 0
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    last_failure: str = ""


class Delivery:
    """The thread that delivers what is in the outboxes; it starts when there is something, and after a fork again."""

    def __init__(self, api: Api, outboxes: Sequence[Outbox], *, pace: Pace, lock: Path | None) -> None:
        self.counts = DeliveryCounts()
        self._api = api
        self._outboxes = outboxes
        self._pace = pace
        self._turn = Turn(lock)
        self._state = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._woken = False
        self._urgent = 0
        self._failures = 0
        self._size = 1_000
        self._not_before = 0.0
        self._arrived = 0
        self._tries: dict[str, tuple[int, int]] = {}
        self._told: dict[str, float] = {}
        self._outage = False

    def wake(self) -> None:
        """There is something to deliver."""
        with self._state:
            if self._closed:
                return
            self._woken = True
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="spanwise-langfuse", daemon=True)
                with suppress(RuntimeError):  # at the interpreter's end no thread can start; the next process goes on
                    self._thread.start()
            self._state.notify_all()

    def flush(self, timeout_s: float, waiting: Callable[[], int]) -> bool:
        """Deliver at once; True when nothing waits, False when the time is over or the next try is later than that."""
        deadline = time.monotonic() + timeout_s
        with self._state:
            self._urgent += 1
        self.wake()
        try:
            while waiting():
                now = time.monotonic()
                if now >= deadline or self._not_before > deadline:
                    return False
                with self._state:
                    self._state.wait(min(0.05, deadline - now))
            return True
        finally:
            with self._state:
                self._urgent -= 1

    def stop(self, timeout_s: float) -> bool:
        """End the thread; False where it still waits for an answer, and will end after it."""
        with self._state:
            self._closed = True
            thread = self._thread
            self._state.notify_all()
        if thread is not None and thread.is_alive():
            thread.join(timeout_s)
            return not thread.is_alive()
        return True

    def after_fork(self) -> None:
        """Forget the parent's thread and lock, in the child."""
        self._state = threading.Condition()
        self._thread = None
        self._urgent = 0
        self.counts = DeliveryCounts()
        self._turn.after_fork()
        self._api.forget()

    def _run(self) -> None:
        try:
            while not self._closed:
                try:
                    pause = self._work()
                except sqlite3.Error as error:
                    self._tell("outbox", f"the outbox of scores for Langfuse cannot be used just now ({error})")
                    pause = self._pace.first_retry_s
                except Exception:  # noqa: BLE001  (the last guard of this thread: without it, nothing is delivered)
                    self._tell("broken", "delivery to Langfuse failed unexpectedly; it goes on", error=True)
                    pause = self._pace.longest_retry_s
                self._rest(pause)
        finally:
            self._turn.leave()
            self._api.close()

    def _work(self) -> float | None:
        """Deliver one portion; how long to rest then, None until there is something."""
        now = time.monotonic()
        if now < self._not_before:
            return self._not_before - now
        if not self._turn.take():
            return _LOOK_S if not self._urgent else 0.2
        outbox, portion = self._portion()
        if outbox is None:
            return _LOOK_S if self._turn.shared else None
        if len(portion) < min(self._api.batch, self._size) and not self._urgent:
            self._linger()
            outbox, portion = self._portion()
        if outbox is None or self._closed:
            return 0.0
        return self._deliver(outbox, portion)

    def _portion(self) -> tuple[Outbox | None, Sequence[Held]]:
        for outbox in self._outboxes:
            try:
                found = outbox.first(max(1, min(self._api.batch, self._size)), MAX_BYTES)
            except sqlite3.Error as error:
                self._tell("outbox", f"the outbox of scores for Langfuse cannot be read just now ({error})")
                continue
            if found:
                return outbox, found
        return None, ()

    def _linger(self) -> None:
        """Let a portion grow, unless somebody waits for it."""
        with self._state:
            self._state.wait_for(lambda: self._closed or self._urgent, self._pace.linger_s)

    def _rest(self, seconds: float | None) -> None:
        """Wait; None until woken. A pause after a failure, or that the server asked for, is not cut short."""
        with self._state:
            if time.monotonic() < self._not_before:
                self._state.wait_for(lambda: self._closed, seconds)
            elif seconds != 0:
                self._state.wait_for(lambda: self._closed or self._woken, seconds)
            self._woken = False

    def _deliver(self, outbox: Outbox, portion: Sequence[Held]) -> float:
        """Send a portion, parted where some of it is refused; how long to rest then."""
        work = [list(part) for part in reversed(_parts(portion))]
        forms = 0
        while work and not self._closed:
            part = work.pop()
            answer = self._send(part)
            forms += answer.verdict == "other_form"
            if answer.verdict == "other_form" and forms < _FORMS:
                size = self._api.batch
                work += [part[at : at + size] for at in range(0, len(part), size)][::-1]
            elif answer.verdict == "taken":
                self._taken(outbox, part)
            elif answer.verdict in ("refused", "too_large"):
                self._refused(outbox, part, answer, work)
            else:
                return self._failed(outbox, part, answer)
            if answer.after_s is not None:
                return self._pause(answer.after_s)
        return 0.0

    def _send(self, part: Sequence[Held]) -> Answer:
        if not part[0].body:
            return self._api.delete(part[0].key)
        return self._api.post([one.body for one in part])

    def _taken(self, outbox: Outbox, part: Sequence[Held]) -> None:
        outbox.done(part)
        self._arrived += len(part)
        if self._outage:
            self._outage = False
            _log.info("Langfuse takes scores again")
        self._failures = 0
        self._size = min(max(self._size, 1) * 2, 1_000)
        for one in part:
            self._tries.pop(one.key, None)
        with self._state:
            self._state.notify_all()

    def _refused(self, outbox: Outbox, part: list[Held], answer: Answer, work: list[list[Held]]) -> None:
        """Drop what the server says is bad; where it does not say which, look for it in halves."""
        if answer.parts is not None and answer.verdict == "refused":
            for at, reason in answer.parts.items():
                self._drop(outbox, part[at], reason)
            self._taken(outbox, [one for at, one in enumerate(part) if at not in answer.parts])
        elif len(part) == 1:
            self._drop(outbox, part[0], answer.reason)
        else:
            half = len(part) // 2
            work += [part[half:], part[:half]]

    def _drop(self, outbox: Outbox, one: Held, reason: str) -> None:
        if not outbox.done([one]):
            return  # a newer one took its place, and may be better
        outbox.counts.done -= 1
        self._tries.pop(one.key, None)
        known = reason if reason in self.counts.dropped or len(self.counts.dropped) < 50 else "others"
        self.counts.dropped[known] = self.counts.dropped.get(known, 0) + 1
        self._tell(f"drop {known}", f"Langfuse refused a score, which is dropped and counted: {reason}")

    def _failed(self, outbox: Outbox, part: list[Held], answer: Answer) -> float:
        """Keep everything for later."""
        self.counts.retries += 1
        self.counts.last_failure = answer.reason
        self._failures += 1
        if answer.verdict in ("denied", "lost"):
            self._tell(answer.verdict, _HELP[answer.verdict].format(answer.reason))
            return self._pause(max(answer.after_s or 0.0, self._pace.denied_retry_s), jitter=True)
        if answer.status != 429:  # a plan's limit slows down and is no failure
            text = f"Langfuse takes no scores just now ({answer.reason}); they are kept and sent later"
            self._outage = self._tell("later", text, again_s=_QUIET_S) or self._outage
        if answer.after_s is None and answer.status != 429:
            self._size = max(1, min(self._size, self._api.batch) // 2)
            if len(part) == 1:
                self._set_back(outbox, part[0], answer)
        doubled = self._pace.first_retry_s * 2 ** min(self._failures - 1, 20)
        if answer.after_s is not None:
            return self._pause(answer.after_s)
        return self._pause(min(doubled, self._pace.longest_retry_s), jitter=True)

    def _set_back(self, outbox: Outbox, one: Held, answer: Answer) -> None:
        """Put what failed alone behind the others; give it up if the server always breaks on it, and never on them."""
        tries, arrived = self._tries.get(one.key, (0, -1))
        if arrived != self._arrived and answer.status == 500:
            tries += 1
        if tries >= TRIES:
            self._drop(outbox, one, answer.reason)
            return
        if len(self._tries) >= _REMEMBERED:
            self._tries.clear()
        self._tries[one.key] = (tries, self._arrived)
        outbox.last(one)

    def _pause(self, seconds: float, *, jitter: bool = False) -> float:
        if jitter:
            seconds *= 0.5 + random.random() / 2  # noqa: S311  (it spreads load, it hides nothing)
        self._not_before = time.monotonic() + seconds
        return seconds

    def _tell(self, kind: str, text: str, *, error: bool = False, again_s: float = math.inf) -> bool:
        """Warn, unless that was done already, or not long ago; whether it was done now."""
        now = time.monotonic()
        if now - self._told.get(kind, -math.inf) < again_s:
            return False
        self._told[kind] = now
        _log.warning("%s", text, exc_info=error)
        return True


_HELP = {
    "denied": "Langfuse refused the keys ({}); scores are kept and tried again now and then:"
    " check LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, and that LANGFUSE_BASE_URL names their region",
    "lost": "there is no score API of Langfuse ({}); scores are kept and tried again now and then:"
    " check LANGFUSE_BASE_URL",
}


def _parts(portion: Sequence[Held]) -> list[Sequence[Held]]:
    """The portion as requests: deletions alone, in their order among the scores."""
    found: list[list[Held]] = []
    for one in portion:
        if one.body and found and found[-1][0].body:
            found[-1].append(one)
        else:
            found.append([one])
    return list[Sequence[Held]](found)


class Turn:
    """Which of the processes that share an outbox delivers: the one that holds the lock on a file."""

    def __init__(self, path: Path | None) -> None:
        self.shared = path is not None
        self._path = path
        self._file: int | None = None

    def take(self) -> bool:
        """True while it is this process's turn."""
        if self._path is None or self._file is not None:
            return True
        try:
            import fcntl
        except ModuleNotFoundError:
            return True  # two that deliver do no harm: what is sent twice is stored once
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        except OSError:
            os.close(file)
            return True
        self._file = file
        return True

    def leave(self) -> None:
        """Let others take it."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def after_fork(self) -> None:
        """Let go of the parent's hold on the file, in the child."""
        self.leave()
