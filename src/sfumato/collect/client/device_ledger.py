"""One budget for several collectors and several devices: what each spent, exported, merged and added up.

A device's memory has one line for everything it released, whichever server or mechanism it was for. Its *ledger* is
those lines and nothing else: no drawn report, no secret, no place. A line has a random number of its own, its device
(another, made when a ledger is first asked for) and its place among that device's lines, so that merging twice counts
once, and where two copies of one memory went on apart both count: what was sent was sent. (Lines of 0.2.0 and of
browsers have no number: of copies that went on apart, lines alike in everything count once.) Levels add up for any
servers, maps and moments: the odds between two places d km apart change by at most exp(d times the sum), except with
the probability that the deltas add up to.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypedDict

from sfumato.accountant.device import Device
from sfumato.accountant.device_memory import BudgetEntry, DeviceMemory, is_entry
from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.numbers.odds import MOST_SAID, odds_words

FORMAT: Literal["sfumato-ledger/1"] = "sfumato-ledger/1"


class DeviceLedger(TypedDict):
    """What one or several devices spent."""

    format: Literal["sfumato-ledger/1"]
    entries: list[BudgetEntry]


def ledger_of(device: Device) -> DeviceLedger:
    """Every line in a device's memory, its own and those merged into it."""
    with device.change() as memory:
        return {"format": FORMAT, "entries": _lines(memory)}


def _lines(memory: DeviceMemory) -> list[BudgetEntry]:
    """The memory's lines, each with its device and its place there; its own number is made if it has none."""
    own, place, found = memory.setdefault("ledger", secrets.token_hex(16)), 0, []
    for entry in memory["entries"]:
        if "device" in entry:
            found.append(entry)
        else:
            found.append({**entry, "device": own, "place": place})
            place += 1
    return found


def read_ledger(path: str | Path) -> DeviceLedger:
    """A ledger that :func:`write_ledger` wrote; anything else is refused."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=int)  # NaN is none
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as a ledger.", "Make one: sfumato client ledger export.") from error
    lines = found.get("entries") if isinstance(found, dict) and found.get("format") == FORMAT else None
    if not isinstance(lines, list) or not all(_is_line(one) for one in lines):
        raise InputError(f"{path} is no ledger.", "Make one: sfumato client ledger export.")
    return {"format": FORMAT, "entries": lines}


def _is_line(value: object) -> bool:
    """Whether this is a line with its device and place, and a cost that can be added up."""
    if not is_entry(value):
        return False
    named = isinstance(value.get("device"), str) and isinstance(value.get("place"), int)
    return named and value["epsilon_per_km"] >= 0 and value["delta"] >= 0


def write_ledger(path: str | Path, ledger: DeviceLedger) -> None:
    """Write it for its owner only: it says where somebody took part."""
    write_text(path, json.dumps(ledger, indent=2, allow_nan=False) + "\n", private=True)


def together(ledgers: Iterable[DeviceLedger]) -> DeviceLedger:
    """Every line of these ledgers once."""
    lines = {_known_by(line): line for ledger in ledgers for line in ledger["entries"]}
    return {"format": FORMAT, "entries": list(lines.values())}


def take_in(device: Device, ledgers: Sequence[DeviceLedger]) -> int:
    """Enter what other devices (or a lost copy of this one) spent, so that one cap holds for all; how many lines.

    Nothing is refused, above the cap either: it is spent already, and the next report will be.
    """
    with device.change() as memory:
        known = {_known_by(line) for line in _lines(memory)}
        fresh = [line for line in together(ledgers)["entries"] if _known_by(line) not in known]
        memory["entries"] += fresh
        return len(fresh)


def _known_by(line: BudgetEntry) -> str:
    return json.dumps(line, sort_keys=True)


def sums(ledger: DeviceLedger) -> dict[tuple[str, str], tuple[int, float]]:
    """(lines, epsilon per km) for each server and campaign, or for what a line without them is about."""
    found: dict[tuple[str, str], tuple[int, float]] = {}
    for line in ledger["entries"]:
        about = (line.get("server", ""), line.get("campaign", line.get("name", line["what"])))
        count, spent = found.get(about, (0, 0.0))
        found[about] = count + 1, spent + line["epsilon_per_km"]
    return found


def total(ledger: DeviceLedger) -> tuple[float, float]:
    """(epsilon per km, delta) of everything together."""
    lines = ledger["entries"]
    return math.fsum(line["epsilon_per_km"] for line in lines), math.fsum(line["delta"] for line in lines)


def total_in_words(ledger: DeviceLedger) -> str:
    """The sum in the words of a campaign's privacy notice."""
    epsilon, delta = total(ledger)
    longest = f"10^{math.ceil(epsilon / math.log(10))}"
    factor = (odds_words(math.exp(epsilon)) or "").removesuffix(" : 1") if epsilon < math.log(MOST_SAID) else longest
    unless = f", except with a probability of {delta:.2g}" if delta else ""
    devices = len({line.get("device") for line in ledger["entries"]})
    whose = "your device" if devices < 2 else f"your {devices} devices"
    return (
        f"Whoever sees everything that {whose} ever sent can change their odds between two places 1 km apart by a "
        f"factor of at most {factor} (epsilon {epsilon:.4g} per km){unless}. For places closer together it is less, "
        "for places farther apart it is more."
    )
