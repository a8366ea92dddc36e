"""The compiled part, where it was built: the loops that run once for every span or attribute.

It makes Spanwise faster and nothing else: whoever uses it has the same in Python beside it, which runs where `core` is
None, and the tests hold both to the same results. SPANWISE_PURE=1 leaves it out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from typing import Protocol, TypeAlias, TypeVar, cast

S = TypeVar("S")
T = TypeVar("T")
L = TypeVar("L")
C_contra = TypeVar("C_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)
Linked: TypeAlias = tuple[list[T], list[int], list[int], bool, int, int, int, int, int]
"""Spans, roots, runs, whether a parent starts after its child, which watched scopes there are, as bits; how many spans
have parents unseen, have not ended, lost something, are at the limit of attributes."""
Spans: TypeAlias = list[object] | None
Group: TypeAlias = tuple[object, object] | None
"""A scope and a frame; None for one whose spans are skipped."""
Packed: TypeAlias = tuple[list[object], int] | None

Extent: TypeAlias = tuple[int, int]
"""Where a value stands in the text: its first byte, and the one behind its last."""
Texts: TypeAlias = tuple[
    str, str | None, str | None, str | None, str | None, str | None, str | None, str | None, str | None
]
"""Id, parent, name, kind, service, scope and its version, status and its message."""
Places: TypeAlias = tuple[int | Extent, int | Extent | None, bytes | None, Extent | None, Extent | None]
"""Time and duration in nanoseconds or where they stand, the resource, where events and links stand if there are any."""
Row: TypeAlias = tuple[Texts, Places, Mapping[str, object] | None, int | None, str | None]
"""With the attributes, how many log records there are, and the id of the nearest span above with one."""
Nested: TypeAlias = tuple[str, list[Row]] | None


class Linker(Protocol):
    """Puts raw spans in order and links them: the twin of the same loops in assembly/tree.py."""

    def order(self, raws: list[T], /) -> list[T] | None:
        """The spans by start; None where that takes a closer look."""
        ...

    def link(self, ordered: Sequence[object], limit: int, pause: Callable[[], None] | None, /) -> Linked[object]:
        """The spans' places in the tree."""
        ...


class Wire(Protocol):
    """Makes spans of OTLP. Each of these gives None for what it declines, which is then read by its twin.

    What comes out of the callables that they are given comes out of them.
    """

    def span(self, content: bytes, scope: object, /) -> object:
        """The span of an encoded message: the twin of `span_of` in sources/_otlp_binary.py."""
        ...

    def traces(self, message: bytes, scope_of: Callable[[bytes, bytes, bytes, bytes], object], /) -> Spans:
        """The spans of an encoded request; `scope_of` is told the resource, its schema, the scope and its schema."""
        ...

    def pack(self, message: bytes, group_of: Callable[[bytes, bytes, bytes, bytes], Group], /) -> Packed:
        """The spans of an encoded request as bytes each, and how many were skipped: the twin of `Packer.pack`."""
        ...

    def document(self, text: bytes, scope_of: Callable[[bytes, bytes], object], /) -> Spans:
        """The spans of a JSON document; `scope_of` is told the text of the resource and of the scope."""
        ...

    def spans(self, run: bytes, scope: object, /) -> Spans:
        """The spans of a run of JSON objects with commas between them."""
        ...

    def nested(self, text: bytes, read: Callable[[bytes], object], /) -> Nested:
        """The trace id and the spans of a trace of TRAIL: the twin of decoding it in sources/trail.py.

        A long value of an attribute is what `read` gives for its bytes, when it is first asked for.
        """
        ...


class Marks(Protocol):
    """Looks for any of many short texts at once: the twin of `_may_hold` in secret_kinds.py."""

    def among(self, text: str, /) -> bool:
        """Whether one of them, or a row of digits, stands in the text; True, too, where that takes a closer look."""
        ...


class Rows(Protocol):
    """Holds many records of one trace at once: the twin of `_row` in assembly/rows.py."""

    def hold(
        self, records: Sequence[object], at: int, key: object, spans: object, most: tuple[int, int], /
    ) -> tuple[int, int]:
        """How many of the records from there on are in `spans` now, and how many bytes they hold; at most so many."""
        ...


class SpansReader(Protocol):
    """Reads a run's spans. Each of these gives None for what it declines, which then takes its twin."""

    def walk(  # noqa: PLR0917  (what is called for every run)
        self,
        spans: Sequence[T],
        root: int,
        begin: int,
        end: int,
        named: int,
        longer: int | None,
        failed: dict[int, str],
        repeated: dict[int, str],
        pause: Callable[[], None] | None,
        /,
    ) -> tuple[list[tuple[int, int]], dict[int, int], list[tuple[int, int, int, int]] | None] | None:
        """What a run's time went by on: the twin of `_walked` in model/critical_path.py."""
        ...

    def kinds(self, spans: Sequence[T], pause: Callable[[], None] | None, /) -> dict[str, list[T]] | None:
        """The spans by kind: the twin of `_by_kind` in model/trace.py."""
        ...

    def calls(self, members: Sequence[T], spans: Sequence[T], /) -> list[list[T]] | None:
        """The spans of models as calls, where each is one: the twin of `_calls_of` in model/clients.py."""
        ...


class CallsReader(Protocol[C_contra, R_co]):
    """Reads a run's tool calls."""

    def tally(self, calls: Sequence[C_contra], pause: Callable[[], None] | None, /) -> R_co | None:
        """What is asked of all of them: the twin of `_tally` in model/tally.py, and None where that is needed."""
        ...


