"""Pack the pages' JavaScript into the wheel when it was built (``make web``); without it pages draw themselves as SVG.

The bundle contains other people's code (maplibre-gl, Observable Plot), so it is built, never committed.
``SFUMATO_BUNDLE=require`` makes a wheel without it an error, for releases.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUNDLE = Path("src/sfumato/collect/service/static/bundle")
NEEDED = ("participant.js", "dashboard.js", "operate.js", "land.js", "LICENSES.txt")


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Adds the bundle to a wheel; an editable install finds it in the source tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it writes the wheel."""
        if self.target_name != "wheel" or version == "editable":
            return
        bundle = Path(self.root) / BUNDLE
        missing = [name for name in NEEDED if not (bundle / name).is_file()]
        if not missing:
            build_data["force_include"][str(bundle)] = "sfumato/collect/service/static/bundle"
        elif os.environ.get("SFUMATO_BUNDLE") == "require":
            raise RuntimeError(f"The wheel needs the pages' bundle, which lacks {', '.join(missing)}. Run `make web`.")
        else:
            self.app.display_info("The pages' bundle was not built (`make web`): the wheel's pages fall back to SVG.")
