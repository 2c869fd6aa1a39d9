"""A ledger per person: every release is entered before it leaves, and one that would pass the cap is refused.

The file is plain JSON, written whole and readable by its owner only. The ledger itself knows no mathematics: a rule
(`traces`, `information_privacy`) says what the entries cost together, and refuses what it does not know.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.arrays import jsonable, positive
from sfumato.errors import BudgetExceeded, InputError
from sfumato.files import locked, write_text

FORMAT = 1
Entry = Mapping[str, Any]
Rule = Callable[[Sequence[Entry]], float]


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """What was released about each person, and the most that may be: ``cap`` in the unit of the rule."""

    cap: float
    entries: Mapping[str, tuple[Entry, ...]]

    def __post_init__(self) -> None:
        positive(self.cap, "The cap of a ledger")

    def spent(self, person: str, rule: Rule) -> float:
        """What the person's releases cost together."""
        return rule(self.entries.get(person, ()))

    def with_release(self, person: str, entry: Entry, rule: Rule) -> Ledger:
        """The ledger after one more release, or :class:`BudgetExceeded`; unknown releases are refused by the rule."""
        if not person:
            raise InputError("A ledger needs a person's name.", "Give any name you keep for this person.")
        mine = (*self.entries.get(person, ()), entry)
        total = rule(mine)
        if not math.isfinite(total) or total > self.cap * (1 + 1e-12):
            raise BudgetExceeded(
                f"This release would bring the person's total to {total:.6g}; the cap is {self.cap:.6g}.",
                "Continue the person's noise (--state) so that releases compose for free, add noise, or stop here.",
            )
        return Ledger(self.cap, {**self.entries, person: mine})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "format": FORMAT,
            "cap": self.cap,
            "entries": {k: [dict(e) for e in v] for k, v in self.entries.items()},
        }


def read_ledger(path: str | Path) -> Ledger:
    """The ledger of a file; a damaged one is an error, never an empty ledger."""
    try:
        found = json.loads(Path(path).read_text("utf-8"))
        if found["format"] != FORMAT:
            raise InputError(f"The ledger has the unknown format {found['format']}.", "Use a newer sfumato.")
        entries = {str(k): tuple(dict(e) for e in v) for k, v in found["entries"].items()}
        return Ledger(float(found["cap"]), entries)
    except OSError as error:
        raise InputError(f"Cannot read the ledger {path}: {error.strerror}.", "Check its name.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} is not a ledger.", "It is damaged; do not start an empty one in its place."
        ) from error


def write_ledger(ledger: Ledger, path: str | Path) -> None:
    """Write whole, for its owner only, and on the disk before this returns."""
    text = json.dumps(jsonable(ledger.to_dict()), indent=2, allow_nan=False) + "\n"
    write_text(path, text, private=True, durable=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One writer at a time; who comes second is told so."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locked(path, wait=False))
        except BlockingIOError as error:
            raise InputError(
                f"Another process is writing the ledger {path}.", "Wait for it, then try again."
            ) from error
        yield


def record(path: str | Path, person: str, entry: Entry, rule: Rule, *, cap: float | None = None) -> Ledger:
    """Enter one release in the ledger file *before* it leaves; a new file needs a ``cap``."""
    target = Path(path)
    with _locked(target):
        if target.exists():
            ledger = read_ledger(target)
            if cap is not None and cap != ledger.cap:
                raise InputError(f"The ledger's cap is {ledger.cap:g}, not {cap:g}.", "Leave the cap out.")
        elif cap is None:
            raise InputError(f"There is no ledger {target}.", "Give a cap to start one.")
        else:
            ledger = Ledger(cap, {})
        after = ledger.with_release(person, entry, rule)
        write_ledger(after, target)
    return after
