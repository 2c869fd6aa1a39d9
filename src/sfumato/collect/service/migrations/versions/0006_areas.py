"""Keep the areas that a map's reports can tell apart; cycles closed before have none."""

from __future__ import annotations

from sfumato.collect.service.migrations.steps import column_added

revision = "0006"
down_revision = "0005"
upgrade, downgrade = column_added("estimates", "areas bytes null")