class FactReader(Protocol):
    """Reads the calls that left plain spans: the twin of the same in assembly/spanned.py, llms.py and calls.py.

    What it is given to call is called for what is not plain, and what that raises comes out.
    """

    def tool_calls(  # noqa: PLR0917  (called for every run)
        self,
        tools: Sequence[S],
        spans: Sequence[S],
        memo: object,
        calls: list[T],
        by_span: dict[int, T],
        slow: Callable[[S], None],
        pause: Callable[[], None] | None,
        /,
    ) -> None:
        """Adds the calls of these of a trace's spans to `calls`, and to `by_span` by their numbers."""
        ...

    def llm_calls(
        self, groups: Sequence[Sequence[S]], slow: Callable[[Sequence[S]], T], pause: Callable[[], None] | None, /
    ) -> list[T]:
        """The calls of these groups of spans."""
        ...

    def all_have_spans(  # noqa: PLR0917  (called for every run)
        self,
        groups: Sequence[Sequence[S]],
        calls: list[T],
        slow: Callable[[S], object],
        whole: Callable[[object], bool],
        pause: Callable[[], None] | None,
        look: Callable[[Sequence[S]], L],
        made: list[L],
        /,
    ) -> bool | None:
        """Whether models asked for exactly these calls, one after the other; None where that takes a closer look.

        Not where one was told of a call that was refused. As far as it gets, the models' own calls are added to `made`.
        """
        ...

    def unsaid(self, calls: list[T], /) -> int:
        """1 if any call lacks its result, 2 more if any was passed what is no JSON object's text; -1: look closer."""
        ...

    def tokens(self, calls: Sequence[object], /) -> tuple[int | None, ...] | None:
        """The sums over calls of models that counted something; None where that takes a closer look."""
        ...


class Core(Protocol):
    """What the compiled module holds."""

    @property
    def Late(self) -> type:  # noqa: N802  (a class of the module)
        """Attributes of which long values are decoded when they are first read, in spans of nested traces."""
        ...

    @property
    def Lazy(self) -> type:  # noqa: N802
        """A property that is computed once: the twin of `lazy` in model/lazy.py."""
        ...

    def Linker(  # noqa: N802
        self,
        *,
        raw: type,
        span: type,
        scope: type,
        by_scope: Mapping[str, tuple[tuple[int, object], ...]],
        watched: Mapping[str, int],
        marks: tuple[tuple[str, int, object, Mapping[str, object] | None], ...],
        roles: Mapping[str, int],
        slow: object,
        unknown: tuple[int, str],
    ) -> Linker:
        """A linker for these types and dialects."""
        ...

    def Reader(  # noqa: N802
        self,
        record: Callable[..., T],
        fields: tuple[tuple[int, tuple[str, ...], object], ...],
        twin: Callable[[Mapping[str, object]], T],
    ) -> Callable[[Mapping[str, object]], T]:
        """What reads a record from attributes, as `twin` does."""
        ...

    def Spans(  # noqa: N802
        self, *, raw: type, span: type, scope: type, roles: Mapping[str, int]
    ) -> SpansReader:
        """A reader of spans of these types; roles tell the kinds that begin a run, 1, and those of model calls, 2."""
        ...

    def Calls(  # noqa: N802
        self, *, call: type[C_contra], tally: Callable[..., T], failed: Collection[str], ok: str, unknown: str
    ) -> CallsReader[C_contra, T]:
        """A reader of calls of this type, which makes tallies of that."""
        ...

    def FactReader(  # noqa: N802
        self,
        *,
        raw: type,
        span: type,
        scope: type,
        tool_call: type,
        llm_call: type,
        llm_fields: type,
        tools: tuple[object, ...],
        models: tuple[object, ...],
        answers: tuple[object, ...],
        refusals: tuple[Collection[str], str, str],
        control: Callable[[str], bool],
        failure: Callable[[object], bool],
        prices: Callable[[str, str | None, int], object],
        decode: Callable[[str], object],
    ) -> FactReader:
        """A reader of the facts of plain spans, which a dialect's entry in each of the tables describes."""
        ...

    def below(self, attributes: Mapping[str, object], prefix: str, /) -> list[str]:
        """The names that begin with the prefix, in their order."""
        ...

    def text_in(self, attributes: Mapping[str, object], /) -> int:
        """How much text attributes hold; -1 where that takes a closer look: `_size` in assembly/sizes.py."""
        ...

    def alike(self, names: list[str], arguments: list[object], /) -> list[int] | None:
        """The places of calls that may ask nearly the same as another, by their names and arguments as recorded.

        None where a name is no plain text.
        """
        ...

    def Recorder(  # noqa: N802
        self,
        raw: type,
        slow: Callable[..., T],
        scope_of: Callable[..., object],
        constants: tuple[object, ...],
        in_places: type | None,
        /,
    ) -> Callable[..., T]:
        """What makes records of what was captured, as `slow` does; contexts of one class are read as tuples."""
        ...

    def Rows(  # noqa: N802
        self, raw: type, packed: type, size_of: Callable[..., int], record: int, value: int, /
    ) -> Rows:
        """What holds records of these types, weighed as `size_of` does."""
        ...

    def Marks(self, exact: tuple[str, ...], folded: tuple[str, ...], digits: int, /) -> Marks:  # noqa: N802
        """Marks as they stand, others in any case, and so many digits with a space or hyphen between two at most."""
        ...

    def Wire(  # noqa: N802
        self, *, span: type, event: type, link: type, packed: type, empty: object, names: Mapping[str, str]
    ) -> Wire:
        """A maker of records of these types."""
        ...


def _load() -> object:
    if os.environ.get("SPANWISE_PURE"):
        return None
    try:
        return import_module("spanwise.native._core")
    except ImportError:  # not built for this platform
        return None


core = cast("Core | None", _load())
"""The compiled module, or None where there is none."""
