"""Share a live trace: multiscale noise added to each position as it arrives, with a state that survives restarts.

The noise per axis, in units of ``noise_m``, is moving + white + constant: a sum of independent Matern-3/2 processes of
published length scales and weights, a fresh normal per distinct time, one normal per person
(:class:`sfumato.tracks.noise.multiscale.ladder.Ladder`). Each process is two numbers (x, u), u the slope times
l / sqrt 3, of stationary covariance I. Over a step dt, with s = sqrt 3 dt / l,

    (x, u) <- A (x, u) + L (n1, n2),   A = e^-s [[1+s, s], [-s, 1-s]],   L = Cholesky factor of I - A A^T,

so it is exact at any timestamps, causal and O(1) per position. While the process continues, any number of positions at
any times lose no more than the bound of the whole path, so it is debited once, when the process starts; losing its
state starts another process, which is debited again.

*Order of the normals* (that of :func:`sfumato.tracks.noise.multiscale.ladder.sample_path`, and in JavaScript):
once, the constant east and north; then per time and scale east n1 n2 and north n1 n2; then the white east and north.
A repeated time repeats its release and consumes nothing. One normal is one 64-bit word through
:func:`sfumato.base.randomness.uniforms_from_words` and the inverse normal distribution function.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from importlib.resources import files

import numpy as np
from scipy.special import ndtri

from sfumato.accountant.device import Device, debit
from sfumato.accountant.device_memory import BudgetEntry, LiveMemory, LiveState
from sfumato.base.arrays import FloatArray, positive
from sfumato.base.errors import InputError
from sfumato.base.randomness import randomness
from sfumato.base.things.frames import displace, snap
from sfumato.tracks.noise.multiscale.ladder import Ladder, shipped_ladder

DELTA = 1e-6
SNAP_M = 0.1
FIRST_SHARES = [0.05, 0.1]  # white and constant, of a process that version 0.1.0 began


def shipped_loss(prior_class: str = "day") -> float:
    """The certified loss times the noise variance, an unknown place of any size and length of stay included."""
    entry = json.loads(files("sfumato").joinpath("data", "multiscale.json").read_text())["classes"][prior_class]
    return max(float(entry["worst_loss"]), float(entry["stay_loss"]))


def step_factors(s: float) -> tuple[float, float, float, float, float, float, float]:
    """(a11, a12, a21, a22, l11, l21, l22) of one scale over a step of ``s`` = sqrt 3 dt / l."""
    decay, z = math.exp(-s), 2.0 * s
    decay_2 = math.exp(-z)
    if z < 1:  # e^-z (e^z - 1 - z - z^2/2) as a series: the direct form loses all digits for small steps
        series = 1.0
        for k in range(24, 3, -1):
            series = 1.0 + z / k * series
        q11 = decay_2 * z * z * z / 6.0 * series
    else:
        q11 = 1.0 - decay_2 * (1.0 + z + z * z / 2.0)
    q12 = decay_2 * z * z / 2.0
    q22 = -math.expm1(-z) + decay_2 * (z - z * z / 2.0)
    l11 = math.sqrt(q11)
    l21 = q12 / l11 if l11 > 0 else 0.0
    l22 = math.sqrt(max(0.0, q22 - l21 * l21))
    return decay * (1.0 + s), decay * s, -decay * s, decay * (1.0 - s), l11, l21, l22


def normals_needed(ladder: Ladder, state: LiveState | None, time_s: float) -> int:
    """How many normals :func:`advance` consumes."""
    per_time = 4 * ladder.weights.size + 2
    if state is None:
        return per_time + 2
    return 0 if time_s == state["time_s"] else per_time


def advance(ladder: Ladder, state: LiveState | None, time_s: float, normals: FloatArray) -> LiveState:
    """The state at ``time_s``: a pure function of the normals, the same in JavaScript. Not part of the public API."""
    if not math.isfinite(time_s):
        raise InputError("The time is not finite.", "Give seconds since 1970.")
    if state is not None and time_s < state["time_s"]:
        raise InputError("The time lies before the last one.", "A live trace runs forward; use `protect` for files.")
    if normals.size != normals_needed(ladder, state, time_s):
        raise InputError("The number of normals does not fit the step.")
    if state is not None and time_s == state["time_s"]:
        return state
    draws = iter(normals.tolist())
    constant = [next(draws), next(draws)] if state is None else list(state["constant"])
    scales: list[list[float]] = []
    for number, scale_s in enumerate(ladder.length_scales_s.tolist()):
        fresh = [next(draws) for _ in range(4)]  # east n1, n2, north n1, n2
        if state is not None:
            f = step_factors(math.sqrt(3.0) * (time_s - state["time_s"]) / scale_s)
            before = state["scales"][number]
            for at in (0, 2):
                (x, u), (n1, n2) = before[at : at + 2], fresh[at : at + 2]
                fresh[at] = f[0] * x + f[1] * u + f[4] * n1
                fresh[at + 1] = f[2] * x + f[3] * u + f[5] * n1 + f[6] * n2
        scales.append(fresh)
    return {"time_s": time_s, "constant": constant, "scales": scales, "white": [next(draws), next(draws)]}


def displacement(ladder: Ladder, state: LiveState, *, noise_m: float) -> tuple[float, float]:
    """The noise at the state's time, east and north, in metres."""
    shares = [math.sqrt(variance) for variance in ladder.variances.tolist()]
    white, constant = math.sqrt(ladder.white_share), math.sqrt(ladder.constant_share)
    found = []
    for axis in (0, 1):
        total = white * state["white"][axis]
        for share, scale in zip(shares, state["scales"], strict=True):
            total += share * scale[2 * axis]
        found.append(noise_m * (total + constant * state["constant"][axis]))
    return found[0], found[1]


