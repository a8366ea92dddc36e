"""A small package of somebody else's, written to a folder as an installer would leave it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

MODULE = '''\
"""Was the refund in order?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spanwise.errors import ModelError
from spanwise.model.score import Score
from spanwise.model.trace import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Refund:
    """1 if at most `limit` tools were called."""

    limit: int = 3
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ModelError(f"refund: read {self.limit}, expected a limit of at least 0")

    def __call__(self, run: Run, /) -> Score:
        return Score(name="refund", value=float(len(run.work) <= self.limit), reason=f"The limit is {self.limit}.")


class Slow:
    """Works in steps."""

    def steps(self, run: Run, /) -> Iterator[Score | None]:
        yield None
        yield Score(name="slow", value=1.0)


class Needs:
    """Cannot be made without a name."""

    def __init__(self, name: str, *, odd: "NoSuchType" = None) -> None:
        if name == "boom":
            raise RuntimeError("no such name")
        self.name = name

    def __call__(self, run: Run) -> Score:
        return Score(name="needs", value=1.0)


def polite(run: Run) -> Score:
    """1 if the answer says please."""
    return Score(name="polite", value=float("please" in (run.answer or "")))


class Mute:
    """Says nothing."""


def three(one, two, three): ...
async def later(run): ...
class Later:
    async def __call__(self, run): ...


READY = Refund(limit=1)
NUMBER = 3
'''

SINKS = '''\
"""Results written into a ledger."""

ENTRIES = []


class LedgerSink:
    """Keeps the names and values of scores."""

    emits = "none"

    def __init__(self, *, book: str = "main") -> None:
        if not book:
            raise ValueError("a ledger needs a book")
        self.book = book
        self.closed = False

    def emit(self, results) -> None:
        for result in results:
            ENTRIES.extend((self.book, score.name, score.value, score.reason) for score in result.scores)

    def close(self) -> None:
        self.closed = True


def ledger(pages: int = 10) -> LedgerSink:
    return LedgerSink(book=f"of {pages} pages")


class Wordy(LedgerSink):
    """Says that it takes content, and a mask."""

    def __init__(self, *, content="all", mask=None, document=None) -> None:
        super().__init__(book=f"{content} {mask is not None} {document is not None}")


class Mute:
    """Has nothing of a sink."""


READY = LedgerSink(book="ready")
NUMBER = 3


def odd():
    return 3
'''


def install_sinks(folder: Path, entry_points: Mapping[str, str]) -> None:
    """Put a package with sinks and its distribution into a folder on the path."""
    (folder / "acme_ledger.py").write_text(SINKS, encoding="utf-8")
    info = folder / "acme_ledger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-ledger\nVersion: 1.0\n", encoding="utf-8")
    lines = "".join(f"{point} = {value}\n" for point, value in entry_points.items())
    (info / "entry_points.txt").write_text(f"[spanwise.sinks]\n{lines}", encoding="utf-8")


def install(
    folder: Path, entry_points: Mapping[str, str], *, name: str = "acme-checks", module: str = "acme_checks"
) -> None:
    """Put the package and its distribution into a folder on the path."""
    (folder / f"{module}.py").write_text(MODULE, encoding="utf-8")
    info = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n", encoding="utf-8")
    lines = "".join(f"{point} = {value}\n" for point, value in entry_points.items())
    (info / "entry_points.txt").write_text(f"[spanwise.evaluators]\n{lines}", encoding="utf-8")
