"""What a terminal would act upon, as escapes."""

from __future__ import annotations

import re

# Controls, surrogates, line separators, soft hyphen, invisible and bidirectional marks, interlinear and tag characters.
# The joiners U+200C and U+200D stay: scripts and emoji need them.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)


def visible(text: str) -> str:
    """The text with every character that a terminal would act upon written as an escape."""
    return UNSAFE.sub(lambda found: _escaped(ord(found.group())), text)


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
