"""What every test may ask for: the real data beside the project, if it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; the test skips, and says so, where it is absent."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the real data of ../shared/data is not on this machine")
    return folder
