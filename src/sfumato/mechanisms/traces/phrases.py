"""Phrases that several mechanisms share: what no noise on positions covers, classes and odds in words."""

from __future__ import annotations

import math
from dataclasses import replace

from sfumato.guarantees import IDEALISED
from sfumato.priors.classes import PRIOR_CLASSES, PriorClass

NOT_COVERED = (
    "The odds and delta average over traces that move like the prior class says; one fixed or atypical trace may fare "
    "worse.",
    "An adversary with a menu of known routes, roads or places (a mixture of means) can learn more.",
    "An adversary who knows where you truly were at a nearby time: knowing one point 10 s or 60 s away has been "
    "measured to give 13.3 or 2.0 times the floor.",
    "Questions about several moments together (direction, speed, the shape of the path) beyond the losses stated.",
    "The times themselves, the gaps between them, the number of points and of segments: they are released as they are.",
    "The whole-degree cell (about 100 km) the path lies in.",
    "Two different positions given for one moment: they get the same noise, so their difference is released as it is.",
    "Anything you asked to keep, and what you tell or publish elsewhere.",
    "Noise state, seed and private report: whoever reads one of them can undo the protection.",
)
STAYS_NOT_COVERED = (
    "A place returned to on many days, or stayed at for longer than the longest length scale: this mechanism has no "
    "constant share, so an unknown place is learned from a long stay."
)
FITTED_WARNING = (
    "The prior was fitted to this very trace, so the noise's shape is chosen from private data: the claim 'nothing was "
    "chosen from the trace' does not hold for this release."
)
KNOWN_MEAN = "the adversary may know the mean path exactly; the noise is independent of the path"


def numerics(snap_m: float) -> str:
    """How far the numbers are idealised."""
    return f"{IDEALISED}; released positions are snapped after the noise to a public grid of {snap_m:g} m"


def class_name(prior_class: PriorClass) -> str:
    """``day``, ``week``, ``year``, one of them ``without offset``, or ``custom``."""
    for name, known in PRIOR_CLASSES.items():
        if known.to_dict() == prior_class.to_dict():
            return name
        if replace(known, offset=False).to_dict() == prior_class.to_dict():
            return f"{name} without offset"
    return "custom"


def class_words(members: PriorClass) -> str:
    """What the promise assumes about how people move."""
    low, high = members.length_scales_s
    sd = "any sd" if math.isinf(members.sd_m[1]) and members.sd_m[0] == 0 else f"sd in {members.sd_m} m"
    return (
        "around a mean the adversary may know, the path is Gaussian with one of the kernels "
        f"{', '.join(members.kernels)}, "
        f"a length scale from {low:g} s to {high:g} s, {sd}, a nugget of at most {members.nugget_share:g} of the sd"
        + (", and an unknown offset" if members.offset else ", and no unknown offset")
    )


def odds_words(odds: float | None) -> str | None:
    """``"5 : 1"``, rounded against us; None where no odds are stated."""
    if odds is None or not math.isfinite(odds):
        return None
    if odds >= 1000:
        return f"{math.ceil(odds):,} : 1".replace(",", " ")
    places = 10 if odds >= 10 else 100
    return f"{math.ceil(odds * places - 1e-6) / places:g} : 1"


def redrawn(redraws: int) -> dict[str, str | int]:
    """The ``releases`` block of noise that is drawn anew for every release."""
    held = "" if redraws == 1 else f", as one of {redraws}; the losses stated hold for all {redraws} together"
    return {
        "mode": "redrawn",
        "redraws": redraws,
        "loss_multiplier": redraws,
        "meaning": f"This release's noise was drawn for it alone{held}. Every further release of the same person adds "
        "as much again.",
    }
