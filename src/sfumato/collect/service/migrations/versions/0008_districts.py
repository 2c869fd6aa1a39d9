"""Keep the shares of named districts; cycles closed before have none."""

from __future__ import annotations

from sfumato.collect.service.migrations.steps import column_added

revision = "0008"
down_revision = "0007"
upgrade, downgrade = column_added("estimates", "districts text null")
