"""Which of the documents that were to be found a run retrieved, and where in its lists they stood.

An expected document is named by its id, its title or its address, or told by its text. Ids are compared as they are,
the rest by their words. Whether a document was not retrieved is known only if each one that was could have been
recognised: by a text where the expectation is one of several words, else by an id; a title or an address does for both.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass

from spanwise.model.calls import Retrieval
from spanwise.model.content import Document, state_of
from spanwise.text import excerpt, words

_ADDRESS = frozenset(("http", "https", "www"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What became of the expected documents. Several chunks of one document, by their id, are one."""

    expected: tuple[str, ...]
    ranks: tuple[int, ...]
    """The best rank of each that was found, from 1, over all retrievals."""
    missing: tuple[str, ...]
    retrieved: int
    right: int
    """How many of the retrieved documents were expected."""
    others: tuple[str, ...]
    """Retrieved ones that were not, by id or name."""
    unknown: tuple[str, ...]
    """Missing ones of which it is not known, since some retrieved document tells too little."""
    unread: bool
    """A retrieval does not tell its documents."""

    @property
    def recall(self) -> float:
        """Expected documents that were found / expected ones."""
        return len(self.ranks) / len(self.expected)

    @property
    def precision(self) -> float:
        """Retrieved documents that were expected / retrieved ones; 0 where none was retrieved."""
        return self.right / self.retrieved if self.retrieved else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of recall and precision."""
        recall, precision = self.recall, self.precision
        return 2 * recall * precision / (recall + precision) if recall + precision else 0.0

    @property
    def ndcg(self) -> float:
        """Gains of the found ones, discounted by their ranks, / those of all of them on top of one list; at most 1."""
        got = math.fsum(1 / math.log2(1 + rank) for rank in self.ranks)
        return min(got / math.fsum(1 / math.log2(1 + rank) for rank in range(1, len(self.expected) + 1)), 1.0)

    @property
    def told(self) -> str:
        """What was found, in words and in the usual measures."""
        many = "document was" if len(self.expected) == 1 else "documents were"
        missing = f" Missing: {listed(self.missing)}." if self.missing else ""
        return (
            f"{len(self.ranks)} of {len(self.expected)} expected {many} among the {self.retrieved} retrieved (recall "
            f"{self.recall:.2f}, precision {self.precision:.2f}, F1 {self.f1:.2f}, NDCG {self.ndcg:.2f}).{missing}"
        )

    @property
    def issues(self) -> tuple[str, ...]:
        """A sentence for each missing document, the first ten; how many more there are."""
        there = f" Retrieved instead: {listed(self.others)}." if self.others else ""
        named = [
            f"The expected document {excerpt(one, limit=80)} was not retrieved.{there}" for one in self.missing[:10]
        ]
        more = len(self.missing) - len(named)
        return (*named, f"{more} more of the expected documents were not retrieved.") if more else tuple(named)


def listed(names: Iterable[str]) -> str:
    """The first three names, each once and cut short, and how many more there are."""
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - 3} more" if len(distinct) > 3 else ""
    return ", ".join(excerpt(one, limit=60) for one in distinct[:3]) + more


def found_of(expected: Sequence[str], retrievals: Sequence[Retrieval]) -> Generator[None, None, Found]:
    """What these retrievals found of the expected documents, with a pause after each document that is read."""
    wanted = tuple(dict.fromkeys(one.strip() for one in expected))
    ids = frozenset(wanted)
    by_words: dict[str, list[str]] = {}
    for one in wanted:
        by_words.setdefault(_words(one), []).append(one)
    best: dict[str, int] = {}
    seen: dict[object, bool] = {}
    names: dict[object, str] = {}
    unread = any(one.documents is None for one in retrievals)
    lacking = {"id": unread, "text": unread}
    for retrieval in retrievals:
        places: dict[object, int] = {}
        for document in retrieval.documents or ():
            hits = _hits(document, ids, by_words)
            name = document.id or next(iter(document.names), None)
            key = name or document.content or object()
            rank = places.setdefault(key, len(places) + 1)
            seen[key] = seen.get(key, False) or bool(hits)
            if name:
                names[key] = name
            for one in hits:
                best[one] = min(rank, best.get(one, rank))
            if not hits and not document.names:
                lacking["id"] = lacking["id"] or not document.id
                lacking["text"] = lacking["text"] or state_of(document.content, document.content) != "present"
            yield
    missing = tuple(one for one in wanted if one not in best)
    return Found(
        expected=wanted,
        ranks=tuple(best[one] for one in wanted if one in best),
        missing=missing,
        retrieved=len(seen),
        right=sum(seen.values()),
        others=tuple(name for key, name in names.items() if not seen[key]),
        unknown=tuple(one for one in missing if lacking["text" if len(one.split()) > 1 else "id"]),
        unread=unread,
    )


def _hits(document: Document, ids: Collection[str], by_words: Mapping[str, Sequence[str]]) -> list[str]:
    """The expected documents that this is."""
    hits = [document.id.strip()] if document.id and document.id.strip() in ids else []
    for told in (*document.names, *(() if hits or document.content is None else (document.content,))):
        hits += by_words.get(_words(told), ())
    if document.id and "://" in document.id:
        hits += by_words.get(_words(document.id), ())
    return hits


def _words(text: str) -> str:
    """The words of a title, a text or an address, without what begins an address; the text itself if it has none."""
    found = words(text)
    begun = next((at for at, word in enumerate(found) if word not in _ADDRESS), len(found))
    return " ".join(found[begun:] or found) or text.strip()
