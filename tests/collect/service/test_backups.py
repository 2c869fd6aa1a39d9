"""Backups of either database, made while it runs, restored into either; and the first edition's database upgraded."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from collector_harness import channel, client, close, create, fill, history, operator, report_body, run, send, ticket
from postgres_server import PostgresServer
from repository import GOLDEN
from sqlalchemy import Connection, MetaData, insert, text

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.collect.service.store.backup import back_up, restore, upgrade
from sfumato.collect.service.store.engine import Database

KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


def a_database(kind: str, name: str, request: pytest.FixtureRequest, folder: Path) -> str:
    if kind == "sqlite":
        return f"sqlite:///{folder}/{name}.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.create_database(f"{name}{folder.name.replace('-', '').replace('_', '')[-30:]}".lower())


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("target", KINDS)
def test_a_backup_made_while_it_runs_is_restored_into_either_database(
    source: str, target: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    old, new = (a_database(kind, name, request, tmp_path) for kind, name in ((source, "old"), (target, "new")))
    backup = tmp_path / "monday.backup"
    with client(old, tick_s=60) as visitor:
        create(visitor)
        create(visitor, "once", reporting="once")
        fill(old, [3, 4, 5] * 20)
        close(visitor)
        counted = report_body(visitor, ticket=ticket(visitor, cycle=2))
        assert send(visitor, counted).status_code == 200
        held = run(back_up(old, backup))
        assert (held.campaigns, held.reports) == (2, 61)
        before = [visitor.get(path).json() for path in _PATHS]
        version = channel(visitor)["version"]
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert not list(tmp_path.glob(".*"))
    assert run(restore(new, backup)) == held
    with client(new, tick_s=60) as visitor:
        assert [visitor.get(path).json() for path in _PATHS] == before
        assert channel(visitor)["version"] == version
        # What was counted before the backup is known, what is new is counted, and cycles close as they did.
        assert send(visitor, counted).json()["duplicate"] is True
        fresh = report_body(visitor, ticket=ticket(visitor, cycle=2))
        assert send(visitor, fresh).json()["duplicate"] is False
        fill(new, [3, 4, 5] * 20, cycle=2)
        close(visitor)
        assert [cycle["reports"] for cycle in history(visitor)] == [60, 62]
        create(visitor, "later")


@pytest.mark.parametrize("kind", KINDS)
def test_restoring_never_writes_over_a_database_in_use(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    database = a_database(kind, "used", request, tmp_path)
    with client(database, tick_s=60) as visitor:
        create(visitor)
        run(back_up(database, tmp_path / "b"))
        with pytest.raises(InputError, match=r"already a database|in use"):
            run(restore(database, tmp_path / "b"))
        assert visitor.get("/api/v1/campaigns/town").status_code == 200


def test_a_damaged_or_foreign_backup_is_refused(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/x.db"
    with client(database, tick_s=60) as visitor:
        create(visitor)
    good = tmp_path / "good"
    run(back_up(database, good))
    with pytest.raises(InputError, match="already a file"):
        run(back_up(database, good))
    with pytest.raises(InputError, match="no folder"):
        run(back_up(database, tmp_path / "nowhere" / "x.backup"))
    run(back_up(database, good, replace=True))
    content = bytearray(good.read_bytes())
    content[5000:9000] = b"\xff" * 4000
    (tmp_path / "damaged").write_bytes(content)
    (tmp_path / "junk").write_bytes(b"junk" * 1000)
    sqlite3.connect(tmp_path / "foreign").execute("CREATE TABLE x (y)").connection.close()
    for name in ("damaged", "junk", "foreign", "missing"):
        with pytest.raises((InputError, VerificationFailed)):
            run(restore(f"sqlite:///{tmp_path}/new.db", tmp_path / name))
        assert not (tmp_path / "new.db").exists()
    with pytest.raises(InputError, match="no collector's database"):
        run(back_up(f"sqlite:///{tmp_path}/empty.db", tmp_path / "e"))


@pytest.mark.parametrize("target", KINDS)
def test_the_first_editions_database_is_upgraded_backed_up_and_restored(
    target: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """By upgrading it where it is, and straight from the old file as a backup into a new database."""
    old = tmp_path / "first.db"
    shutil.copy(GOLDEN / "v0_1" / "service" / "collector.sqlite", old)
    old.chmod(0o600)
    straight = run(restore(a_database(target, "straight", request, tmp_path), old))
    before, held = run(upgrade(f"sqlite:///{old}"))
    assert (before, held) == ("0002", straight)
    again, same = run(upgrade(f"sqlite:///{old}"))
    assert (again, same) == (held.revision, held)
    new = a_database(target, "again", request, tmp_path)
    run(back_up(f"sqlite:///{old}", tmp_path / "b"))
    run(restore(new, tmp_path / "b"))
    with client(new, tick_s=60) as visitor:
        assert len(history(visitor)) == 2
        found = visitor.get("/api/v1/campaigns/town").json()["campaign"]
        assert (found["state"], found["promise"]) == ("running", "mutual-information")
        assert visitor.get("/api/v1/audit", headers=operator()).json()["entries"] == []
        assert close(visitor)["closed"]


@pytest.mark.postgres
def test_a_postgresql_database_of_the_first_edition_is_upgraded_where_it_is(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Its tables as the first edition made them, filled with what a first edition's collector wrote."""
    old, url = GOLDEN / "v0_1" / "service" / "collector.sqlite", a_database("postgresql", "inplace", request, tmp_path)
    run(_first_edition(url, old))
    before, held = run(upgrade(url))
    assert before == "0002"
    assert (held.campaigns, held.reports) == _campaigns_and_reports(old)
    run(back_up(url, tmp_path / "kept"))
    copied = shutil.copy(old, tmp_path / "first.db")
    Path(copied).chmod(0o600)
    answers = []
    for database in (url, f"sqlite:///{copied}"):
        with client(database, tick_s=60) as visitor:
            answers.append([visitor.get(path).json() for path in _PATHS])
            body = report_body(visitor, ticket=ticket(visitor, cycle=3))
            assert send(visitor, body).status_code == 200
            assert close(visitor)["closed"]
            assert len(history(visitor)) == 3
    assert answers[0] == answers[1], "a PostgreSQL collector says what the SQLite one says, to the last digit"


async def _first_edition(url: str, filled_from: Path) -> None:
    """Tables of revision 0002 with the rows of an old SQLite file."""
    old = sqlite3.connect(filled_from)
    old.row_factory = sqlite3.Row

    def make(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", "sfumato.collect.service:migrations")
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")
        there = MetaData()
        there.reflect(connection)
        for table in there.sorted_tables:
            rows = [dict(row) for row in old.execute(f"SELECT * FROM {table.name}")]
            if rows and table.name != "alembic_version":
                connection.execute(insert(table), rows)
        connection.execute(text("SELECT setval(pg_get_serial_sequence('campaigns', 'id'), 1000)"))

    database = Database(url)
    async with database.writing() as connection:
        await connection.run_sync(make)
    await database.close()
    old.close()


def _campaigns_and_reports(path: Path) -> tuple[int, int]:
    with sqlite3.connect(path) as old:
        found = old.execute("SELECT (SELECT count(*) FROM campaigns), (SELECT sum(reports) FROM tallies)").fetchone()
    old.close()
    return tuple(found)


_PATHS = [f"/api/v1/campaigns/town/{what}" for what in ("log", "cycles", "estimate")] + ["/api/v1/campaigns/once/log"]
