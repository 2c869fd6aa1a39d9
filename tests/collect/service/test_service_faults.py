"""A collector that is killed loses nothing and counts nothing twice; and these tests can fail.

The full run is a command: ``python tests/faults/kill_under_load.py --kills 50 --database sqlite|postgresql``.
kill -9 cannot show a missing fsync; tests/test_service_store.py asserts the settings on the live connection.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "faults"))
from kill_under_load import close_under_load, databases, run
from postgres_server import programs

pytestmark = [pytest.mark.service, pytest.mark.slow]


def test_a_killed_collector_on_sqlite_loses_nothing_and_counts_nothing_twice() -> None:
    with databases("sqlite") as (url, _):
        verdict = run(url, kills=3, senders=6)
    assert verdict.acknowledged > 50
    assert verdict.resent > 0
    assert verdict.good, verdict


@pytest.mark.postgres
def test_a_killed_collector_and_a_crashed_postgresql_lose_nothing_and_count_nothing_twice() -> None:
    if programs() is None:
        pytest.skip("PostgreSQL's programs (initdb, pg_ctl) are not installed")
    with databases("postgresql") as (url, server):
        verdict = run(url, kills=2, restarts=1, postgres=server, senders=6)
    assert verdict.acknowledged > 50
    assert verdict.good, verdict


def test_cycles_that_close_under_load_turn_nobody_away() -> None:
    with databases("sqlite") as (url, _):
        verdict, answers = close_under_load(url, closes=2, cells=225)
    assert set(answers) == {200}, answers
    assert verdict.acknowledged > 200
    assert verdict.cycles == 3
    assert verdict.good, verdict


def test_a_collector_that_replies_before_it_commits_is_caught() -> None:
    with databases("sqlite") as (url, _):
        verdict = run(url, kills=1, broken="replies_before_commit", closes=False, senders=6)
    assert verdict.lost > 0


def test_a_collector_that_forgets_keys_is_caught() -> None:
    with databases("sqlite") as (url, _):
        verdict = run(url, kills=1, broken="forgets_keys", closes=False, senders=6)
    assert verdict.double > 0
