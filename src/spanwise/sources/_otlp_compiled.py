"""The compiled readers of OTLP's spans, where they were built: they take what is plain and decline the rest.

What they decline, and everything where they are missing, is read by `_otlp_binary`, `_otlp_packed` and `_otlp_typed`,
which give the same for what is plain.
"""

from __future__ import annotations

from spanwise.model.raw import EMPTY, PackedSpan, RawEvent, RawLink, RawSpan
from spanwise.native import core
from spanwise.sources._interned import NAMES

WIRE = (
    None
    if core is None
    else core.Wire(span=RawSpan, event=RawEvent, link=RawLink, packed=PackedSpan, empty=EMPTY, names=NAMES)
)
