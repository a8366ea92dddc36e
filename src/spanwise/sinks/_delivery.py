"""Getting what waits out of an outbox and to its server, on a thread of its own.

One thread delivers, the oldest first. What is refused is parted in halves until the culprit stands alone; it is
dropped and counted, the others arrive. While the server fails, the portions become smaller and the pauses longer; what
fails alone goes behind the others, and is given up once the server broke on it `TRIES` times while others arrived.
Refused keys and a wrong host cost nothing: everything is kept, and tried again now and then.

Where several processes share an outbox, the one that holds a lock on the file beside it delivers for all.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from typing import Protocol

from spanwise.sinks._answer import Answer
from spanwise.sinks._outbox import Held, Outbox
from spanwise.sinks._turn import Turn

_log = logging.getLogger("spanwise")
_chance = SystemRandom().random  # an app's seeded numbers are its own
TRIES = 10
_QUIET_S = 300.0
_LOOK_S = 5.0
_FORMS = 4
_REMEMBERED = 10_000


class Remote(Protocol):
    """A server that takes parcels. Its methods do not raise, and are called on one thread."""

    requests: int

    @property
    def batch(self) -> int:
        """How many parcels one request may hold."""
        ...

    @property
    def max_bytes(self) -> int:
        """About how many bytes of them."""
        ...

    def post(self, bodies: Sequence[bytes], /) -> Answer: ...
    def delete(self, key: str, /) -> Answer: ...
    def close(self) -> None: ...
    def forget(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What log lines call all this.

    Args:
        there: The server, such as Langfuse.
        items: What is sent, such as scores.
        denied: What to do where it refuses the keys; `{}` stands for its words.
        lost: What to do where it is not what was meant.
    """

    there: str
    items: str
    denied: str
    lost: str

    def __str__(self) -> str:
        return f"{self.items} for {self.there}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How delivery takes its time, in seconds.

    Args:
        linger_s: How long parcels are gathered before a request that is not full.
        first_retry_s: The pause after a first failure; each further one doubles it.
        longest_retry_s: The longest pause, unless the server asks for a longer one.
        denied_retry_s: The pause after keys were refused, or where the server is another one.
        timeout_s: How long a request may take to connect, and to answer.
    """

    linger_s: float = 1.0
    first_retry_s: float = 1.0
    longest_retry_s: float = 60.0
    denied_retry_s: float = 300.0
    timeout_s: float = 10.0


@dataclass(slots=True, kw_only=True)
class DeliveryCounts:
    """What delivery did. Each refused parcel is in `dropped`, by the server's reason."""

    retries: int = 0
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    last_failure: str = ""


class Delivery:
    """The thread that delivers what is in the outboxes; it starts when there is something, and after a fork again."""

    def __init__(self, api: Remote, outboxes: Sequence[Outbox], *, pace: Pace, lock: Path | None, words: Words) -> None:
        self.counts = DeliveryCounts()
        self._api = api
        self._outboxes = outboxes
        self._pace = pace
        self._words = words
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
                self._thread = threading.Thread(
                    target=self._run, name=f"spanwise-{self._words.there.lower()}", daemon=True
                )
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
                    self._tell(
                        "outbox",
                        f"the outbox of {self._words} cannot be used just now ({error})",
                    )
                    pause = self._pace.first_retry_s
                except Exception:  # noqa: BLE001  (the last guard of this thread: without it, nothing is delivered)
                    self._tell("broken", f"delivery to {self._words.there} failed unexpectedly; it goes on", error=True)
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
                found = outbox.first(max(1, min(self._api.batch, self._size)), self._api.max_bytes)
            except sqlite3.Error as error:
                self._tell(
                    "outbox",
                    f"the outbox of {self._words} cannot be read just now ({error})",
                )
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
                if answer.reason:
                    self._rejected(outbox, answer)
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
            _log.info("%s takes %s again", self._words.there, self._words.items)
        self._failures = 0
        self._size = min(max(self._size, 1) * 2, 1_000)
        for one in part:
            self._tries.pop(one.key, None)
        with self._state:
            self._state.notify_all()

    def _rejected(self, outbox: Outbox, answer: Answer) -> None:
        """Count what was taken and thrown away; the server counts in its own units where it says 0."""
        outbox.counts.done -= answer.rejected
        if answer.rejected:
            self._count(answer.reason, answer.rejected)
        else:
            self._tell("part", f"{self._words.there} threw some away: {answer.reason}", again_s=_QUIET_S)

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
        self._count(reason, 1)

    def _count(self, reason: str, count: int) -> None:
        """Count what was refused, by the server's reason."""
        known = reason if reason in self.counts.dropped or len(self.counts.dropped) < 50 else "others"
        self.counts.dropped[known] = self.counts.dropped.get(known, 0) + count
        number = f"a {self._words.items[:-1]}, which is" if count == 1 else f"{count} {self._words.items}, which are"
        self._tell(f"drop {known}", f"{self._words.there} refused {number} dropped and counted: {reason}")

    def _failed(self, outbox: Outbox, part: list[Held], answer: Answer) -> float:
        """Keep everything for later."""
        self.counts.retries += 1
        self.counts.last_failure = answer.reason
        self._failures += 1
        if answer.verdict in ("denied", "lost"):
            help_text = self._words.denied if answer.verdict == "denied" else self._words.lost
            self._tell(answer.verdict, help_text.format(answer.reason))
            return self._pause(max(answer.after_s or 0.0, self._pace.denied_retry_s), jitter=True)
        if answer.status != 429:  # a plan's limit slows down and is no failure
            words = self._words
            text = f"{words.there} takes no {words.items} just now ({answer.reason}); they are kept and sent later"
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
            seconds *= 0.5 + _chance() / 2
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


def _parts(portion: Sequence[Held]) -> list[Sequence[Held]]:
    """The portion as requests: deletions alone, in their order among the scores."""
    found: list[list[Held]] = []
    for one in portion:
        if one.body and found and found[-1][0].body:
            found[-1].append(one)
        else:
            found.append([one])
    return list[Sequence[Held]](found)
