"""Obfuscation on the device: take part in a collection, or share a live trace, without the true place leaving it.

No function here takes a seed: every report and every noise draw uses the operating system's entropy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Budget": "device",
    "Caps": "offer",
    "Device": "device",
    "LiveTrace": "live",
    "NotSent": "participant",
    "Offer": "offer",
    "Participant": "participant",
    "Prepared": "participant",
    "Reveals": "reveals",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sfumato.client' has no attribute '{name}'")
    return getattr(import_module(f"sfumato.client.{home}"), name)
