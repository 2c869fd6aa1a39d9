"""Keep, beside the average, the one without the cycles that raised the alarm; cycles closed before have none."""

from __future__ import annotations

from sfumato.collect.service.migrations.steps import column_added

revision = "0005"
down_revision = "0004"
upgrade, downgrade = column_added("estimates", "without_suspicious bytes null")
