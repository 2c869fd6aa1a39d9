"""The channel a server offers, checked before any place is looked at: signature, version, and this device's own limits.

The server chooses the channel, and may be hostile. Whatever c it sends, a row built here from (grid, beta, c) keeps the
exact epsilon at most 2 beta; the caps below bound what is left to choose: beta itself, the grid, how far c concentrates
reports on few cells, and how fast it moves between cycles.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfumato.accountant.device_memory import CampaignMemory, LogHead
from sfumato.base.arrays import FloatArray, read_only
from sfumato.base.errors import VerificationFailed
from sfumato.base.things.grid import Grid, metres_per_degree
from sfumato.collect.client.blind_tickets import TicketTerms, terms_from
from sfumato.collect.client.public_log import check_extends, checked_log, head_at
from sfumato.collect.client.reveals import Reveals, reveals
from sfumato.collect.client.wire import report_epoch, verify_payload

_DO_NOT = "Do not take part; ask the operator."
_JOIN_AGAIN = "Do not take part, or if you agree to that, join it again as a new campaign (--join-again)."
_CHANNEL_FIELDS = {"campaign", "cycle", "grid", "beta_per_m", "output_weights", "floor", "reporting"}
_REPORTING = ("every-cycle", "once", "once-per-epoch")
_LARGEST_EXPONENT = 700.0  # nats: beyond, a weight of the exact draw could be lost
_GRID_NUMBERS = ("cell_height", "cell_width", "north_deg", "west_deg", "cell_height_deg", "cell_width_deg")


class TermsChanged(VerificationFailed):
    """The campaign is not what this device agreed to when it joined."""


@dataclass(frozen=True, slots=True)
class Caps:
    """What this device accepts from a server. Every number is a limit; loosening one is the owner's decision."""

    two_beta_per_km: float = 10.0
    """The most one report may cost: the exact epsilon per km, or 2 beta where the grid is too large to compute it."""
    cells: int = 65_536
    extent_km: float = 500.0
    smallest_cell_side_m: float = 50.0
    smallest_floor: float = 0.001
    largest_share: float = 0.5
    fewest_effective_cells: float = 3.0
    change_of_log_weight: float = 1.5
    minimum_epoch_s: float = 3600.0

    def too_much(self, grid: Grid, *, epsilon_per_km: float) -> list[str]:
        """Why this device would refuse a campaign that is only thought about; its whole offer is checked later."""
        side = min(grid.cell_height, grid.cell_width)
        extent_km = math.hypot(grid.rows * grid.cell_height, grid.columns * grid.cell_width) / 1000
        found = []
        if epsilon_per_km > self.two_beta_per_km * (1 + 1e-9):
            found.append(f"A report may cost {self.two_beta_per_km:g} per km at most, this one {epsilon_per_km:g}.")
        if grid.cells > self.cells:
            found.append(f"A map may have {self.cells:,} cells at most, this one has {grid.cells:,}.")
        if side < self.smallest_cell_side_m:
            found.append(f"Cells must be {self.smallest_cell_side_m:g} m wide, these are {side:.3g} m.")
        if extent_km > self.extent_km:
            found.append(f"An area may be {self.extent_km:g} km across at most, this one is {extent_km:.0f} km.")
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A channel that passed every check, and what a report through it gives away."""

    campaign: str
    cycle: int
    version: str
    grid: Grid
    beta_per_m: float
    output_weights: FloatArray
    floor: float
    reporting: str
    public_key: str
    reveals: Reveals
    epoch_cycles: int | None = None
    """How many cycles share one report of each device, where the campaign asks once per epoch."""
    tickets: TicketTerms | None = None
    """The round's key, where tickets are blind; None: the operator can link each to its report."""

    @property
    def tight(self) -> bool:
        """Whether every normaliser is alike, so that epsilon is beta and not up to twice it: the tight channel."""
        return self.reveals.exact and 2 * self.reveals.epsilon_per_km <= self.reveals.two_beta_per_km * (1 + 1e-6)

    @property
    def epoch(self) -> str:
        """One report is drawn per epoch whatever the place: the cycle, several, or the campaign's whole life."""
        return report_epoch(self.reporting, self.cycle, self.epoch_cycles)

    @property
    def rhythm(self) -> str:
        """How often this campaign asks one device; it may not change while the device takes part."""
        return self.reporting if self.epoch_cycles is None else f"{self.reporting} {self.epoch_cycles}"