@dataclass(frozen=True, slots=True)
class LiveBudget:
    """What the whole process costs, once: (epsilon, delta) for two places at most 1 km apart at any one time."""

    mu_per_km: float
    epsilon_per_km: float
    delta: float


def live_budget(loss: float, *, noise_m: float, delta: float = DELTA) -> LiveBudget:
    """mu = 1 km sqrt(loss) / noise (the loss is certified times the variance); epsilon <= mu^2/2 + mu z(1-delta).

    epsilon(d)/d grows with the distance, so the figure for 1 km holds, in proportion, for every shorter one.
    """
    mu = 1000.0 * math.sqrt(loss) / positive(noise_m, "noise_m")
    return LiveBudget(mu, mu * mu / 2 + mu * -float(ndtri(delta)), delta)


class LiveTrace:
    """One person's continuing noise on this device. ``name`` tells processes apart; one is enough for most people."""

    def __init__(self, *, noise_m: float, device: Device | None = None, name: str = "live") -> None:
        self.noise_m: float = positive(noise_m, "noise_m", at_most=1e6)
        self.device: Device = device or Device()
        self.name = name
        self._ladder, self._loss = shipped_ladder("day"), shipped_loss()
        self.budget: LiveBudget = live_budget(self._loss, noise_m=self.noise_m)

    def release(self, lat_deg: float, lon_deg: float, time_s: float) -> tuple[float, float]:
        """The position to share instead of the true one. The state is on disk before this returns."""
        with self.device.change() as memory:
            kept = memory["live"].get(self.name)
            if kept is not None and kept["noise_m"] != self.noise_m:
                raise InputError(
                    f"This process adds {kept['noise_m']:g} m, not {self.noise_m:g} m.",
                    "Use the same noise, or another name (which is another process and is debited again).",
                )
            if kept is None:
                entry: BudgetEntry = {
                    "what": "live trace",
                    "epsilon_per_km": self.budget.epsilon_per_km,
                    "delta": self.budget.delta,
                    "name": self.name,
                    "noise_m": self.noise_m,
                }
                debit(memory, entry)
            state = None if kept is None else kept["state"]
            shares = _shares(self._ladder) if kept is None else kept.get("shares", FIRST_SHARES)
            # A process goes on as it began: its constant at two sizes would give itself away.
            ladder = replace(self._ladder, white_share=shares[0], constant_share=shares[1])
            # Two places at one time would share their noise.
            if kept is not None and float(time_s) == kept["state"]["time_s"]:
                return kept["released"][0], kept["released"][1]
            normals = randomness(None).normals(normals_needed(ladder, state, float(time_s)))
            state = advance(ladder, state, float(time_s), np.asarray(normals))
            moves = [displacement(ladder, state, noise_m=self.noise_m)]
            lat, lon = snap(*displace([lat_deg], [lon_deg], moves), SNAP_M)
            released = [float(lat[0]), float(lon[0])]
            going: LiveMemory = {"noise_m": self.noise_m, "shares": shares, "state": state, "released": released}
            memory["live"][self.name] = going
        return released[0], released[1]


def _shares(ladder: Ladder) -> list[float]:
    return [ladder.white_share, ladder.constant_share]
