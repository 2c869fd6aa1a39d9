"""Keep the areas that a map's reports can tell apart."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Cycles closed before have none."""
    op.add_column("estimates", sa.Column("areas", sa.LargeBinary, nullable=True))


def downgrade() -> None:
    """The cells' own shares and intervals stay."""
    op.drop_column("estimates", "areas")
