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

from sfumato.base.arrays import positive
from sfumato.base.errors import BudgetExceeded, InputError
from sfumato.base.files import lock_file, write_text

FORMAT = 1
ADVICE = "Make this release tell less, or stop here."
Entry = Mapping[str, object]
Rule = Callable[[Sequence[Entry]], float]


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """What was released about each person, and the most that may be: ``cap`` in the unit of the rule."""

    cap: float
    entries: Mapping[str, tuple[Entry, ...]]

    def __post_init__(self) -> None:
        positive(self.cap, "The cap of a ledger")
        for person, mine in self.entries.items():
            if not person:
                raise InputError("A ledger needs a person's name.", "Give any name you keep for this person.")
            for entry in mine:
                checked_entry(entry)

    def total(self, person: str, rule: Rule) -> float:
        """What the person's releases cost together."""
        return _total(rule, self.entries.get(person, ()))

    def with_release(self, person: str, entry: Entry, rule: Rule, *, advice: str = ADVICE) -> Ledger:
        """The ledger after one more release, or :class:`BudgetExceeded`; unknown releases are refused by the rule."""
        mine = (*self.entries.get(person, ()), entry)
        after = Ledger(self.cap, {**self.entries, person: mine})
        total = _total(rule, mine)
        if total > self.cap * (1 + 1e-12):
            raise BudgetExceeded(
                f"This release would bring the person's total to {total:.6g}; the cap is {self.cap:.6g}.", advice
            )
        return after

    def to_dict(self) -> dict[str, object]:
        """Plain JSON."""
        return {
            "format": FORMAT,
            "cap": self.cap,
            "entries": {k: [dict(e) for e in v] for k, v in self.entries.items()},
        }


def checked_entry(entry: Entry) -> Entry:
    """An entry that survives the file unchanged: names with plain values, every number finite; else refused."""
    if not isinstance(entry, Mapping) or not entry or not all(isinstance(name, str) for name in entry):
        raise InputError("An entry of a ledger is not a record of names and values.", "Enter a release as it was made.")
    wrong = [name for name, value in entry.items() if not _plain(value)]
    if wrong:
        raise InputError(
            f"'{wrong[0]}' of a ledger's entry is not a finite number or plain text.",
            "What is unknown is not entered: find the release's true loss.",
        )
    return entry


def amount(entry: Entry, name: str) -> float:
    """A finite number of at least 0 that an entry must hold; a missing, negative or unknown one is refused."""
    value = entry.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise InputError(
            f"An entry of the ledger has the {name} {value!r}.",
            "It must be a number of at least 0: restore the ledger from a copy, and do not start an empty one.",
        )
    return float(value)


def _plain(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _plain(part) for name, part in value.items())
    if isinstance(value, list | tuple):
        return all(_plain(part) for part in value)
    return value is None or isinstance(value, str | bool | int)


def _total(rule: Rule, entries: Sequence[Entry]) -> float:
    """What the rule says, or that it cannot say: an unknown total is never taken for little."""
    try:
        total = float(rule(entries))
    except InputError:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise InputError(
            f"An entry of the ledger is damaged or of another kind ({type(error).__name__}).",
            "Its total is unknown: restore the ledger from a copy, and do not start an empty one.",
        ) from error
    if math.isnan(total) or total < 0:
        raise InputError(f"The entries of the ledger have the total {total}.", "It is unknown; refuse.")
    return total


def read_ledger(path: str | Path) -> Ledger:
    """The ledger of a file; a damaged one is an error, never an empty ledger."""
    try:
        found = json.loads(Path(path).read_text("utf-8"), object_pairs_hook=_once, parse_constant=_refused_number)
        if found["format"] != FORMAT:
            raise InputError(f"The ledger has the unknown format {found['format']}.", "Use a newer sfumato.")
        if not all(isinstance(mine, list) for mine in found["entries"].values()):
            raise TypeError("entries are lists")
        return Ledger(amount(found, "cap"), {person: tuple(mine) for person, mine in found["entries"].items()})
    except OSError as error:
        raise InputError(f"Cannot read the ledger {path}: {error.strerror}.", "Check its name.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} is not a ledger.", "It is damaged; do not start an empty one in its place."
        ) from error


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object whose names differ: of two entries for one person Python would keep the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _refused_number(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def write_ledger(ledger: Ledger, path: str | Path) -> None:
    """Write whole, for its owner only, and on the disk before this returns."""
    text = json.dumps(ledger.to_dict(), indent=2, allow_nan=False) + "\n"
    write_text(path, text, private=True, durable=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One writer at a time; who comes second is told so."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(lock_file(path, wait=False))
        except BlockingIOError as error:
            raise InputError(
                f"Another process is writing the ledger {path}.", "Wait for it, then try again."
            ) from error
        yield


def record(
    path: str | Path, person: str, entry: Entry, rule: Rule, *, cap: float | None = None, advice: str = ADVICE
) -> Ledger:
    """Enter one release in the ledger file *before* it leaves; a new file needs a ``cap``.

    ``advice`` is what to do about a release past the cap, in the words of whoever releases.
    """
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
        after = ledger.with_release(person, entry, rule, advice=advice)
        write_ledger(after, target)
    return after
