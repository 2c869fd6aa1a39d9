"""Obfuscation on the device: take part in a collection without the true place leaving it.

No function here takes a seed: every report and every noise draw uses the operating system's entropy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.accountant.device import Budget, Device
    from sfumato.collect.client.offer import Caps, Offer
    from sfumato.collect.client.participant import NotSent, NotYet, Participant, Prepared
    from sfumato.collect.client.reveals import Reveals

_HOMES = {
    "Budget": "sfumato.accountant.device",
    "Caps": "sfumato.collect.client.offer",
    "Device": "sfumato.accountant.device",
    "NotSent": "sfumato.collect.client.participant",
    "NotYet": "sfumato.collect.client.participant",
    "Offer": "sfumato.collect.client.offer",
    "Participant": "sfumato.collect.client.participant",
    "Prepared": "sfumato.collect.client.participant",
    "Reveals": "sfumato.collect.client.reveals",
}

__all__ = [
    "Budget",
    "Caps",
    "Device",
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
        raise AttributeError(f"module 'sfumato.collect.client' has no attribute '{name}'")
    found: object = getattr(import_module(home), name)
    return found
