"""Keep each cycle's own map beside the average over the pooled cycles."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Cycles closed before have none."""
    op.add_column("estimates", sa.Column("this_cycle", sa.LargeBinary, nullable=True))


def downgrade() -> None:
    """The averages stay."""
    op.drop_column("estimates", "this_cycle")
