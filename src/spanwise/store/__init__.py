"""The store that runs and their scores are kept in: an SQLite file, or a Postgres database.

SQLAlchemy is loaded when `Store` is first asked for, and not by importing this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.errors import SinkError
from spanwise.store.sink import StoreSink

if TYPE_CHECKING:
    from spanwise.store.store import Store

__all__ = ["Store", "StoreSink"]


def __getattr__(name: str) -> object:
    """Load the store when it is first used; without its packages, say which line installs them."""
    if name != "Store":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from spanwise.store.store import Store
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"alembic", "sqlalchemy"}:
            raise
        raise SinkError(f"the store needs {error.name}; install it with: pip install 'spanwise[store]'") from None
    return Store
