"""What the adversary of the audit believes, as the map shows it: their best guess and its 68% half-width."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.adversary.audit import noise_law
from sfumato.adversary.posterior import believe
from sfumato.arrays import FloatArray
from sfumato.errors import SfumatoError
from sfumato.frames import differences_m, displace, unroll
from sfumato.priors.kernels import kernel_from_dict
from sfumato.traces import Trace

# Beyond this the guess is not drawn (the audit's own numbers still are): a page should not take minutes.
MOST_GUESSED = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The best guess in degrees, or None where it was not computed, and the 68% half-width in metres."""

    lat_deg: FloatArray | None
    lon_deg: FloatArray | None
    half_width_m: float


def adversary_view(
    original: Trace, release: Trace, certificate: Mapping[str, Any], audit: Mapping[str, Any] | None
) -> View | None:
    """The guess of the audit's adversary; None without an audit."""
    if audit is None or audit.get("interval_68_m") is None:
        return None
    half_width_m = float(audit["interval_68_m"])
    description = (audit.get("prior_used") or {}).get("kernel")
    if not isinstance(description, Mapping) or len(original) > MOST_GUESSED:
        return View(None, None, half_width_m)
    order = np.argsort(original.times_s, kind="stable")
    lat, lon = original.lat_deg[order], original.lon_deg[order]
    truth = unroll(lat, lon)
    truth -= truth.mean(axis=0)
    moved = differences_m(lat, lon, release.lat_deg[order], release.lon_deg[order])
    try:
        noise, _ = noise_law(certificate)
        belief = believe(original.times_s[order], truth + moved, prior=kernel_from_dict(description), noise=noise)
    except SfumatoError:
        return View(None, None, half_width_m)
    guess_lat, guess_lon = displace(lat, lon, belief.mean_m - truth)
    back = np.argsort(order, kind="stable")
    return View(guess_lat[back], guess_lon[back], half_width_m)
