"""Keep each cycle's own map beside the average over the pooled cycles; cycles closed before have none."""

from __future__ import annotations

from sfumato.collect.service.migrations.steps import column_added

revision = "0004"
down_revision = "0003"
upgrade, downgrade = column_added("estimates", "this_cycle bytes null")
