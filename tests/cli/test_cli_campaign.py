"""``sfumato campaign`` and ``sfumato collector`` against a running collector: a whole day, in words and in JSON."""

from __future__ import annotations

import html
import json
import math
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from collector_harness import TOKEN, CollectorProcess, fill

from sfumato.base.numbers.odds import odds_words
from sfumato.collect.service.models.kept import MapOddsFacts
from sfumato.collect.service.pages.words import odds_in_words

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


def test_what_a_map_gives_away_is_said_everywhere_and_verified(running: CollectorProcess, tmp_path: Path) -> None:
    """One sentence for each reader on page, exports and notice; `verify` recomputes them and refuses better ones."""
    area = ("--bounds", "48.84,2.30,48.8669,2.3408", "--cell", "500m")
    sfumato(running, "campaign", "create", "given", *area, "--reporting", "every-cycle")
    notice, exported = tmp_path / "notice.html", tmp_path / "map.json"
    sfumato(running, "campaign", "notice", "given", "-o", str(notice))
    assert "The map never says more about you than your report does" in notice.read_text("utf-8")
    fill(running.database, [cell for cell in range(36) for _ in range(40)], "given")
    sfumato(running, "campaign", "close", "given")
    sfumato(running, "campaign", "export", "given", "-o", str(exported))
    cycle = json.loads(exported.read_text("utf-8"))["cycle"]
    odds = cycle["map_odds"]
    assert odds["people"] == 1440
    assert 1 < odds["average"] <= odds["worst"] <= odds["local"] == pytest.approx(odds["together"])
    assert odds["local"] == pytest.approx(
        math.exp(cycle["epsilon_per_km"]["upper"] * odds["distance_m"] / 1000), rel=1e-6
    )
    known = odds_in_words(MapOddsFacts.model_validate(odds))
    assert f"on average over people, and {odds_words(odds['worst'])} for 99 in 100 of them, 99 times in 100." in known
    sfumato(running, "campaign", "notice", "given", "-o", str(notice))
    page = urllib.request.urlopen(f"{running.url}/campaigns/given/dashboard?language=en").read().decode()
    for text in (page, notice.read_text("utf-8")):
        assert html.escape(known) in text
    for ending in ("geojson", "parquet"):
        sfumato(running, "campaign", "export", "given", "-o", str(tmp_path / f"map.{ending}"))
    assert json.loads((tmp_path / "map.geojson").read_text())["sfumato"] == {"map_odds": {**odds, "words": known}}
    metadata = pq.read_schema(tmp_path / "map.parquet").metadata
    assert json.loads(metadata[b"sfumato"])["map_odds"]["words"] == known
    assert odds_words(odds["worst"]) in sfumato(running, "verify", str(exported))
    for name, better in (("average", 1.0), ("worst", 1.0), ("local", 2.0), ("together", 1.0), ("people", 99)):
        told_otherwise = {"ok": True, "cycle": {**cycle, "map_odds": {**odds, name: better}}}
        (tmp_path / "other.json").write_text(json.dumps(told_otherwise), "utf-8")
        assert f"states another {name}" in sfumato(running, "verify", str(tmp_path / "other.json"), code=1)
    promised = {"cycle": {**cycle, "map_odds": {**odds, "words": "It gives nothing away."}}}
    (tmp_path / "other.json").write_text(json.dumps(promised), "utf-8")
    assert "states another words" in sfumato(running, "verify", str(tmp_path / "other.json"), code=1)
    (tmp_path / "other.json").write_text(json.dumps({"cycle": {**cycle, "counts": [10**6] * 36}}), "utf-8")
    assert "average" in sfumato(running, "verify", str(tmp_path / "other.json"), code=1)
    # A second round of the same devices: the odds of one round stay, those of all rounds together grow.
    fill(running.database, [cell for cell in range(36) for _ in range(40)], "given", cycle=2)
    sfumato(running, "campaign", "close", "given")
    again = json.loads(urllib.request.urlopen(f"{running.url}/api/v1/campaigns/given/cycles").read())["history"][-1]
    assert again["map_odds"]["together"] == pytest.approx(odds["local"] ** 2, rel=1e-3)
    assert "Whoever follows every round" in odds_in_words(MapOddsFacts.model_validate(again["map_odds"]))
    sfumato(running, "campaign", "exclude", "given", "1")
    sfumato(running, "campaign", "export", "given", "-o", str(exported))
    assert "gives away what it says" in sfumato(running, "verify", str(exported))
    sfumato(running, "campaign", "end", "given")
    sfumato(running, "campaign", "delete", "given", "--confirm", "given")
