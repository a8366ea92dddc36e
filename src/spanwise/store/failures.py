"""What a store raises; every failure of it is a SinkError."""

from __future__ import annotations

from spanwise.errors import SinkError


class UnusableStoreError(SinkError):
    """The store itself cannot be used as it is: missing, corrupt, read-only, or of a newer version."""


class BusyStoreError(SinkError):
    """Others hold the store for longer than one waits."""
