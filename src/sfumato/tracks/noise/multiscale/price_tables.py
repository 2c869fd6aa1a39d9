"""The tables behind the multiscale noise: what each class of priors costs, and why the shares are what they are."""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray, Solved
from sfumato.tracks.noise.multiscale.ladder import Ladder, balance_shares, noise_covariance, shipped_ladder
from sfumato.tracks.noise.multiscale.solve import design_ladder
from sfumato.tracks.noise.multiscale.universal_bound import UniversalBound, universal_bound
from sfumato.tracks.priors.classes import PRIOR_CLASSES, PriorClass, prior_class_named

WHITE_SHARE = 0.05
PRICED_RANGES_S = {
    "20 s - 10 min": (20.0, 600.0),
    "10 s - 1 h": (10.0, 3600.0),
    "10 s - 6 h": (10.0, 21600.0),
    "10 s - 1 week": (10.0, 604800.0),
    "10 s - 1 year": (10.0, 31536000.0),
}
PRICED_KERNELS = (("matern32",), ("matern32", "matern52", "rbf"))


def solve(prior_class: PriorClass) -> tuple[Solved[tuple[FloatArray, FloatArray]], Ladder, UniversalBound]:
    """The best ladder of a class, and its bound with the white and constant shares included."""
    solved = design_ladder(prior_class.kernels, *prior_class.length_scales_s)
    assert solved.objective is not None
    ladder = balance_shares(Ladder(*solved.value, white_share=WHITE_SHARE, constant_share=0.0), solved.objective)
    return solved, ladder, universal_bound(ladder, prior_class)


def price_table() -> list[dict[str, object]]:
    """Least worst loss × o of the multiscale share alone, per range of length scales and kernels: certified."""
    rows = []
    for name_of_range, (low, high) in PRICED_RANGES_S.items():
        row: dict[str, object] = {"range": name_of_range, "length_scales_s": [low, high]}
        for kernels in PRICED_KERNELS:
            solved = design_ladder(kernels, low, high)
            ladder = Ladder(*solved.value, white_share=0.0, constant_share=0.0)
            bound = universal_bound(ladder, PriorClass(kernels, (low, high), nugget_share=0.0, offset=False))
            name = "matern32" if len(kernels) == 1 else "three_kernels"
            row[name] = bound.path_loss
            row[f"{name}_least_possible"] = solved.lower_bound
            row[f"{name}_gap"] = solved.gap
            row[f"{name}_scales"] = int(solved.value[0].size)
        rows.append(row)
    return rows


def shipped_classes() -> dict[str, object]:
    """What ``data/multiscale.json`` holds: the solved ladder of every named class and its certified losses × o."""
    classes = {}
    for name, prior_class in PRIOR_CLASSES.items():
        solved, ladder, bound = solve(prior_class)
        classes[name] = {
            "prior_class": prior_class.to_dict(),
            **ladder.to_dict(),
            "path_loss": solved.objective,
            "path_loss_least_possible": solved.lower_bound,
            "worst_loss": bound.worst_loss,
            "stay_loss": bound.stay_loss,
        }
    return {
        "format": 1,
        "made_by": "sfumato design multiscale --write",
        "about": "Losses are times the noise variance o per coordinate (1 = floor). Weights sum to 1 and share "
        "1 - white_share - constant_share of o.",
        "classes": classes,
    }


def white_share_table(prior_class: str = "day") -> list[dict[str, object]]:
    """What a white share costs and covers: loss, the nugget it hides for free, and the shape losses it saves.

    ``window_loss`` is λ_max(J) × o for one minute sampled at 5 s (12 of 64 points), Matérn-3/2 prior with length
    scale 66 s, sd 120 m, nugget 1 m, noise 150 m: what a road-map adversary could use.
    """
    rows: list[dict[str, object]] = []
    for share in (0.0, 0.01, 0.02, 0.05, 0.1, 0.2):
        members = prior_class_named(prior_class)
        if share == 0:
            members = PriorClass(members.kernels, members.length_scales_s, nugget_share=0.0)
        ladder = shipped_ladder(prior_class, white_share=share)
        bound = universal_bound(ladder, members)
        rows.append(
            {
                "white_share": share,
                "worst_loss": bound.worst_loss,
                "free_nugget_share": bound.free_nugget_share if share else 0.0,
                "window_loss": _window_loss(ladder),
            }
        )
    return rows


def _window_loss(ladder: Ladder) -> float:
    times: FloatArray = np.linspace(0.0, 315.0, 64)
    x = math.sqrt(3.0) * np.abs(times[:, None] - times[None, :]) / 66.0
    prior = 120.0**2 * (1.0 + x) * np.exp(-x) + np.eye(64)
    noise = noise_covariance(ladder, times, 150.0**2)
    posterior = prior - prior @ np.linalg.solve(prior + noise, prior)
    window = np.arange(26, 38)
    loss = np.linalg.inv(posterior[np.ix_(window, window)]) - np.linalg.inv(prior[np.ix_(window, window)])
    return float(np.linalg.eigvalsh(loss)[-1]) * 150.0**2


def constant_share_table(prior_class: str = "day") -> list[dict[str, object]]:
    """What a constant share costs and covers: the losses × o of one constant unknown place, stay by stay.

    A stay sampled every minute; 30 nights of 8 h sampled every 30 min and 120 nights every 80 min (continuing noise).
    """
    stays = {
        "stay_30min": np.arange(0, 1800.0, 60.0),
        "stay_8h": np.arange(0, 28800.0, 60.0),
        "nights_30": (np.arange(30)[:, None] * 86400.0 + np.arange(0, 28800.0, 1800.0)).ravel(),
        "nights_120": (np.arange(120)[:, None] * 86400.0 + np.arange(0, 28800.0, 4800.0)).ravel(),
    }
    rows = []
    members = prior_class_named(prior_class)
    for share in (0.0, 0.05, 0.1, shipped_ladder(prior_class).constant_share, 0.3):
        if share == 0:
            members_here = PriorClass(members.kernels, members.length_scales_s, offset=False)
        else:
            members_here = members
        ladder = shipped_ladder(prior_class, white_share=WHITE_SHARE, constant_share=share)
        bound = universal_bound(ladder, members_here)
        row: dict[str, object] = {"constant_share": share, "worst_loss": bound.worst_loss, "stay_loss": bound.stay_loss}
        for name, times in stays.items():
            noise = noise_covariance(ladder, times)
            row[name] = float(np.linalg.solve(noise, np.ones(times.size)).sum())
        rows.append(row)
    return rows