def _require(condition: bool, what: str, advice: str = _DO_NOT) -> None:
    if not condition:
        raise VerificationFailed(what, advice)


def _number(value: object, name: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise VerificationFailed(f"The channel's {name} is not a number.", _DO_NOT)
    _require(abs(value) < 1e308, f"The channel's {name} is not finite.")  # NaN fails too, and huge integers compare
    return float(value)


def _whole(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise VerificationFailed(f"The channel's {name} is not a whole number.", _DO_NOT)
    _require(abs(value) <= 2**53, f"The channel's {name} is too large.")
    return value


def grid_from_wire(wire: Mapping[str, object], *, caps: Caps) -> Grid:
    """The grid, if its metres are the metres of its degrees: a grid that lies about its cells lies about epsilon."""
    _require(set(wire) == {*_GRID_NUMBERS, "rows", "columns", "unit"}, "The grid has missing or unknown fields.")
    _require(wire["unit"] == "m", "The grid is not in metres.")
    rows, columns = _whole(wire["rows"], "rows"), _whole(wire["columns"], "columns")
    number = {name: _number(wire[name], name) for name in _GRID_NUMBERS}
    _require(rows >= 1 and columns >= 1, "The grid has no cells.")
    _require(rows * columns <= caps.cells, f"The grid has {rows * columns} cells; this device accepts {caps.cells}.")
    _require(
        all(number[name] > 0 for name in _GRID_NUMBERS if name.startswith("cell")), "A cell of the grid has no size."
    )
    north, south = number["north_deg"], number["north_deg"] - rows * number["cell_height_deg"]
    _require(-90.1 <= south < north <= 90 and abs(number["west_deg"]) <= 180, "The grid does not lie on the earth.")
    _require(columns * number["cell_width_deg"] <= 360, "The grid does not lie on the earth.")
    north_m, east_m = metres_per_degree((south + north) / 2)
    wrong = max(
        abs(number["cell_height"] / (number["cell_height_deg"] * north_m) - 1),
        abs(number["cell_width"] / (number["cell_width_deg"] * east_m) - 1),
    )
    _require(wrong <= 0.01, "The cells' size in metres does not fit their degrees: epsilon per km would be false.")
    side, limit = min(number["cell_height"], number["cell_width"]), caps.smallest_cell_side_m
    _require(side >= limit, f"The cells are {side:.3g} m wide; this device accepts {limit:g} m and more.")
    extent_km = math.hypot(rows * number["cell_height"], columns * number["cell_width"]) / 1000
    _require(extent_km <= caps.extent_km, f"The grid is {extent_km:.0f} km across; the most is {caps.extent_km:g} km.")
    return Grid(rows=rows, columns=columns, unit="m", **number)


def check_offer(document: Mapping[str, object], *, caps: Caps, pinned_key: str | None = None) -> Offer:
    """Verify a channel document (route ``…/channel``) and turn it into an :class:`Offer`, or say why it is refused."""
    text, version, signature, key = (document.get(name) for name in ("payload", "version", "signature", "public_key"))
    if not (isinstance(text, str) and isinstance(version, str) and isinstance(signature, str) and isinstance(key, str)):
        raise VerificationFailed("The answer holds no signed channel.", "Is this the address of a sfumato server?")
    _require(
        pinned_key is None or key == pinned_key,
        "The server signs with another key than before.",
        "If the operator announced a new key, pin it by hand; otherwise do not take part.",
    )
    # What is no text becomes another text, which is hashed and read like any: no server ends a client with a surprise.
    channel = verify_payload(text.encode("utf-8", "replace"), version=version, signature=signature, public_key=key)
    fields = _CHANNEL_FIELDS | ({"epoch_cycles"} if channel.get("reporting") == "once-per-epoch" else set())
    fields |= {"tickets"} & set(channel)
    _require(set(channel) == fields, "The channel has missing or unknown fields.")
    _require(channel["reporting"] in _REPORTING, "The campaign's reporting policy is unknown.")
    epoch_cycles = _whole(channel["epoch_cycles"], "epoch_cycles") if "epoch_cycles" in fields else None
    _require(epoch_cycles is None or epoch_cycles >= 2, "An epoch has fewer than two cycles.")
    wire = channel["grid"]
    if not isinstance(wire, Mapping):
        raise VerificationFailed("The channel has no grid.", _DO_NOT)
    grid = grid_from_wire(wire, caps=caps)
    beta = _number(channel["beta_per_m"], "beta_per_m")
    _require(beta > 0, "The channel's beta is not positive.")
    # Epsilon is at least beta, whatever the weights are: no need to compute it where that is too much already.
    _require(
        1000 * beta <= caps.two_beta_per_km * (1 + 1e-12),
        f"beta is {1000 * beta:.3g} per km; this device accepts an epsilon of {caps.two_beta_per_km:g}.",
    )
    check_range(grid, beta_per_m=beta)
    floor = _number(channel["floor"], "floor")
    weights = _output_weights(channel["output_weights"], grid.cells, floor, caps)
    cycle = _whole(channel["cycle"], "cycle")
    _require(cycle >= 1, "The cycle's number is not positive.")
    told = reveals(grid, weights, beta_per_m=beta)
    _require(
        told.epsilon_per_km <= caps.two_beta_per_km * (1 + 1e-9),
        f"One report would cost {told.epsilon_per_km:.3g} per km{'' if told.exact else ' (2 beta)'}; this device "
        f"accepts {caps.two_beta_per_km:g}.",
    )
    named, reporting = str(channel["campaign"]), str(channel["reporting"])
    tickets = terms_from(channel["tickets"]) if "tickets" in channel else None
    return Offer(named, cycle, version, grid, beta, weights, floor, reporting, key, told, epoch_cycles, tickets)


def check_range(grid: Grid, *, beta_per_m: float) -> None:
    """Refuse a channel whose smallest weight could be lost: beta times the diagonal beyond 700 nats."""
    diagonal_m = math.hypot((grid.rows - 1) * grid.cell_height, (grid.columns - 1) * grid.cell_width)
    _require(
        beta_per_m * diagonal_m <= _LARGEST_EXPONENT,
        f"beta times the grid's diagonal is {beta_per_m * diagonal_m:.0f} nats; at most 700 can be drawn exactly.",
        "Take part only with a smaller beta or a smaller grid.",
    )


def _output_weights(values: object, cells: int, floor: float, caps: Caps) -> FloatArray:
    if not isinstance(values, Sequence) or len(values) != cells:
        raise VerificationFailed("c does not have one weight per cell.", _DO_NOT)
    weights = [_number(value, "c") for value in values]
    _require(caps.smallest_floor <= floor <= 1, f"The floor is {floor:g}; the least is {caps.smallest_floor:g}.")
    _require(min(weights) >= (1 - 1e-9) * floor / cells, "Some c lies below the floor.")
    total = math.fsum(weights)
    _require(abs(total - 1) <= 1e-9, f"c sums to {total:.12g}, not 1.")
    if cells > caps.fewest_effective_cells:
        share, effective = max(weights), math.exp(-math.fsum(weight * math.log(weight) for weight in weights))
        _require(share <= caps.largest_share, f"c puts {share:.0%} on one cell; the most is {caps.largest_share:.0%}.")
        _require(
            effective >= caps.fewest_effective_cells,
            f"c is concentrated on {effective:.1f} cells; at least {caps.fewest_effective_cells:g} are needed.",
        )
    kept: FloatArray = read_only(weights)
    return kept


def pack_log_weights(weights: FloatArray) -> str:
    """log c as little-endian float32 in base64: what a device remembers of the last channel."""
    return base64.b64encode(struct.pack(f"<{len(weights)}f", *map(math.log, weights))).decode("ascii")


def terms(offer: Offer) -> dict[str, float | str | None]:
    """What a device agrees to when it joins: the grid, beta and what it promises, floor, rhythm and tickets.

    Only the weights of a channel that follows the map may change afterwards, within the caps.
    """
    grid = {name: getattr(offer.grid, name) for name in ("rows", "columns", *_GRID_NUMBERS)}
    promise = "epsilon" if offer.tight else "mutual-information"
    told = {"beta_per_m": offer.beta_per_m, "promise": promise, "floor": offer.floor}
    round_s = None if offer.tickets is None else offer.tickets.round_s
    tickets = {"tickets": "linkable" if offer.tickets is None else "blind", "round_s": round_s}
    return {**grid, **told, "reporting": offer.reporting, "epoch_cycles": offer.epoch_cycles, **tickets}


def changed_terms(offer: Offer, memory: CampaignMemory) -> list[str]:
    """The names of what is no longer as this device agreed to it; none before it has joined."""
    if "agreed" not in memory:
        return []
    agreed = _agreed(memory)
    return [name for name, now in terms(offer).items() if agreed.get(name) != now]


def _agreed(memory: CampaignMemory) -> dict[str, float | str | None]:
    # Whoever joined before there was a choice agreed to the tickets there were.
    return {"tickets": "linkable", **memory["agreed"]}


def check_against_memory(offer: Offer, memory: CampaignMemory, *, caps: Caps) -> None:
    """Refuse what is not as agreed, a second version within a cycle, a cycle that runs backwards, a c that jumps."""
    known = memory["versions"].get(str(offer.cycle))
    _require(
        known in (None, offer.version),
        f"The server showed two channel versions within cycle {offer.cycle}: it may be singling people out.",
        "Do not take part, and publish both versions.",
    )
    _require(
        memory.get("rhythm") in (None, offer.rhythm),
        f"The campaign asked each device {memory.get('rhythm')} before, and now {offer.rhythm}.",
        _JOIN_AGAIN,
    )
    for name in changed_terms(offer, memory):
        then, now = _agreed(memory).get(name), terms(offer)[name]
        raise TermsChanged(f"The campaign's {name} was {then} when this device joined, and is now {now}.", _JOIN_AGAIN)
    last = memory.get("last_cycle")
    if last is None or "log_weights" not in memory:
        return
    _require(offer.cycle >= last, f"Cycle {offer.cycle} is older than cycle {last}, seen before.")
    packed = base64.b64decode(memory["log_weights"])
    before = struct.unpack(f"<{len(packed) // 4}f", packed[: len(packed) // 4 * 4])
    _require(len(before) == offer.grid.cells, "The campaign changed its grid.", _JOIN_AGAIN)
    if offer.cycle > last:
        change = max(abs(math.log(now) - then) for now, then in zip(offer.output_weights, before, strict=True))
        limit = caps.change_of_log_weight * (offer.cycle - last) + 1e-5
        _require(change <= limit, f"log c moved by {change:.2f} since cycle {last}; the most is {limit:.2f}.")


def check_log(
    entries: object, offer: Offer, *, seen: Mapping[str, str] | None = None, head: LogHead | None = None
) -> LogHead:
    """The public log is a signed chain that lists this very version for the cycle and goes through ``head``; its head.

    ``seen`` is cycle -> version as this device met them: a log that now says something else was rewritten, not
    appended to.
    """
    log = checked_log(entries, campaign=offer.campaign, public_key=offer.public_key)
    listed = {str(entry["cycle"]): entry["version"] for entry in log}
    _require(
        listed.get(str(offer.cycle)) == offer.version,
        "The public log does not list exactly this channel version for the cycle.",
    )
    _require(
        all(listed.get(cycle) == version for cycle, version in (seen or {}).items()),
        "The public log was rewritten: it does not list a version this device saw before.",
        "Do not take part, and publish both logs.",
    )
    if head is not None and head["public_key"] == offer.public_key:
        check_extends(log, head, whose="This device")
    return head_at(log, -1, public_key=offer.public_key)
