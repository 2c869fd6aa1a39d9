"""What every test may ask for: the real data beside the project, if it is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from repository import SHARED

from sfumato.tracks.places import leak_test

# CI searches the same examples every time, so that a landing never depends on luck; elsewhere the search goes on.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "search")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One file, one worker: what its fixtures made and its loops compiled is there for the next test of the file."""
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; the test skips, and says so, where it is absent."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the real data of ../shared/data is not on this machine")
    return folder


@pytest.fixture
def roads_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of something else: their few straight rides lead home, which `hide` says by its exit code."""
    monkeypatch.setattr(leak_test, "UNLUCKY", 0.0)
