"""Seven people, each from a bare virtual environment, doing their whole job with real commands and a real browser."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from walking import wheel_from_sdist


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that pip would give them: built from the sdist, once."""
    base = tmp_path_factory.getbasetemp()
    return wheel_from_sdist((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "release")
