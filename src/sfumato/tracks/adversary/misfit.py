"""Does a trace move like the prior that was fitted to it? Four looks, each with what it would mean.

A fitted kernel is always *some* kernel: its parameters may lie in the class although the person does not move like it.
Under the fitted prior the standardised innovations are independent standard normals. Four things are looked at:

* their excess kurtosis (0 for a Gaussian; its sd is about √(24/n)): stopping and going has heavy tails;
* the share of moments at which the path stood still while it moves elsewhere;
* roughness: whether Matérn-1/2 (as rough as Brownian motion, no member of the class) is likelier by a factor e³;
* routine: whether positions at the same time of another day are closer to one another than the path is wide.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.priors.fit_prior import fit
from sfumato.tracks.priors.kernels import Kernel
from sfumato.tracks.priors.statespace import innovations, is_markov, log_likelihood

FEWEST_POINTS = 30
_KURTOSIS, _STILL_SHARE, _LOG_FACTOR = 1.0, 0.2, 3.0
_SAME_TIME_S, _DAY_S, _MOST = 300.0, 86400.0, 4000


def misfits(times_s: FloatArray, positions_m: FloatArray, prior: Kernel) -> list[str]:
    """Why the trace does not move like ``prior``, in words; empty where nothing speaks against it."""
    times, first = np.unique(times_s, return_index=True)
    path = positions_m[first] - positions_m[first].mean(axis=0)
    if times.size < FEWEST_POINTS or not is_markov(prior):
        return []
    found = [_heavy(times, path, prior), _still(times, path), _rough(times, path, prior), _routine(times, path)]
    return [words for words in found if words is not None]


def _heavy(times: FloatArray, path: FloatArray, prior: Kernel) -> str | None:
    steps = innovations(times, path, prior)[1:].ravel()
    square = float(np.mean(steps**2))
    kurtosis = float(np.mean(steps**4)) / square**2 - 3.0 if square > 0 else 0.0
    if kurtosis <= _KURTOSIS + 4.0 * math.sqrt(24.0 / steps.size):
        return None
    return f"its innovations have heavy tails (excess kurtosis {kurtosis:.1f}, 0 for a Gaussian): it stops and goes"


def _still(times: FloatArray, path: FloatArray) -> str | None:
    speed = np.linalg.norm(np.diff(path, axis=0), axis=1) / np.diff(times)
    typical = float(np.quantile(speed, 0.9))
    share = float(np.mean(speed < 0.02 * typical)) if typical > 0 else 1.0
    return (
        None if share < _STILL_SHARE else f"it stands still for {100 * share:.0f}% of its steps and moves in the others"
    )


def _rough(times: FloatArray, path: FloatArray, prior: Kernel) -> str | None:
    some = slice(0, _MOST)
    rough = fit(times[some], path[some], kernel="matern12", unknown_mean=True)
    centred = path[some] - path[some].mean(axis=0)
    gain = log_likelihood(times[some], centred, rough.prior) - log_likelihood(times[some], centred, prior)
    return None if gain <= _LOG_FACTOR else "it is as rough as Brownian motion, which no member of the class is"


def _routine(times: FloatArray, path: FloatArray) -> str | None:
    """The same hours of another day: distances there against the distance of two moments of the path."""
    if times[-1] - times[0] < _DAY_S:
        return None
    step = max(1, times.size // _MOST)
    wanted = times[::step] + _DAY_S
    at = np.clip(np.searchsorted(times, wanted), 1, times.size - 1)
    at -= (wanted - times[at - 1]) < (times[at] - wanted)
    close = np.abs(times[at] - wanted) <= _SAME_TIME_S
    if close.sum() < FEWEST_POINTS:
        return None
    apart = np.linalg.norm(path[at[close]] - path[::step][close], axis=1)
    wide = math.sqrt(2.0) * float(np.sqrt(np.mean(np.sum(path**2, axis=1))))
    if float(np.median(apart)) >= 0.25 * wide:
        return None
    return "it is a routine: at the same time of the next day it is near the same place"
