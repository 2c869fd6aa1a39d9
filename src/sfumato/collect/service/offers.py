"""What a campaign publishes: the specification an operator asked for, and each cycle's signed channel.

A channel is offered as text (grid, beta, output weights, cycle), never as rows: a device builds its own row, so the
bound 2 beta holds whatever the weights are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.collect.client.offer import Caps
from sfumato.collect.client.wire import canonical_json, channel_version, log_entry, to_base64url
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.loop.calendar import Calendar
from sfumato.collect.loop.rhythm import checked_rhythm
from sfumato.collect.service.models.kept import ChannelFacts, GridFields, PublishedChannel, Specification
from sfumato.collect.service.models.requests import CampaignRequest
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store import NewCycle

FIRST_PREVIOUS = "0" * 64


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
    if request.beta_per_m is not None and request.epsilon_per_km is None:
        beta_per_m = request.beta_per_m
    elif request.epsilon_per_km is not None and request.beta_per_m is None:
        # Any output weights give at most 2 beta, so half of epsilon is safe for every cycle to come.
        beta_per_m = request.epsilon_per_km / 2000
    else:
        raise InputError("A campaign has either beta_per_m or epsilon_per_km.", "Give one of them.")
    grid = Grid.from_bounds(**dict(request.grid))
    limit, accepted = settings.whole("cells_limit"), Caps().cells
    if grid.cells > accepted:
        raise InputError(f"The grid has {grid.cells} cells; devices accept {accepted}.", "Use larger cells.")
    if grid.cells > limit:
        raise InputError(f"The grid has {grid.cells} cells; this server allows {limit}.", "Use larger cells.")
    duration_s = request.cycle_duration_s
    if duration_s is None and request.cycle_reports is None:
        duration_s = settings.whole("cycle_duration_s")

    calendar = Calendar(request.cycle_classes, request.time_zone)
    calendar.check_cycle(duration_s)
    checked_rhythm(request.reporting, request.epoch_cycles)

    def chosen(asked: int | None, name: str) -> int:
        return settings.whole(name) if asked is None else asked

    return Specification(
        title=request.title or request.name,
        grid=GridFields.of(grid),
        beta_per_m=beta_per_m,
        cycle_duration_s=duration_s,
        cycle_reports=request.cycle_reports,
        minimum_cycle_s=chosen(request.minimum_cycle_s, "minimum_cycle_s"),
        minimum_tickets=chosen(request.minimum_tickets, "minimum_tickets"),
        floor=settings.number("floor") if request.floor is None else request.floor,
        reporting=request.reporting,
        epoch_cycles=request.epoch_cycles,
        cycle_classes=request.cycle_classes,
        time_zone=request.time_zone,
        promise=request.promise,
        description=request.description,
        contact=request.contact,
        question=request.question,
        organiser=request.organiser,
        language=request.language,
        ends_at_s=request.ends_at_s,
        relayed=request.relayed,
        relayed_cap_reports=chosen(request.relayed_cap_reports, "relayed_cap_reports"),
    )


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
    """A cycle ready to be opened: its text, version, signature and its entry in the log."""
    published = PublishedChannel(
        campaign=name,
        cycle=number,
        grid=GridFields.of(channel.grid),
        beta_per_m=channel.beta,
        output_weights=tuple(channel.output_weights.tolist()),
        floor=specification.floor,
        reporting=specification.reporting,
        epoch_cycles=specification.epoch_cycles,
    )
    # What is not asked is not said: the text of a campaign without epochs is what devices have always read.
    payload = canonical_json(published.model_dump(exclude_none=True))
    version = channel_version(payload)
    entry = log_entry(campaign=name, index=number - 1, cycle=number, version=version, previous=previous)
    duration_s = specification.cycle_duration_s
    return NewCycle(
        number=number,
        version=version,
        payload=payload.decode("utf-8"),
        signature=signer.sign(payload),
        facts=facts,
        opened_at_s=now_s,
        due_at_s=None if duration_s is None else now_s + duration_s,
        previous=previous,
        entry=entry,
        entry_signature=signer.sign(entry.encode("ascii")),
    )
