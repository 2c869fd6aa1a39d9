"""What every test may ask for: the real data beside the project, if it is there."""

from __future__ import annotations

import gc
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from repository import SHARED

from sfumato.tracks.places import leak_test

# CI searches the same examples every time, so that a landing never depends on luck; elsewhere the search goes on.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "search")


LONG = ("slow", "service", "browser", "postgres", "spark")


def group_of(item: pytest.Item) -> str:
    """The tests of one walk or one costly fixture, where they say so; else those of one file."""
    said = item.get_closest_marker("xdist_group")
    return str(said.args[0]) if said else item.nodeid.partition("::")[0]


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in a hook of the same name, which comes before ours
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One file, one worker: what its fixtures made and its loops compiled is there for the next test of the file.

    Files with many long tests first, so that none of them is what one worker does alone at the end.
    """
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(group_of(item)))
    long = Counter(group_of(item) for item in items if any(map(item.get_closest_marker, LONG)))
    items.sort(key=lambda item: -long[group_of(item)])


def pytest_collection_finish() -> None:
    """What thousands of tests were made of stays: no collector of garbage needs to walk through it again."""
    gc.collect()
    gc.freeze()


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
