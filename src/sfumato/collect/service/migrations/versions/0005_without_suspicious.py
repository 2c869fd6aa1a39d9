"""Keep, beside the average, the one without the cycles that raised the alarm."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Cycles closed before have none."""
    op.add_column("estimates", sa.Column("without_suspicious", sa.LargeBinary, nullable=True))


def downgrade() -> None:
    """The averages stay."""
    op.drop_column("estimates", "without_suspicious")
