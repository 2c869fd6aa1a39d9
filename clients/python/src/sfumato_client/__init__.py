"""Take part in a sfumato collection from a small device: plain Python, nothing but the standard library.

The same names, checks and draws as ``sfumato.collect.client``; the golden files of the repository hold for both.
No function here takes a seed: every report uses the operating system's entropy.
"""

from __future__ import annotations

from sfumato_client.device import Budget, Device
from sfumato_client.offer import Caps, Offer
from sfumato_client.participant import NotSent, Participant, Prepared
from sfumato_client.reveals import Reveals
from sfumato_client.version import __version__

__all__ = ["Budget", "Caps", "Device", "NotSent", "Offer", "Participant", "Prepared", "Reveals", "__version__"]
