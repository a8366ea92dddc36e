"""What stands behind each score: evidence, issues and recommendations."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "findings",
        sa.Column("score_id", sa.Text(), sa.ForeignKey("scores.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("kind", sa.Text(), primary_key=True),
        sa.Column("position", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("span_id", sa.Text(), nullable=False),
        sa.Column("quote", sa.Text(), nullable=False),
    )
