"""One budget for several collectors and devices: nothing is counted twice, nothing that was sent is left out."""

from __future__ import annotations

import json
import math
import shutil
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato.accountant.device import Device
from sfumato.base.errors import BudgetExceeded, InputError
from sfumato.cli import app
from sfumato.collect.client.device_ledger import (
    ledger_of,
    read_ledger,
    sums,
    take_in,
    together,
    total,
    total_in_words,
    write_ledger,
)

NOTICE = Path(__file__).parents[3] / "src/sfumato/collect/service/pages/notices/en.txt"


def device(path: Path, *levels: float, delta: float = 0.0) -> Device:
    found = Device(path)
    for level in levels:
        found.debit("report", epsilon_per_km=level, delta=delta)
    return found


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return done.output


def test_lines_of_several_devices_are_counted_once_in_any_order(tmp_path: Path) -> None:
    phone, laptop = device(tmp_path / "phone", 1.0, 2.0), device(tmp_path / "laptop", 4.0)
    one, other = ledger_of(phone), ledger_of(laptop)
    assert total(together([one, other, one])) == total(together([other, one])) == (7.0, 0.0)
    assert take_in(phone, [other]) == 1
    assert take_in(phone, [other, together([one, other])]) == 0
    assert phone.budget().spent_per_km == 7.0
    # The laptop learns what the phone spent, and not its own lines a second time.
    assert take_in(laptop, [ledger_of(phone)]) == 2
    assert laptop.budget().spent_per_km == 7.0


def test_a_copy_that_went_on_by_itself_counts_with_the_other(tmp_path: Path) -> None:
    """A memory restored from a backup, and the one that was thought lost: alike lines are two reports."""
    first = device(tmp_path / "first", 1.0)
    ledger_of(first)
    shutil.copy(first.path, tmp_path / "copy")
    copy = device(tmp_path / "copy", 2.0)
    first.debit("report", epsilon_per_km=2.0)
    assert total(together([ledger_of(first), ledger_of(copy)]))[0] == 5.0
    assert take_in(first, [ledger_of(copy)]) == 1
    assert first.budget().spent_per_km == 5.0


def test_a_lost_memory_comes_back_as_spent(tmp_path: Path) -> None:
    old = device(tmp_path / "old", 3.0, 4.0)
    write_ledger(tmp_path / "saved.json", ledger_of(old))
    new = Device(tmp_path / "new", cap_per_km=9.0)
    assert take_in(new, [read_ledger(tmp_path / "saved.json")]) == 2
    assert new.budget().left_per_km == 2.0
    with pytest.raises(BudgetExceeded):
        new.debit("report", epsilon_per_km=2.5)


def test_above_the_cap_what_is_spent_is_entered_all_the_same(tmp_path: Path) -> None:
    here, there = device(tmp_path / "here", 20.0), device(tmp_path / "there", 25.0)
    assert take_in(here, [ledger_of(there)]) == 1
    assert here.budget().spent_per_km == 45.0
    assert here.budget().left_per_km == 0.0
    with pytest.raises(BudgetExceeded):
        here.debit("report", epsilon_per_km=0.1)


def test_a_ledger_holds_no_report_no_place_and_no_secret(tmp_path: Path) -> None:
    phone = device(tmp_path / "phone", 1.0)
    with phone.change() as memory:
        report = {"cell": 17, "version": "v" * 64, "cycle": 1, "key": "k" * 32, "state": "drawn", "drawn_at_s": 1}
        memory["campaigns"]["a"] = {"versions": {"1": "v"}, "reports": {"once": report}, "secret": "s" * 64}
        memory["live"]["x"] = {"noise_m": 1.0, "state": {}, "released": [48.5, 2.25]}
    write_ledger(tmp_path / "out.json", ledger_of(phone))
    text = (tmp_path / "out.json").read_text("utf-8")
    assert not any(secret in text for secret in ("s" * 8, "k" * 8, "v" * 8, "cell", "48.5", "drawn"))
    assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"format": "sfumato-ledger/2", "entries": []}',
        '{"format": "sfumato-ledger/1", "entries": [{"what": "x", "epsilon_per_km": 1, "delta": 0}]}',
        '{"format": "sfumato-ledger/1", "entries": [{"what": "x", "epsilon_per_km": -1, "delta": 0, "device": "a",'
        ' "place": 0}]}',
        '{"format": "sfumato-ledger/1", "entries": [{"what": "x", "epsilon_per_km": 1e999, "delta": 0, "device": "a",'
        ' "place": 0}]}',
        '{"format": "sfumato-ledger/1", "entries": [{"what": "x", "epsilon_per_km": 1, "delta": 0, "device": "a",'
        ' "place": 0, "server": ["s"]}]}',
        f'{{"format": "sfumato-ledger/1", "entries": [{{"what": "x", "epsilon_per_km": 1{"0" * 400}, "delta": 0,'
        ' "device": "a", "place": 0}]}',
        '{"format": "sfumato-ledger/1", "entries": [{"what": "x", "epsilon_per_km": 1, "delta": 0, "device": "a",'
        ' "place": 0, "noise_m": Infinity}]}',
        "[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_ledger_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "ledger").write_text(text, "utf-8")
    with pytest.raises(InputError, match="ledger"):
        read_ledger(tmp_path / "ledger")


def test_the_sum_is_said_in_the_words_of_the_notice(tmp_path: Path) -> None:
    """The same sentence as on a campaign's privacy notice, rounded against us, with what deltas add."""
    shared = "can change their odds between two places 1 km apart by a factor of at most"
    assert shared in NOTICE.read_text("utf-8")
    words = total_in_words(ledger_of(device(tmp_path / "a", 1.5, 0.5)))
    assert f"everything that your device ever sent {shared} 7.39 (epsilon 2 per km). " in words
    assert math.exp(2) <= 7.39
    both = together([ledger_of(device(tmp_path / "b", 15.0, delta=1e-6)), ledger_of(device(tmp_path / "c", 15.0))])
    assert "your 2 devices ever sent" in total_in_words(both)
    assert "10^14 (epsilon 30 per km), except with a probability of 1e-06" in total_in_words(both)


def test_the_commands_export_merge_and_show(tmp_path: Path) -> None:
    phone, laptop, out = (str(tmp_path / name) for name in ("phone", "laptop", "phone.ledger"))
    with device(Path(phone), 2.0).change() as memory:
        memory["entries"][0] |= {"server": "https://one.example", "campaign": "bikes"}
    device(Path(laptop), 1.0)
    run("client", "ledger", "show", "--device", str(tmp_path / "none"), code=1)
    assert "1 entry." in run("client", "ledger", "export", "-o", out, "--device", phone)
    assert "1 new entry. Budget: 3 of 30 per km spent." in run("client", "ledger", "merge", out, "--device", laptop)
    assert "0 new entries" in run("client", "ledger", "merge", out, "--device", laptop)
    shown = json.loads(run("client", "ledger", "show", "--device", laptop, "--json"))
    assert shown["epsilon_per_km"] == 3.0
    assert {one["server"]: one["epsilon_per_km"] for one in shown["campaigns"]} == {"": 1.0, "https://one.example": 2.0}
    table = run("client", "ledger", "show", "--device", laptop)
    assert "bikes" in table
    assert "your 2 devices" in " ".join(table.split())
    assert sums(read_ledger(out)) == {("https://one.example", "bikes"): (1, 2.0)}
