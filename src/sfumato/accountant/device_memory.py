"""The fields of a device's memory, the same in Python and JavaScript, and the check of a file that claims to be one.

What does not look like a memory is refused, never repaired: an entry that went missing could be spent again.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict, TypeGuard

FORMAT: Literal["sfumato-device/1"] = "sfumato-device/1"
_LARGEST = 1e300  # sums of such numbers are finite; NaN, and whole numbers too long for a float, are not below it
_WORDS = ("server", "campaign", "epoch", "name", "line", "device")
_HEAD = ("campaign", "public_key", "version", "previous", "entry", "signature")


class BudgetEntry(TypedDict):
    """One thing this device released, what it cost, and about which campaign or live trace."""

    what: str
    epsilon_per_km: float
    delta: float
    server: NotRequired[str]
    campaign: NotRequired[str]
    epoch: NotRequired[str]
    name: NotRequired[str]
    noise_m: NotRequired[float]
    line: NotRequired[str]
    """A random number, so that ledgers that are merged count each line once."""
    device: NotRequired[str]
    """Of a line that another device spent: which, and its place among that device's own lines."""
    place: NotRequired[int]


class KeptReveals(TypedDict):
    """What the channel a report was drawn from gives away."""

    epsilon_per_km: float
    two_beta_per_km: float
    exact: bool
    two_cell_success: float
    two_cell_within_m: float
    two_cell_exact: bool


class KeptTicket(TypedDict):
    """A blind ticket, in hexadecimal: the round's key, the ticket's message, what is signed, what unblinds it."""

    modulus: str
    message: str
    blinded: str
    inverse: str
    signature: NotRequired[str]
    """The operator's, with the blinding taken out: from then on the ticket can be spent."""


class KeptReport(TypedDict):
    """A drawn report, exactly as it is sent."""

    cell: int
    version: str
    cycle: int
    key: str
    state: Literal["drawn", "sent", "closed"]
    drawn_at_s: int
    reveals: NotRequired[KeptReveals]
    ticket: NotRequired[KeptTicket]
    send_at_s: NotRequired[float]
    """When it goes, where this device waits: a random moment that says nothing about when the ticket was asked for."""


class LogHead(TypedDict):
    """One entry of a campaign's public log as it was signed: it covers every entry before."""

    campaign: str
    public_key: str
    index: int
    version: str
    previous: str
    entry: str
    signature: str


class CampaignMemory(TypedDict):
    """What one server has shown of one campaign, and the reports drawn for it, by epoch."""

    versions: dict[str, str]
    reports: dict[str, KeptReport]
    public_key: NotRequired[str]
    last_cycle: NotRequired[int]
    rhythm: NotRequired[str]
    agreed: NotRequired[dict[str, float | str | None]]
    """Every field of the campaign that may not change while this device takes part."""
    head: NotRequired[LogHead]
    """The last entry of the public log that this device saw: a log that does not go through it is another."""
    log_weights: NotRequired[str]
    secret: NotRequired[str]


class LiveState(TypedDict):
    """A live trace's noise at its last time: the constant and white shares, and four numbers per scale."""

    time_s: float
    constant: list[float]
    scales: list[list[float]]
    white: list[float]


class LiveMemory(TypedDict):
    """A live trace that goes on, and the last place it released.

    ``shares`` are the white and the constant share it began with; a memory of version 0.1.0 has none.
    """

    noise_m: float
    shares: NotRequired[list[float]]
    state: LiveState
    released: list[float]


class DeviceMemory(TypedDict):
    """Everything a device remembers."""

    format: Literal["sfumato-device/1"]
    cap_per_km: float
    entries: list[BudgetEntry]
    campaigns: dict[str, CampaignMemory]
    live: dict[str, LiveMemory]
    ledger: NotRequired[str]
    """This device's number in ledgers, made when one is first asked for."""


def empty_memory(cap_per_km: float) -> DeviceMemory:
    """The memory of a device that has released nothing."""
    return {"format": FORMAT, "cap_per_km": cap_per_km, "entries": [], "campaigns": {}, "live": {}}


def is_memory(value: object) -> TypeGuard[DeviceMemory]:
    """Whether these are the fields of a device's memory, each of its kind."""
    if not isinstance(value, dict) or value.get("format") != FORMAT or not _is_number(value.get("cap_per_km")):
        return False
    entries, campaigns, live = value.get("entries"), value.get("campaigns"), value.get("live")
    return (
        isinstance(entries, list)
        and all(map(is_entry, entries))
        and isinstance(campaigns, dict)
        and all(map(_is_campaign, campaigns.values()))
        and isinstance(live, dict)
        and all(map(_is_live, live.values()))
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST


def is_entry(value: object) -> TypeGuard[BudgetEntry]:
    """Whether this is a line of a budget."""
    return (
        _has_texts(value, ("what",))
        and _is_number(value.get("epsilon_per_km"))
        and _is_number(value.get("delta"))
        and _is_number(value.get("noise_m", 0))
        and all(isinstance(value.get(name, ""), str) for name in _WORDS)
    )


def _is_campaign(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    parts = [value.get(name, {}) for name in ("versions", "agreed", "reports")]
    return (
        all(isinstance(part, dict) for part in parts)
        and ("head" not in value or (_has_texts(value["head"], _HEAD) and isinstance(value["head"].get("index"), int)))
        and all(map(_is_report, parts[2].values()))
    )


def _has_texts(value: object, names: tuple[str, ...]) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in names)


def _is_report(value: object) -> bool:
    return (
        _has_texts(value, ("version", "key"))
        and all(isinstance(value.get(name), int) for name in ("cell", "cycle", "drawn_at_s"))
        and value.get("state") in ("drawn", "sent", "closed")
        and ("ticket" not in value or _has_texts(value["ticket"], ("modulus", "message", "blinded", "inverse")))
        and _is_number(value.get("send_at_s", 0))
    )


def _is_live(value: object) -> bool:
    if not isinstance(value, dict) or not _is_number(value.get("noise_m")) or not isinstance(value.get("state"), dict):
        return False
    shares = value.get("shares", [0.0, 0.0])
    return isinstance(shares, list) and len(shares) == 2 and all(_is_number(share) for share in shares)
