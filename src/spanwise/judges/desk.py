"""Where judges ask: one event loop in a thread of its own, for all judges of a process.

A question goes to as many voters as its ballot needs. For each vote: what was asked before is looked up; what it may
cost is put aside; the request waits for its turn at the model; a failure that passes is tried again after a pause; and
a reply that is no verdict is asked for once more, with a word on what was wrong. Nothing of this leaves a span.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError
from contextvars import Context
from random import SystemRandom
from typing import TypeVar

from spanwise.judges.budget import Ledger, Purse
from spanwise.judges.cache import Cache
from spanwise.judges.chunks import tokens_of
from spanwise.judges.client import Client, PydanticAI, Reply
from spanwise.judges.failures import ReplyError, TruncatedError, UnaskedError, UnjudgedError, UnreachableError
from spanwise.judges.panel import MODEL_VARIABLE, Panel
from spanwise.judges.questions import Question
from spanwise.judges.replies import Verdict, verdict_of
from spanwise.judges.retrying import pause_s
from spanwise.judges.silence import silent
from spanwise.judges.verdicts import Decision

_T = TypeVar("_T")
_FRAME_TOKENS = 300
_chance = SystemRandom().random  # an app's seeded numbers are its own
"""What a provider adds to a question: the schema of the reply, and its own framing."""
NO_MODEL = (
    f"no model is named: set {MODEL_VARIABLE}, or `models` in [tool.spanwise.judge], such as openai:gpt-5-mini,"
    " and the key of its provider, such as OPENAI_API_KEY"
)


class Desk:
    """Asks on behalf of judges, from any thread.

    Args:
        client: Who is asked; pydantic-ai where not given.
        clock: Seconds since the epoch, by which days and prices are told.
        chance: Random numbers in [0, 1), for the pauses between attempts.
    """

    def __init__(
        self,
        *,
        client: Callable[[], Client] = PydanticAI,
        clock: Callable[[], float] = time.time,
        chance: Callable[[], float] = _chance,
    ) -> None:
        self._make = client
        self._clock = clock
        self._chance = chance
        self._starting = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Begin with nothing: at first, and in a forked child, where the thread is not."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._client: Client | None = None
        self._gates: dict[tuple[str, int], asyncio.Semaphore] = {}
        self._caches: dict[tuple[str, int, int], Cache] = {}
        self._ledgers: dict[str, Ledger] = {}
        self.counts: dict[str, int] = {}

    def hear(self, questions: Sequence[Question], panel: Panel, *, fresh: bool = False) -> list[Decision]:
        """One decision for each question.

        Raises:
            UnaskedError: Nobody could be asked.
            UnjudgedError: There is no verdict.
        """
        models = panel.named()
        if not models:
            raise UnaskedError(NO_MODEL)
        return self._do(lambda: self._heard(questions, panel, models, fresh))

    def close(self) -> None:
        """End what is on its way, close all connections and end the thread; a later question starts anew."""
        loop, thread, client = self._loop, self._thread, self._client
        if loop is None or thread is None:
            return
        try:
            asyncio.run_coroutine_threadsafe(_ended(client), loop).result(2.0)
        except Exception:  # noqa: BLE001, S110  (the process ends, or begins anew; there is nobody to tell)
            pass
        loop.call_soon_threadsafe(loop.stop)
        thread.join(2.0)
        self.reset()

    def _do(self, work: Callable[[], Awaitable[_T]]) -> _T:
        loop = self._running()
        # In a context of its own, so that no span of the caller is current in what is done.
        asked = Context().run(asyncio.run_coroutine_threadsafe, _quietly(work), loop)
        try:
            return asked.result()
        except CancelledError as error:
            raise UnreachableError("judging was ended before there was a verdict") from error

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._client = self._make()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="spanwise-judge", daemon=True)
                self._thread.start()
            return self._loop

    async def _heard(
        self,
        questions: Sequence[Question],
        panel: Panel,
        models: Sequence[str],
        fresh: bool,  # noqa: FBT001
    ) -> list[Decision]:
        folder = panel.cache
        ledger = self._ledgers.setdefault(folder, Ledger(folder=folder, clock=self._clock))
        key = (folder, panel.remember, panel.cache_files)
        if key not in self._caches:
            self._caches[key] = Cache(remember=panel.remember, folder=folder, files=panel.cache_files)
        purse = Purse(panel=panel, ledger=ledger, hour=lambda: int(self._clock() // 3600))
        asking = _Asking(self, panel, models, purse, self._caches[key], fresh=fresh)
        return await _all([asking.decide(question) for question in questions])

    async def sent(self, model: str, question: Question, panel: Panel, note: str, reply_tokens: int) -> _Sent:
        """One request, when it is its turn."""
        assert self._client is not None
        gate = self._gates.setdefault((model, panel.concurrency), asyncio.Semaphore(panel.concurrency))
        async with gate:
            self.count("requests")
            return await self._client.request(
                model, question, note=note, reply_tokens=reply_tokens, timeout_s=panel.timeout_s
            )

    def count(self, what: str) -> None:
        """Count what was done, for those who want to know."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def jitter(self) -> float:
        """A random number in [0, 1)."""
        return self._chance()


