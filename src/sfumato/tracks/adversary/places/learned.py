"""The attacker who learned from other people how gates lie around a home: a conditional logit over the inner disc.

    p(h | gates) ∝ exp Σ_f w_f F_f(h),      F = features of how gates see the candidate h, in units of R

with, per gate at distance r = |h - g| / R: r, r², log(r + .05), the cosine between heading and way to h, whether h lies
behind, nearness to the line of travel, and the detour over the far point; each once averaged over all gates of stops
and once summed over clusters of gates / √clusters (so that evidence grows with different roads, not with repeated
rides). The weights w maximise the likelihood of true homes on *development people* and many drawn zones, one set for
all radii; they ship with where they come from. Nobody is attacked with weights fitted on himself in the evidence.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np

from sfumato.base.arrays import FloatArray, read_only
from sfumato.tracks.adversary.places.zone_view import ZoneView, candidates_m, clusters_of

PER_GATE = ("r", "r²", "log r", "heading", "behind", "on the line", "detour")
FEATURES = (*(f"{name}, clusters" for name in PER_GATE), *(f"{name}, mean" for name in PER_GATE))


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Learned weights per feature, and on whom."""

    values: FloatArray
    fitted_on: str


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """A posterior over candidate places of the inner disc (metres around the zone's centre)."""

    places_m: FloatArray
    share: FloatArray
    inner_radius_m: float

    def likeliest(self, within_m: float = 100.0) -> FloatArray:
        """The place with most belief within ``within_m``: nobody with this belief is more often that near."""
        near = _distances() < within_m / self.inner_radius_m
        return np.asarray(self.places_m[np.argmax(near @ self.share)])

    def nearest_on_average(self) -> FloatArray:
        """The place with the least expected distance."""
        return np.asarray(self.places_m[np.argmin(_distances() @ self.share)])

    def odds(self, place_m: FloatArray) -> float:
        """How much likelier the cell of a place is than the average cell of the inner disc."""
        cell = np.argmin(np.hypot(*(self.places_m - place_m).T))
        return float(self.share[cell] * len(self.share))


@lru_cache(maxsize=1)
def _distances() -> FloatArray:
    """Between all candidates, in inner radii."""
    places = candidates_m(1.0)
    apart: FloatArray = read_only(np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)))
    return apart


@lru_cache(maxsize=1)
def shipped_weights() -> Weights:
    """The weights that ship with the package, fitted on development people only."""
    text = resources.files("sfumato").joinpath("data", "zone_attacker.json").read_text("utf-8")
    found = json.loads(text)
    if tuple(found["features"]) != FEATURES:
        raise ValueError("zone_attacker.json was fitted for other features: run benchmarks/evidence_places.py --fit")
    return Weights(read_only(found["weights"]), str(found["fitted_on"]))


def features(view: ZoneView, places_m: FloatArray) -> FloatArray:
    """(candidates, features) of how the gates of stops see each candidate."""
    stops = view.of_stops()
    way = places_m[None] - stops.gates_m[:, None]
    distance = np.hypot(way[..., 0], way[..., 1])
    cosine = np.einsum("nhk,nk->nh", way, stops.headings) / np.maximum(distance, 1.0)
    r = distance / view.radius_m
    off = r * np.sqrt(np.clip(1.0 - cosine**2, 0.0, 1.0))
    out = np.hypot(*(stops.gates_m - stops.far_m).T)
    whole = np.hypot(*(places_m[None] - stops.far_m[:, None]).transpose(2, 0, 1))
    table = (r, r * r, np.log(r + 0.05), cosine, cosine < 0, np.exp(-0.5 * (off / 0.15) ** 2) * (cosine > 0),
             (distance + out[:, None] - whole) / view.radius_m)  # fmt: skip
    label, count = clusters_of(stops.gates_m)
    per_cluster = 1.0 / (count[label] * np.sqrt(len(count)))
    even = np.full(len(label), 1.0 / len(label))
    return np.column_stack([weight @ values for weight in (per_cluster, even) for values in table])


def believe(view: ZoneView, weights: Weights | None = None) -> Learned | None:
    """The learned posterior, or None where no ride touches the zone."""
    if not view.seen:
        return None
    places = candidates_m(view.inner_radius_m)
    value = features(view.thin(), places) @ (weights or shipped_weights()).values
    share = np.exp(value - value.max())
    return Learned(read_only(places), read_only(share / share.sum()), view.inner_radius_m)


def likeliest(view: ZoneView) -> FloatArray | None:
    """The place with the most belief within 100 m."""
    belief = believe(view)
    return None if belief is None else belief.likeliest()


def nearest(view: ZoneView) -> FloatArray | None:
    """The place with the least expected distance."""
    belief = believe(view)
    return None if belief is None else belief.nearest_on_average()
