"""How often one device reports: once, in every cycle, or once per epoch of several cycles, and what that costs.

An epoch is ``epoch_cycles`` cycles. Within it a person reports in one cycle at most and pays the dearest of its
channels; epochs add up like reports of one place. Between "once", after which nobody can report again, and
"every-cycle", after which a budget is spent in a fortnight, it is the plan that lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sfumato.accountant.compose import Reporting
from sfumato.base.errors import InputError
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.loop.grid_reports import Spent, spent, spent_in_epochs

Rhythm = Literal["once", "every-cycle", "once-per-epoch"]
RHYTHMS: tuple[Rhythm, ...] = ("once", "every-cycle", "once-per-epoch")
MOST_EPOCH_CYCLES = 100_000


def checked_rhythm(rhythm: str, epoch_cycles: int | None) -> Rhythm:
    """The rhythm, if the number of cycles of an epoch is given exactly where there are epochs."""
    for known in RHYTHMS:
        if rhythm == known:
            break
    else:
        raise InputError(f"The reporting is '{rhythm}'.", f"It is {', '.join(RHYTHMS[:-1])} or {RHYTHMS[-1]}.")
    if (known == "once-per-epoch") != (epoch_cycles is not None):
        raise InputError(
            f"Reporting '{known}' {'needs' if epoch_cycles is None else 'has no'} epoch_cycles.",
            "Give epoch_cycles, the cycles of an epoch, with once-per-epoch and only there.",
        )
    if epoch_cycles is not None and not 2 <= epoch_cycles <= MOST_EPOCH_CYCLES:
        raise InputError(f"An epoch of {epoch_cycles} cycles.", f"Take 2 to {MOST_EPOCH_CYCLES:,} cycles.")
    return known


def epoch_number(cycle: int, epoch_cycles: int) -> int:
    """The epoch (from 1) of a cycle (from 1)."""
    return (cycle - 1) // epoch_cycles + 1


def as_reporting(rhythm: Rhythm) -> Reporting:
    """What varies between the reports of one cycle and the next, for an interval.

    Who reports once per epoch is in another cycle's cohort by chance, as who reports once.
    """
    return "every-cycle" if rhythm == "every-cycle" else "once"


def spent_by(
    channels: Sequence[GridChannel], rhythm: Rhythm, epoch_cycles: int | None, *, first_cycle: int = 1
) -> Spent:
    """What one person who stays in one place has spent at most on these consecutive cycles, from ``first_cycle``."""
    if rhythm != "once-per-epoch":
        return spent(channels, reporting=as_reporting(rhythm))
    assert epoch_cycles is not None
    epochs: dict[int, list[GridChannel]] = {}
    for place, channel in enumerate(channels):
        epochs.setdefault(epoch_number(first_cycle + place, epoch_cycles), []).append(channel)
    return spent_in_epochs(list(epochs.values()))
