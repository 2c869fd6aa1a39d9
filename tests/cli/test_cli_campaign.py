"""``sfumato campaign`` and ``sfumato collector`` against a running collector: a whole day, in words and in JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from collector_harness import TOKEN, CollectorProcess, fill

pytestmark = [pytest.mark.service]
_MAIN = [sys.executable, "-c", "from sfumato.cli import main; main()"]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollectorProcess]:
    folder = tmp_path_factory.mktemp("campaigns")
    with CollectorProcess(f"sqlite:///{folder}/x.db", minimum_tickets=1, minimum_cycle_s=0) as found:
        yield found


def sfumato(running: CollectorProcess, *words: str, code: int = 0, token: str = TOKEN) -> str:
    environment = {**os.environ, "SFUMATO_URL": running.url, "SFUMATO_OPERATOR_TOKEN": token}
    done = subprocess.run([*_MAIN, *words], capture_output=True, text=True, timeout=120, env=environment, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def told(running: CollectorProcess, *words: str) -> dict[str, Any]:
    return dict(json.loads(sfumato(running, *words, "--json")))


def test_a_day_of_an_operator_from_the_command_line(running: CollectorProcess, tmp_path: Path) -> None:
    area = ("--bounds", "48.84,2.30,48.8669,2.3408", "--cell", "500m")
    said = sfumato(running, "campaign", "create", "town", *area, "--reporting", "every-cycle", "--title", "Town")
    assert "36 cells" in said
    assert f"{running.url}/campaigns/town" in said
    assert "Town" in sfumato(running, "campaign", "list")
    assert "small letters a to z" in sfumato(running, "campaign", "create", "V\u00e9lo 2", *area, code=2)
    assert "running" in sfumato(running, "campaign", "show", "town")
    assert sfumato(running, "campaign", "link", "town").count(running.url) == 5
    epochs = ("--reporting", "once-per-epoch", "--epoch-cycles", "7", "--minimum-tickets", "5")
    sfumato(running, "campaign", "create", "weeks", *area, *epochs)
    made = told(running, "campaign", "show", "weeks")["campaign"]
    assert (made["epoch_cycles"], made["minimum_tickets"]) == (7, 5)
    sfumato(running, "campaign", "close", "weeks", code=1)
    fill(running.database, [3, 4, 5] * 20)
    assert sfumato(running, "campaign", "close", "town").strip() == "cycle 1: closed"
    assert "bytes" in sfumato(running, "campaign", "export", "town", "-o", str(tmp_path / "map.csv"))
    assert (tmp_path / "map.csv").read_text().startswith("cell,row,column")
    assert "Cycles" in sfumato(running, "campaign", "edit", "town", "--title", "Cycles")
    assert "paused" in sfumato(running, "campaign", "pause", "town", "--reason", "rain")
    assert "running" in sfumato(running, "campaign", "resume", "town")
    assert "running" in sfumato(running, "campaign", "reschedule", "town")
    fill(running.database, [3, 4, 5] * 20, cycle=2)
    sfumato(running, "campaign", "close", "town")
    assert "left out: 1; the map of cycle 2" in sfumato(running, "campaign", "exclude", "town", "1")
    assert "left out: none" in sfumato(running, "campaign", "include", "town", "1")
    token = told(running, "campaign", "operators", "--add", "ada")["token"]
    newer = json.loads(sfumato(running, "campaign", "rotate", "ada", "--json", token=token))["token"]
    assert sfumato(running, "campaign", "operators", token=newer).split() == ["operator", "ada"]
    assert "answered 401" in sfumato(running, "campaign", "log", token=token, code=2)
    sfumato(running, "campaign", "operators", "--remove", "ada")
    assert "nowhere" in sfumato(running, "campaign", "notify", "--test")
    assert "town has ended; its last cycle is not published" in sfumato(running, "campaign", "end", "town")
    assert "archived" in sfumato(running, "campaign", "archive", "town")
    assert "town" not in sfumato(running, "campaign", "list")
    assert "town" in sfumato(running, "campaign", "list", "--archived")
    assert "answered 409" in sfumato(running, "campaign", "delete", "town", "--confirm", "x", code=2)
    assert "Backups made before still hold it" in sfumato(running, "campaign", "delete", "town", "--confirm", "town")
    log = sfumato(running, "campaign", "log")
    acts = [line.split("  ")[2] for line in log.splitlines()]
    assert acts == [
        "create", "create", "close", "edit", "pause", "resume", "reschedule", "close", "exclude", "include",
        "add operator", "rotate token", "remove operator", "end", "archive", "delete",
    ]  # fmt: skip
    assert "reason=rain" in log


def test_backup_and_upgrade_from_the_command_line(running: CollectorProcess, tmp_path: Path) -> None:
    backup, new = str(tmp_path / "b"), f"sqlite:///{tmp_path}/new.db"
    assert "campaigns" in sfumato(running, "collector", "backup", backup, "--database", running.database)
    assert "restored" in sfumato(running, "collector", "restore", backup, "--database", new)
    assert told(running, "collector", "upgrade", "--database", new)["ok"]
    assert "already a file" in sfumato(running, "collector", "backup", backup, "--database", new, code=2)


def test_without_a_token_or_a_server_the_command_says_what_to_do(running: CollectorProcess) -> None:
    assert "SFUMATO_OPERATOR_TOKEN" in sfumato(running, "campaign", "log", token="", code=2)
    assert "Check --url" in sfumato(running, "campaign", "list", "--url", "http://127.0.0.1:9", code=2)
    assert "http or https" in sfumato(running, "campaign", "list", "--url", "ftp://x", code=2)
