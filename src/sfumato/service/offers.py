"""What a campaign publishes: the specification an operator asked for, and each cycle's signed channel.

A channel is offered as text (grid, beta, output weights, cycle), never as rows: a device builds its own row, so the
bound 2 beta holds whatever the weights are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sfumato.arrays import FloatArray
from sfumato.client.wire import canonical_json, channel_version, log_entry, to_base64url
from sfumato.errors import InputError
from sfumato.grid import Grid
from sfumato.mechanisms.grids.grid_channel import GridChannel
from sfumato.service.models import CampaignRequest
from sfumato.service.settings import Settings
from sfumato.service.store import NewCycle

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


def specification(request: CampaignRequest, settings: Settings) -> dict[str, Any]:
    """A campaign's plain description: the request with the settings' defaults filled in, and checked."""
    asked = request.model_dump()
    if (asked["beta_per_m"] is None) == (asked["epsilon_per_km"] is None):
        raise InputError("A campaign has either beta_per_m or epsilon_per_km.", "Give one of them.")
    grid = Grid.from_bounds(**asked.pop("grid"))
    limit = settings.whole("cells_limit")
    if grid.cells > limit:
        raise InputError(f"The grid has {grid.cells} cells; this server allows {limit}.", "Use larger cells.")
    # Any output weights give at most 2 beta, so half of epsilon is safe for every cycle to come.
    beta_per_m = asked["beta_per_m"] or asked["epsilon_per_km"] / 2000
    if asked["cycle_duration_s"] is None and asked["cycle_reports"] is None:
        asked["cycle_duration_s"] = settings.whole("cycle_duration_s")
    for name in ("minimum_cycle_s", "minimum_tickets", "floor", "relayed_cap_reports"):
        if asked[name] is None:
            asked[name] = settings.values[name]
    del asked["epsilon_per_km"], asked["name"]
    return {**asked, "title": asked["title"] or request.name, "grid": grid.to_dict(), "beta_per_m": beta_per_m}


def grid_of(specification: Mapping[str, Any]) -> Grid:
    """The campaign's grid."""
    return Grid.from_dict(specification["grid"])


def channel_of(specification: Mapping[str, Any], weights: FloatArray) -> GridChannel:
    """A channel of this campaign."""
    return GridChannel(grid_of(specification), specification["beta_per_m"], weights)


def channel_from_payload(payload: str) -> GridChannel:
    """The channel that a published text describes."""
    offer = json.loads(payload)
    return GridChannel(Grid.from_dict(offer["grid"]), offer["beta_per_m"], np.array(offer["output_weights"]))


def new_cycle(
    signer: Signer,
    *,
    name: str,
    specification: Mapping[str, Any],
    number: int,
    channel: GridChannel,
    facts: Mapping[str, Any],
    previous: str,
    now_s: int,
) -> NewCycle:
    """A cycle ready to be opened: its text, version, signature and its entry in the log."""
    offer = {
        "campaign": name,
        "cycle": number,
        "grid": channel.grid.to_dict(),
        "beta_per_m": float(specification["beta_per_m"]),
        "output_weights": channel.output_weights.tolist(),
        "floor": float(specification["floor"]),
        "reporting": specification["reporting"],
    }
    payload = canonical_json(offer)
    version = channel_version(payload)
    entry = log_entry(campaign=name, index=number - 1, cycle=number, version=version, previous=previous)
    duration = specification["cycle_duration_s"]
    return NewCycle(
        number=number, version=version, payload=payload.decode("utf-8"), signature=signer.sign(payload), facts=facts,
        opened_at_s=now_s, due_at_s=None if duration is None else now_s + int(duration),
        previous=previous, entry=entry, entry_signature=signer.sign(entry.encode("ascii")),
    )  # fmt: skip
