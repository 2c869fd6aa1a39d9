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
    "sfumato.accountant.device": ("Budget", "Device"),
    "sfumato.collect.client.offer": ("Caps", "Offer"),
    "sfumato.collect.client.participant": ("NotSent", "NotYet", "Participant", "Prepared"),
    "sfumato.collect.client.reveals": ("Reveals",),
}

__all__ = ["Budget", "Caps", "Device", "NotSent", "NotYet", "Offer", "Participant", "Prepared", "Reveals"]


def __getattr__(name: str) -> object:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'sfumato.collect.client' has no attribute '{name}'")
    found: object = getattr(import_module(home), name)
    return found
