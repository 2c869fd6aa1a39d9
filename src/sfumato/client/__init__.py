"""Obfuscation on the device: take part in a collection, or share a live trace, without the true place leaving it.

No function here takes a seed: every report and every noise draw uses the operating system's entropy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.client.device import Budget, Device
    from sfumato.client.live import LiveTrace
    from sfumato.client.offer import Caps, Offer
    from sfumato.client.participant import NotSent, NotYet, Participant, Prepared
    from sfumato.client.reveals import Reveals

_HOMES = {
    "Budget": "device",
    "Caps": "offer",
    "Device": "device",
    "LiveTrace": "live",
    "NotSent": "participant",
    "NotYet": "participant",
    "Offer": "offer",
    "Participant": "participant",
    "Prepared": "participant",
    "Reveals": "reveals",
}

__all__ = [
    "Budget",
    "Caps",
    "Device",
    "LiveTrace",
    "NotSent",
    "NotYet",
    "Offer",
    "Participant",
    "Prepared",
    "Reveals",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sfumato.client' has no attribute '{name}'")
    found: object = getattr(import_module(f"sfumato.client.{home}"), name)
    return found
