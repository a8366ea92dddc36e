"""What alembic runs: the versions, on the connection that it was given."""

from __future__ import annotations

from alembic import context

from spanwise.store.migrations import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=VERSION_TABLE,
    transactional_ddl=True,  # the caller's transaction holds all of it, or nothing
)
with context.begin_transaction():
    context.run_migrations()
