"""An extra installs what the package imports, and nothing else."""

from __future__ import annotations

import re
import tomllib

import pytest
from repository import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
SOURCE = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "src").rglob("*.py")))


@pytest.mark.parametrize("requirement", EXTRAS["geo"])
def test_everything_in_geo_is_imported(requirement: str) -> None:
    name = re.match(r"[\w-]+", requirement)[0]  # type: ignore[index]
    assert re.search(rf"(?:^|\s)(?:import|from) {name}\b|import_module\(\"{name}\"\)", SOURCE)
