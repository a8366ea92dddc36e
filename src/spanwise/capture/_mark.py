"""How a helper process is told from an app. It is loaded with every app that has zero-code scoring, so it is small."""

from __future__ import annotations

import os

MARK = "SPANWISE_ISOLATED"
"""Set in the environment of a helper process, so that what it imports starts no further one."""


def is_isolated() -> bool:
    """Whether this is a helper process, which holds evaluators for an app."""
    return os.environ.get(MARK) == "1"