_Sent = tuple[Reply, UnjudgedError | None]


class _Asking:
    """One judge's questions about one run."""

    def __init__(
        self, desk: Desk, panel: Panel, models: Sequence[str], purse: Purse, cache: Cache, *, fresh: bool
    ) -> None:
        self._desk = desk
        self._panel = panel
        self._models = models
        self._purse = purse
        self._cache = cache
        self._fresh = fresh

    async def decide(self, question: Question) -> Decision:
        """What the voters decide; the others are asked only while they can still change something."""
        ballot = self._panel.ballot(len(self._models) // self._panel.votes)
        votes: list[Verdict] = []
        lost: list[UnjudgedError] = []
        nth: Counter[str] = Counter()
        while more := ballot.more([one.number for one in votes], lost=len(lost)):
            begun = len(votes) + len(lost)
            asked = [(model, self._nth(nth, model)) for model in self._models[begun : begun + more]]
            for found in await _all([self._vote(question, model, number) for model, number in asked]):
                if isinstance(found, Verdict):
                    votes.append(found)
                else:
                    lost.append(found)
        if lost and len(votes) < ballot.of // 2 + 1:
            raise lost[0]
        outcome = ballot.count([one.number for one in votes], lost=len(lost))
        chosen = next((one for one in votes if one.number == outcome.number), votes[0])
        if outcome.number is None and chosen.number is not None:
            chosen = Verdict(number=None, reasons="the voters do not agree")
        return Decision(
            number=outcome.number, verdict=chosen, part=question.part, votes=outcome.text if ballot.of > 1 else ""
        )

    @staticmethod
    def _nth(counted: Counter[str], model: str) -> int:
        counted[model] += 1
        return counted[model] - 1

    async def _vote(self, question: Question, model: str, number: int) -> Verdict | UnjudgedError:
        key = question.key(model, number)
        held = None if self._fresh else self._cache.get(key)
        if held is not None:
            try:
                self._desk.count("remembered")
                return verdict_of(held, question)
            except ReplyError:  # a file that somebody changed
                pass
        try:
            async with asyncio.timeout(self._panel.deadline_s):
                text, verdict = await self._answered(question, model)
        except TimeoutError:
            return UnreachableError(f"{model} gave no verdict within {self._panel.deadline_s:g} s")
        except UnjudgedError as error:
            return error
        if not self._fresh:
            self._cache.put(key, text)
        return verdict

    async def _answered(self, question: Question, model: str) -> tuple[str, Verdict]:
        """A verdict. A reply that is none is asked for a second time: it may be a slip, or need more room."""
        note, room = "", self._panel.reply_tokens
        for last in (False, True):
            reply, wrong = await self._insisted(question, model, note, room)
            try:
                if wrong is not None:
                    raise wrong
                return reply.text, verdict_of(reply.text, question)
            except TruncatedError:
                if last:
                    raise
                room *= 2
            except ReplyError as error:
                if last:
                    raise
                note = f"Your last reply could not be used: {error}. Reply with the object that was asked for alone."
        raise AssertionError("the second reply is returned or raised")

    async def _insisted(self, question: Question, model: str, note: str, room: int) -> _Sent:
        """A reply, after as many attempts as are allowed."""
        until = asyncio.get_running_loop().time() + self._panel.deadline_s
        size = tokens_of(question.instructions) + tokens_of(question.material) + _FRAME_TOKENS
        attempt = 0
        while True:
            held = self._purse.hold(model, size, room)
            used = (0, 0)
            try:
                sent = await self._desk.sent(model, question, self._panel, note, room)
                used = (sent[0].sent, sent[0].got)
                return sent
            except UnreachableError as error:
                pause = pause_s(attempt, after_s=error.after_s, chance=self._desk.jitter())
                if not error.again or attempt >= self._panel.retries:
                    raise
                if asyncio.get_running_loop().time() + pause > until:
                    raise UnreachableError(
                        f"{error}; the next attempt would be in {pause:.0f} s, past the deadline"
                    ) from error
            finally:
                self._purse.settle(held, model, *used)
            attempt += 1
            self._desk.count("retries")
            await asyncio.sleep(pause)


async def _all(work: Sequence[Awaitable[_T]]) -> list[_T]:
    """All results; when one fails the others are ended, and its error is raised."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _ended(client: Client | None) -> None:
    """Give up what is on its way, and close the connections."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    if client is not None:
        await client.close()


async def _quietly(work: Callable[[], Awaitable[_T]]) -> _T:
    with silent():
        return await work()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


_desk = Desk()
atexit.register(_desk.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_desk.reset)


def hear(questions: Sequence[Question], panel: Panel, *, fresh: bool = False) -> list[Decision]:
    """One decision for each question, by the desk of this process.

    Raises:
        UnaskedError: Nobody could be asked.
        UnjudgedError: There is no verdict.
    """
    return _desk.hear(questions, panel, fresh=fresh)


def close() -> None:
    """Close the connections that judges hold; the next question opens new ones."""
    _desk.close()
