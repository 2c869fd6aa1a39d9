"""What a campaign offers: its specification and each cycle's signed channel.

A channel is offered as text (grid, beta, output weights, cycle, the key of its tickets), never as rows: a device builds
its own row, so the bound 2 beta holds whatever the weights are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sfumato.base.errors import InputError, SfumatoError
from sfumato.base.things.areas import Areas
from sfumato.base.things.grid import Grid
from sfumato.collect.cities import city as city_counts
from sfumato.collect.client.blind_tickets import KIND
from sfumato.collect.client.offer import Caps, check_offer
from sfumato.collect.client.wire import canonical_json, channel_version, log_entry, to_base64url
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.loop.districts import Districts
from sfumato.collect.loop.loop import DEFAULT_PROMISE
from sfumato.collect.loop.rhythm import Calendar, checked_rhythm
from sfumato.collect.service.models.bodies import CampaignRequest
from sfumato.collect.service.models.kept import (
    ChannelFacts,
    District,
    GridFields,
    PublishedChannel,
    PublishedTickets,
    Specification,
    border_parts,
)
from sfumato.collect.service.models.replies import Refused
from sfumato.collect.service.rounds.round_key import RoundKey
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store.records import NewCycle

FIRST_PREVIOUS = "0" * 64
_TITLES = {"paris": "Demonstration: Paris", "sf": "Demonstration: San Francisco"}
_BETA_PER_M = 0.001


@dataclass(frozen=True, slots=True, eq=False)
class Signer:
    """The server's Ed25519 key."""

    key: Ed25519PrivateKey

    @classmethod
    def from_seed(cls, seed: bytes) -> Signer:
        """The key with this 32-byte seed."""
        return cls(Ed25519PrivateKey.from_private_bytes(seed))

    @property
    def public_key(self) -> str:
        """The key that verifies, as base64url."""
        return to_base64url(self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def sign(self, message: bytes) -> str:
        """The signature as base64url."""
        return to_base64url(self.key.sign(message))


def specification(request: CampaignRequest, settings: Settings) -> Specification:
    """A campaign's plain description: the request with the settings' defaults filled in, and checked."""
    grid = Grid.from_bounds(**dict(request.grid))
    if request.beta_per_m is not None and request.epsilon_per_km is None:
        beta_per_m = request.beta_per_m
    elif request.epsilon_per_km is not None and request.beta_per_m is None:
        # Any output weights give at most 2 beta: half of epsilon is safe for every cycle to come. Beta is of the plane.
        beta_per_m = request.epsilon_per_km / 2000 / grid.ground_stretch
    else:
        raise InputError("A campaign has either beta_per_m or epsilon_per_km.", "Give one of them.")
    limit, accepted = settings.whole("cells_limit"), Caps().cells
    if grid.cells > accepted:
        raise InputError(f"The grid has {grid.cells} cells; devices accept {accepted}.", "Use larger cells.")
    if grid.cells > limit:
        raise InputError(f"The grid has {grid.cells} cells; this server allows {limit}.", "Use larger cells.")
    duration_s = request.cycle_duration_s
    if duration_s is None and request.cycle_reports is None:
        duration_s = settings.whole("cycle_duration_s")
    calendar = Calendar(request.cycle_classes, request.time_zone, request.begins_hour)
    calendar.check_cycle(duration_s)
    calendar.check_steps(duration_s)
    checked_rhythm(request.reporting, request.epoch_cycles)
    known = districts_of(request.areas, request.name_field, grid)
    asked = {name: value for name, value in request if name in Specification.model_fields and value is not None}
    usual = {name: settings.whole(name) for name in ("minimum_cycle_s", "minimum_tickets", "relayed_cap_reports")}
    fixed = {"title": request.title or request.name, "grid": GridFields.of(grid), "beta_per_m": beta_per_m}
    if known is not None:
        fixed["districts"] = District.each(known.names, known.of_cell)
        fixed["district_parts"] = border_parts(known.of_cell, known.chosen)
    times = {"cycle_duration_s": duration_s, "cycle_reports": request.cycle_reports}
    return Specification(**{"floor": settings.number("floor"), **usual, **asked, **fixed, **times})


def districts_of(areas: dict[str, object] | None, name_field: str | None, grid: Grid) -> Districts | None:
    """The squares of each named area of a GeoJSON object, where one is given."""
    return None if areas is None else Districts.within(Areas.read(areas, name_field=name_field), grid)


def channel_from_payload(payload: str) -> GridChannel:
    """The channel that a published text describes."""
    published = PublishedChannel.model_validate_json(payload)
    return GridChannel(published.grid.to_grid(), published.beta_per_m, np.array(published.output_weights))


def new_cycle(
    signer: Signer,
    *,
    name: str,
    specification: Specification,
    number: int,
    channel: GridChannel,
    facts: ChannelFacts,
    previous: str,
    now_s: int,
) -> NewCycle:
    """A cycle ready to be opened: its text, version, signature, its entry in the log and the key of its tickets."""
    ticket_key = RoundKey.new() if specification.tickets == "blind" else None
    published = PublishedChannel(
        campaign=name,
        cycle=number,
        grid=GridFields.of(channel.grid),
        beta_per_m=channel.beta,
        output_weights=tuple(channel.output_weights.tolist()),
        floor=specification.floor,
        reporting=specification.reporting,
        epoch_cycles=specification.epoch_cycles,
        tickets=None if ticket_key is None else _published(ticket_key, specification, now_s),
    )
    # What is not asked is not said: the text of a campaign without epochs is what devices have always read.
    payload = canonical_json(published.model_dump(exclude_none=True))
    version = channel_version(payload)
    entry = log_entry(campaign=name, index=number - 1, cycle=number, version=version, previous=previous)
    return NewCycle(
        number=number,
        version=version,
        payload=payload.decode("utf-8"),
        signature=signer.sign(payload),
        facts=facts,
        opened_at_s=now_s,
        due_at_s=specification.due_at_s(now_s),
        previous=previous,
        entry=entry,
        entry_signature=signer.sign(entry.encode("ascii")),
        ticket_key=None if ticket_key is None else ticket_key.kept,
    )


def _published(key: RoundKey, asked: Specification, now_s: int) -> PublishedTickets:
    # A round that also ends when it has enough reports has no end that a device could wait for.
    round_s, due_s = asked.cycle_duration_s if asked.cycle_reports is None else None, asked.due_at_s(now_s)
    # Devices pin the length: a round that begins by the clock is told from its end, whenever it was opened.
    began_s = now_s if round_s is None or due_s is None else due_s - round_s
    return PublishedTickets(kind=KIND, key=key.published, opened_at_s=began_s, round_s=round_s)


def refuse_what_devices_refuse(asked: Specification, cycle: NewCycle, public_key: str) -> None:
    """Refuse a campaign that no device would take part in to its end, by the device's own checks and in its own words.

    Its first channel is checked as it is; later ones may cost up to 2 beta where they follow the map.
    """
    for line in Caps().too_much(asked.grid.to_grid(), epsilon_per_km=asked.level_never_above_per_km):
        raise InputError(f"No device would take part. {line}", "Change the campaign, and try again.")
    offered = {"payload": cycle.payload, "version": cycle.version, "signature": cycle.signature}
    try:
        check_offer({**offered, "public_key": public_key}, caps=Caps())
    except SfumatoError as error:
        raise InputError(f"No device would take part. {error.what}", "Change the campaign, and try again.") from error


def refuse_brackets(asked: Specification, settings: Settings) -> None:
    """Refuse a campaign for people whose privacy notice still has brackets; a rehearsal may have them."""
    if asked.brackets and not asked.rehearsal and settings.whole("complete_notices"):
        raise Refused(
            409,
            f"The privacy notice is not complete: {', '.join(asked.brackets)}. "
            "Fill that in, or create the campaign as a rehearsal.",
        )


def demonstration(city: str, settings: Settings) -> tuple[str, Specification]:
    """The name and specification of the demonstration campaign of ``city``."""
    if city not in _TITLES:
        raise InputError(f"There is no demonstration of '{city}'.", "Choose paris, sf or none.")
    grid = city_counts(city).grid
    assert grid is not None
    return city, Specification(
        title=_TITLES[city],
        grid=GridFields.of(grid),
        beta_per_m=_BETA_PER_M,
        cycle_duration_s=settings.whole("cycle_duration_s"),
        cycle_reports=10_000,
        minimum_cycle_s=5,
        minimum_tickets=settings.whole("minimum_tickets"),
        floor=settings.number("floor"),
        reporting="once",
        promise=DEFAULT_PROMISE,
        relayed=False,
        relayed_cap_reports=settings.whole("relayed_cap_reports"),
        rehearsal=True,
    )
