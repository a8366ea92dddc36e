"""How the scripts that record frameworks write what the SDK hands them."""

from __future__ import annotations

from enum import Enum

from scripts.record import otlp_file


class Kind(str, Enum):  # noqa: UP042  (of a StrEnum `str` gives the text)
    """Attributes as Monocle and others name them and what they hold: `str` gives a member's name, not its text."""

    TOOL = "span.type"


def test_members_of_enumerations() -> None:
    """What goes over the wire of a member of a textual enumeration is its value, in a key and in a value."""
    assert [{"key": "span.type", "value": {"stringValue": "span.type"}}] == otlp_file.attributes({Kind.TOOL: Kind.TOOL})
