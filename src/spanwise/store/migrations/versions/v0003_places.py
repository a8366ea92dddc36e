"""Where in the recorded text a quote stands."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns; what was kept before has no places."""
    op.add_column("findings", sa.Column("quote_start", sa.Integer(), nullable=True))
    op.add_column("findings", sa.Column("quote_end", sa.Integer(), nullable=True))
