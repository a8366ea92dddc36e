"""What a store raises; every failure of it is a SinkError."""

from __future__ import annotations

from spanwise.errors import SinkError


class UnusableStoreError(SinkError):
    """The store itself cannot be used as it is: missing, corrupt, read-only, or of a newer version."""


class MovedStoreError(UnusableStoreError):
    """The file that was opened is no longer at its place: it was deleted, moved, or another one put there."""


class BusyStoreError(SinkError):
    """Others hold the store for longer than one waits."""


class RefusedResultsError(SinkError):
    """Some results could not be told as rows; the others of the same call were written."""

    def __init__(self, message: str, *, count: int) -> None:
        super().__init__(message)
        self.count = count
