"""The sentences of a certificate: what is assumed, covered and not covered, each with its conditions.

Every sentence is derived from the mechanism and its losses, so that verification can write it again and compare.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sfumato.guarantees import IDEALISED, Guarantee
from sfumato.mechanisms.traces.chosen_secrets import SecretNoise
from sfumato.mechanisms.traces.independent import IndependentNoise
from sfumato.mechanisms.traces.interface import Losses, TraceNoise
from sfumato.mechanisms.traces.multiscale.bound import restart_multiplier
from sfumato.mechanisms.traces.multiscale.noise import MultiscaleNoise
from sfumato.mechanisms.traces.planar_laplace import LaplaceNoise
from sfumato.priors.classes import PRIOR_CLASSES, PriorClass
from sfumato.secret import TIMES_ARE_PUBLIC

GAP_LONGEST_SCALES = 5.0

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


def class_name(prior_class: PriorClass) -> str:
    """``day``, ``week``, ``year``, one of them ``without offset``, or ``custom``."""
    for name, known in PRIOR_CLASSES.items():
        if known.to_dict() == prior_class.to_dict():
            return name
        if replace(known, offset=False).to_dict() == prior_class.to_dict():
            return f"{name} without offset"
    return "custom"


def releases(mechanism: TraceNoise) -> dict[str, Any]:
    """Whether the noise continues, or of how many redraws this is one, and what that means."""
    if isinstance(mechanism, MultiscaleNoise) and mechanism.key is not None:
        return {
            "mode": "continuing",
            "meaning": "The noise is one process per person: any number of releases made with the same state, in "
            "any order, together keep the losses stated.",
        }
    redraws = int(getattr(mechanism, "redraws", 1))
    out: dict[str, Any] = {"mode": "redrawn", "redraws": redraws, "loss_multiplier": redraws}
    alone = "This release's noise was drawn for it alone"
    if isinstance(mechanism, IndependentNoise):
        held = "it alone" if redraws == 1 else f"{redraws} releases of one person at these same times together"
        return {
            **out,
            "meaning": f"{alone}. The losses stated hold for {held}; releases at other times are not counted.",
        }
    held = "" if redraws == 1 else f", as one of {redraws}; the losses stated hold for all {redraws} together"
    out["meaning"] = f"{alone}{held}. Every further release of the same person adds as much again."
    if isinstance(mechanism, MultiscaleNoise):
        longest = mechanism.ladder.longest_s
        gap = GAP_LONGEST_SCALES * longest
        out["gap_s"] = gap
        out["gap_rule"] = (
            f"Releases that lie at least {GAP_LONGEST_SCALES:g} longest length scales apart count as one for the "
            f"worst_loss of a path around a known mean, up to a factor of {restart_multiplier(gap, longest):.4f}. With "
            "an unknown offset, and for stay_loss, they never do: every redraw is counted (use --state)."
        )
    return out


def guarantee(
    mechanism: TraceNoise,
    losses: Losses,
    promised: Mapping[str, Any],
    *,
    snap_m: float,
    simulation: bool,
) -> Guarantee:
    """The promise in words, with its assumptions and its limits."""
    radius, order = promised["radius_m"], promised["order"]
    stays = isinstance(mechanism, MultiscaleNoise) and losses.stay_loss is not None
    not_covered = NOT_COVERED if stays else (*NOT_COVERED, STAYS_NOT_COVERED)
    numerics = f"{IDEALISED}; released positions are snapped after the noise to a public grid of {snap_m:g} m"
    if isinstance(mechanism, LaplaceNoise):
        return Guarantee(
            notion="geo-indistinguishability of each point",
            parameters={name: promised[name] for name in ("epsilon", "radius_m", "odds_per_point")}
            | {"epsilon_per_m": mechanism.epsilon_per_m},
            assumes=("nothing about where you might be, for one report on its own",),
            covers=("where you were at any one released moment, against an adversary who sees that report only",),
            not_covered=(
                "The path: points of one trace tell about one another, and their losses add up.",
                *not_covered,
            ),
            numerics=numerics,
            simulation=simulation,
        )
    parameters = {name: promised[name] for name in ("epsilon", "order", "radius_m", "mu", "odds_99")}
    if isinstance(mechanism, SecretNoise):
        notion, secret_assumes, secret_covers = mechanism.statement()
        return Guarantee(
            notion=notion,
            parameters=parameters,
            assumes=(*secret_assumes, "the adversary may know the mean path exactly"),
            covers=secret_covers,
            not_covered=(
                "Every way of moving other than the one kernel under 'prior'; secrets.loss_over_class says how much "
                "more the members of a class can give away.",
                "An unknown place stayed at during the protected moments: stay_loss (stay_odds_99) is what it can give "
                "away.",
                *(
                    ()
                    if mechanism.every_point()
                    else ("Every moment that is not listed under 'secrets'.", TIMES_ARE_PUBLIC)
                ),
                *not_covered,
            ),
            numerics=numerics,
            simulation=simulation,
        )
    apart = (
        f"two places at most {radius:g} m apart stay indistinguishable (Rényi divergence of order {order:g} at most "
        "epsilon)"
    )
    covers = [f"where you were at any one moment, released or not: {apart}"]
    secrets = "at every moment"
    if isinstance(mechanism, MultiscaleNoise):
        assumes, covers = _multiscale(mechanism, losses, apart)
    elif isinstance(mechanism, IndependentNoise):
        assumes = [class_words(mechanism.prior_class)]
        secrets = "at the released moments"
        covers = [
            f"where you were at any one of the released moments: {apart}",
            "a path with an unknown offset, a moment between the released ones, or one place stayed at throughout: at "
            "most stay_loss (stay_odds_99), the number of distinct times over the noise variance",
            "this release at its own times only",
        ]
    else:
        assumes = ["the path moves like the kernel under 'prior', with any sd"]
    return Guarantee(
        notion=f"conditional inferential privacy (Gaussian priors, basic secrets {secrets})",
        parameters=parameters,
        assumes=(*assumes, "the adversary may know the mean path exactly; the noise is independent of the path"),
        covers=tuple(covers),
        not_covered=not_covered,
        numerics=numerics,
        simulation=simulation,
    )


def _multiscale(mechanism: MultiscaleNoise, losses: Losses, apart: str) -> tuple[list[str], list[str]]:
    """(assumes, covers) of multiscale noise: the offset's condition stands beside the promise it limits."""
    bound = mechanism.bound()
    assumes = [class_words(mechanism.prior_class)]
    covers = [f"where you were at any one moment, released or not: {apart}"]
    if bound.free_offset_sd is not None and losses.stay_loss is not None:
        covers[0] += "; with an unknown offset under the condition of the next line"
        share = bound.free_offset_share
        covers.append(
            "an unknown constant offset of the whole path: inside worst_loss while the path's own sd is at least "
            f"{bound.free_offset_sd * mechanism.noise_m:.3g} m"
            + (f" or the offset's at most {share:.3g} times it" if share and math.isfinite(share) else "")
            + ", and never beyond stay_loss"
        )
        covers.append(
            "one unknown place, stayed at for any time or any number of nights: at most stay_loss (stay_odds_99), "
            f"{_reach(mechanism)}"
        )
    covers.append("any timestamps, sampling rate and duration")
    return assumes, covers


def _reach(mechanism: MultiscaleNoise) -> str:
    if mechanism.key is not None:
        return "over all releases made with the same noise state"
    if mechanism.redraws > 1:
        return f"in {mechanism.redraws} releases together; nights in further releases add up"
    return "in this release; nights in further releases add up"


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
