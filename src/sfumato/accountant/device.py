"""What one device remembers: its privacy budget, the reports it has drawn, and what each server has shown it.

One file for every campaign, server and mechanism, readable by its owner only (0600), replaced whole and flushed to disk
before anything that depends on it is shown. The true place is never in it. A damaged file is refused, never replaced:
an empty ledger would allow everything to be spent again.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sfumato.accountant.device_memory import BudgetEntry, DeviceMemory, empty_memory, is_memory
from sfumato.base.errors import BudgetExceeded, InputError
from sfumato.base.files import lock_file, write_text

DEFAULT_CAP_PER_KM = 30.0


def default_path() -> Path:
    """``$SFUMATO_DEVICE``, or ``device.json`` in the user's state folder."""
    chosen = os.environ.get("SFUMATO_DEVICE")
    if chosen:
        return Path(chosen)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "sfumato" / "device.json"


@dataclass(frozen=True, slots=True)
class Budget:
    """The ledger at a glance, in epsilon per kilometre, added up over everything this device ever released."""

    cap_per_km: float
    spent_per_km: float
    entries: tuple[BudgetEntry, ...]

    @property
    def left_per_km(self) -> float:
        """What can still be spent."""
        return max(0.0, self.cap_per_km - self.spent_per_km)

    def by_epoch(self, server: str, campaign: str) -> dict[str, float]:
        """What one campaign cost in each of its epochs; their sum is what it cost for ever."""
        spent: dict[str, float] = {}
        for entry in self.entries:
            if entry.get("server") == server and entry.get("campaign") == campaign:
                epoch = entry.get("epoch", "")
                spent[epoch] = spent.get(epoch, 0.0) + entry["epsilon_per_km"]
        return spent

    @property
    def delta(self) -> float:
        """The deltas added up: 0 unless a live trace is among the entries."""
        return math.fsum(entry["delta"] for entry in self.entries)


class Device:
    """The device's memory on disk. ``cap_per_km`` is set when the file is first made; :meth:`set_cap` changes it."""

    def __init__(self, path: str | Path | None = None, *, cap_per_km: float = DEFAULT_CAP_PER_KM) -> None:
        self.path: Path = Path(path) if path is not None else default_path()
        if not math.isfinite(cap_per_km) or cap_per_km <= 0:
            raise InputError(f"The cap is {cap_per_km} per km.", "Give a positive number.")
        self._first_cap = float(cap_per_km)

    @property
    def is_new(self) -> bool:
        """Whether there is no memory: a device that never reported, or one that has lost it."""
        return not self.path.exists()

    def read(self) -> DeviceMemory:
        """The whole memory."""
        try:
            if self.path.stat().st_mode & 0o077 and os.name == "posix":
                raise InputError(f"{self.path} can be read by other people.", f"Run: chmod 600 {self.path}")
            memory = json.loads(self.path.read_text(encoding="utf-8"), parse_constant=int)  # NaN is none
        except FileNotFoundError:
            return empty_memory(self._first_cap)
        except (ValueError, OSError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{self.path} is damaged.", "Restore it from a copy: it holds your budget.") from error
        if not is_memory(memory):
            raise InputError(f"{self.path} is not a device file.", "Choose another path, or restore it from a copy.")
        return memory

    @contextlib.contextmanager
    def change(self) -> Iterator[DeviceMemory]:
        """Read under a lock, let the caller change the memory, and replace the file if nothing was raised."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with lock_file(self.path):
            memory = self.read()
            yield memory
            self._write(memory)

    def _write(self, memory: DeviceMemory) -> None:
        for abandoned in self.path.parent.glob(f".{self.path.name}.*"):
            abandoned.unlink(missing_ok=True)  # by a process that was killed: only the holder of the lock writes one
        write_text(self.path, json.dumps(memory, allow_nan=False), private=True, durable=True)

    def budget(self) -> Budget:
        """Cap, what is spent and what for."""
        return _budget(self.read())

    def set_cap(self, cap_per_km: float) -> None:
        """Change the cap: the owner's own decision, never a server's."""
        if not math.isfinite(cap_per_km) or cap_per_km <= 0:
            raise InputError(f"The cap is {cap_per_km} per km.", "Give a positive number.")
        with self.change() as memory:
            memory["cap_per_km"] = float(cap_per_km)

    def debit(self, what: str, *, epsilon_per_km: float, delta: float = 0.0) -> None:
        """Enter something that another mechanism released, or refuse it."""
        with self.change() as memory:
            debit(memory, {"what": what, "epsilon_per_km": epsilon_per_km, "delta": delta})


def _budget(memory: DeviceMemory) -> Budget:
    entries = tuple(memory["entries"])
    spent = math.fsum(entry["epsilon_per_km"] for entry in entries)
    return Budget(float(memory["cap_per_km"]), spent, entries)


def debit(memory: DeviceMemory, entry: BudgetEntry) -> None:
    """Add an entry to a memory being changed; past the cap :class:`BudgetExceeded`, and nothing is written."""
    epsilon_per_km = entry["epsilon_per_km"]
    if not math.isfinite(epsilon_per_km) or epsilon_per_km < 0:
        raise InputError(f"The cost is {epsilon_per_km} per km.", "It must be a number from 0.")
    budget = _budget(memory)
    if budget.spent_per_km + epsilon_per_km > budget.cap_per_km * (1 + 1e-12):
        raise BudgetExceeded(
            f"This costs {epsilon_per_km:.3g} per km; {budget.left_per_km:.3g} of {budget.cap_per_km:g} is left.",
            f"Nothing was drawn. If you accept what all your reports together reveal, raise the cap: "
            f"device.set_cap({math.ceil(budget.spent_per_km + epsilon_per_km)}).",
        )
    memory["entries"].append({**entry, "line": secrets.token_hex(8)})
