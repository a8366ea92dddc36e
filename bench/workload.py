"""Made-up agent runs of any length, in the mix of spans that recordings show.

A run is a row of steps. Each step is a model call that requests tools, the tools it requested, and the plumbing
around both (HTTP requests, database queries); now and then a tool is an agent of its own, or asks a retriever. One
tool call in eleven fails, and one look-up in seven repeats an earlier one. What happens does not depend on the dialect
that tells it: `bench.dialects` writes the same run in GenAI's words or in OpenInference's.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["agent", "llm", "tool", "retrieval", "http", "db"]
KINDS: tuple[Kind, ...] = ("agent", "llm", "tool", "retrieval", "http", "db")

START_NS = 1_760_000_000_000_000_000
_LAYOUTS = {"search": 5, "lookup": 4, "delegate": 9}
_CYCLE = ("search", "lookup", "lookup", "search", "lookup", "delegate")
_CLOSING = 2
_CITIES = ("Paris", "Lagos", "Quito", "Hanoi", "Oslo", "Lima", "Accra", "Turin", "Kyoto", "Perth", "Dakar", "Basel")


@dataclass(slots=True, kw_only=True)
class Asked:
    """A tool call that the model requested."""

    tool: str
    call_id: str
    arguments: dict[str, object]
    result: str
    failed: bool = False


@dataclass(slots=True, kw_only=True)
class Event:
    """A span to be, before a dialect puts it into attributes."""

    kind: Kind
    index: int
    parent: int
    start_ns: int
    end_ns: int = 0
    agent: str = "planner"
    asked: list[Asked] = field(default_factory=list["Asked"])
    prompt: str = ""
    said: str = ""
    tokens: tuple[int, int, int] = (0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """How many characters of text the spans carry, by what it is."""

    prompt: int = 6000
    answer: int = 500
    result: int = 2400
    documents: int = 600

    def scaled(self, factor: float) -> Texts:
        """The same, longer or shorter."""
        sizes = (self.prompt, self.answer, self.result, self.documents)
        prompt, answer, result, documents = (int(size * factor) for size in sizes)
        return Texts(prompt=prompt, answer=answer, result=result, documents=documents)


@cache
def _pool() -> str:
    rng = random.Random(7)
    letters = "etaoinshrdlucmfwygpbvk"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(2000)]
    out: list[str] = []
    for at in range(40_000):
        out.append(rng.choice(words))
        # What encoders must look at: quotes and line breaks, and now and then a letter that is not ASCII.
        out.append("\n" if at % 17 == 0 else ' "' if at % 53 == 0 else '" ' if at % 53 == 1 else " ")
    return "".join(out)


class Run:
    """One agent run of exactly `count` spans, the same for the same seed."""

    def __init__(self, count: int, *, seed: int, texts: Texts) -> None:
        self.count = count
        self.events: list[Event] = []
        self._rng = random.Random(seed)
        self._texts = texts
        self._now = START_NS + seed * 1_000_000_000
        self._calls = 0
        self._lookups: list[dict[str, object]] = []
        self._build()

    def _build(self) -> None:
        root = self._open("agent", -1)
        root.prompt, root.said = self._text(self._texts.answer), self._text(self._texts.answer)
        step = 0
        while self.count - len(self.events) >= min(_LAYOUTS.values()) + _CLOSING:
            left = self.count - len(self.events) - _CLOSING
            name = _CYCLE[step % len(_CYCLE)]
            step += 1
            if _LAYOUTS[name] <= left:
                getattr(self, f"_{name}")(root)
            elif left < max(_LAYOUTS.values()):
                break
        if self.count - len(self.events) >= _CLOSING:
            self._model(root, [])
        while len(self.events) < self.count:
            self._close(self._open("db", 0))
        self._close(root)

    def _open(self, kind: Kind, parent: int, *, agent: str = "planner") -> Event:
        self._now += self._rng.randint(20_000, 900_000)
        event = Event(kind=kind, index=len(self.events), parent=parent, start_ns=self._now, agent=agent)
        self.events.append(event)
        return event

    def _close(self, event: Event) -> None:
        self._now += self._rng.randint(100_000, 90_000_000)
        event.end_ns = self._now

    def _text(self, size: int) -> str:
        pool = _pool()
        at = self._rng.randrange(len(pool) - 1)
        text = (pool[at:] + pool * (size // len(pool) + 1))[:size]
        return text + " \N{EN DASH} caf\N{LATIN SMALL LETTER E WITH ACUTE}" if size > 100 and at % 10 == 0 else text

    def _model(self, above: Event, asked: list[Asked]) -> None:
        event = self._open("llm", above.index, agent=above.agent)
        event.prompt, event.asked = self._text(self._texts.prompt), asked
        event.said = "" if asked else self._text(self._texts.answer)
        event.tokens = (self._rng.randint(200, 9000), self._rng.randint(5, 600), self._rng.randint(0, 200))
        self._close(self._open("http", event.index))
        self._close(event)

    def _ask(self, tool: str) -> Asked:
        self._calls += 1
        arguments: dict[str, object] = {"query": self._text(24).strip(), "limit": self._rng.randint(1, 50)}
        if tool == "lookup":
            arguments = {"city": self._rng.choice(_CITIES), "key": f"k{self._calls}", "fields": ["name", "size"]}
            if self._lookups and self._calls % 7 == 0:
                arguments = self._rng.choice(self._lookups)
            self._lookups.append(arguments)
        call_id = f"call_{self._rng.getrandbits(96):024x}"
        return Asked(
            tool=tool,
            call_id=call_id,
            arguments=arguments,
            result=self._text(self._texts.result),
            failed=self._calls % 11 == 5,
        )

    def _tool(self, above: Event, asked: Asked) -> Event:
        event = self._open("tool", above.index, agent=above.agent)
        event.asked = [asked]
        return event

    def _lookup(self, above: Event) -> None:
        asked = [self._ask("lookup")]
        self._model(above, asked)
        tool = self._tool(above, asked[0])
        self._close(self._open("db", tool.index))
        self._close(tool)

    def _search(self, above: Event) -> None:
        asked = [self._ask("search_documents"), self._ask("calculate")]
        self._model(above, asked)
        tool = self._tool(above, asked[0])
        found = self._open("retrieval", tool.index, agent=above.agent)
        found.prompt, found.said = str(asked[0].arguments["query"]), self._text(self._texts.documents)
        self._close(found)
        self._close(tool)
        self._close(self._tool(above, asked[1]))

    def _delegate(self, above: Event) -> None:
        asked = [self._ask("delegate_research")]
        self._model(above, asked)
        tool = self._tool(above, asked[0])
        agent = self._open("agent", tool.index, agent="researcher")
        agent.prompt, agent.said = str(asked[0].arguments["query"]), self._text(self._texts.answer)
        inner = [self._ask("fetch_page")]
        self._model(agent, inner)
        fetch = self._tool(agent, inner[0])
        self._close(fetch)
        self._model(agent, [])
        self._close(agent)
        self._close(tool)


def mix(runs: Sequence[Run]) -> str:
    """What the runs are made of, in words."""
    kinds = [event.kind for run in runs for event in run.events]
    shares = {kind: kinds.count(kind) / len(kinds) for kind in KINDS}
    return ", ".join(f"{share:.0%} {kind}" for kind, share in shares.items())
