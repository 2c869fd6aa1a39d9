"""Geo-indistinguishability as a promise: measured on the matrix that ships, rounded up, and stated per unit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.numbers.geo import geo_epsilon_at_most
from sfumato.base.randomness import Random
from sfumato.base.things.channel import Channel
from sfumato.base.things.guarantees import Guarantee
from sfumato.channels.designs.certified import NUMERICS, Recertify


@dataclass(frozen=True, slots=True, eq=False)
class GeoChannel:
    """A channel with its geo-indistinguishability measured on the shipped matrix, per unit of the distances."""

    channel: Channel
    epsilon: float
    measured_epsilon: float
    guarantee: Guarantee
    again: Recertify
    """The same promise for a post-processing of the channel."""

    def release(self, x: int | npt.ArrayLike, rng: Random = None) -> IntArray:
        """One report for every true symbol in ``x``."""
        return self.channel.sample(x, rng)


MOST_PLANE_ERROR = 0.02


def checked_plane_error(error: float) -> float:
    """The relative error of the plane distances are measured in; refused above 2 %."""
    if not 0 <= error <= MOST_PLANE_ERROR:
        raise InputError(
            f"Distances in the plane of these cells are off by up to {error:.0%} of those on the ground.",
            "A promise per metre needs at most 2 %: make the area smaller, or cut it into several grids.",
        )
    return error


def geo_guarantee(epsilon: float, measured: float, *, unit: str = "m", plane_error: float = 0.0) -> Guarantee:
    """The statement of geo-indistinguishability, with the measured value beside the nominal one.

    ``plane_error``: how far the metres of the distances may be from metres on the ground, as a share.
    """
    parameters = {f"epsilon_per_{unit}": epsilon, f"measured_epsilon_per_{unit}": measured}
    assumes: tuple[str, ...] = ("nothing about the adversary's prior",)
    if checked_plane_error(plane_error) > 0:
        parameters |= {"plane_error": plane_error, "epsilon_per_ground_m": epsilon / (1 - plane_error)}
        assumes += (
            f"metres are those of the plane of the cells, off by at most {plane_error:.2g} of a distance on the "
            "ground: per metre on the ground epsilon_per_ground_m holds",
        )
    return Guarantee(
        notion="geo-indistinguishability",
        parameters=parameters,
        assumes=assumes,
        covers=(f"one report: places d {unit} apart are told apart with odds of at most e^(epsilon d)",),
        not_covered=("several reports about the same place: their epsilons add", "places far apart are told apart"),
        numerics=NUMERICS,
    )


def checked_smallest(epsilon: float, distances: FloatArray) -> None:
    """Refused where epsilon times the smallest distance is below 1e-10: it drowns in the rounding of the matrix."""
    nearest = float(distances[distances > 0].min(initial=math.inf))
    if epsilon * nearest < 1e-10:
        raise InputError(
            f"epsilon is {epsilon:g}, or {epsilon * nearest:g} at the smallest distance: that cannot be told from 0.",
            "Report a constant, or ask for more.",
        )


def certified_geo(
    matrix: FloatArray,
    distances: FloatArray,
    epsilon: float,
    *,
    unit: str = "m",
    plane_error: float = 0.0,
    **labels: object,
) -> GeoChannel:
    """Mix with a constant channel until the measured epsilon, rounded up, is at most the nominal one; and state it."""
    checked_plane_error(plane_error)
    raw = np.maximum(np.asarray(matrix, dtype=np.float64), 0)
    raw = raw / raw.sum(axis=1, keepdims=True)
    mean = raw.mean(axis=0)
    share, measured = 0.0, math.inf
    while share <= 1e-2:
        mixed = (1 - share) * raw + share * mean
        channel = Channel(mixed / mixed.sum(axis=1, keepdims=True), **labels)  # type: ignore[arg-type]
        measured = geo_epsilon_at_most(channel, distances)
        if measured <= epsilon:
            return promised_geo(channel, distances, epsilon, measured, unit=unit, plane_error=plane_error)
        # Mixing lowers every log-ratio by about this share; what is left over the target says which share is needed.
        needed = (measured - epsilon) / measured if math.isfinite(measured) else 0.0
        share = max(4 * share, 1e-15, share + 1.5 * min(needed, 1e-3))
    raise NotCertified(
        f"The channel's epsilon is {measured:.9g}; {epsilon:.9g} was asked for.",
        "Ask for a larger epsilon: what is left of it at the smallest distance drowns in the rounding of the matrix.",
    )


def promised_geo(
    channel: Channel,
    distances: FloatArray,
    epsilon: float,
    measured: float,
    *,
    unit: str = "m",
    plane_error: float = 0.0,
) -> GeoChannel:
    """A channel with the promise that its measured epsilon (rounded up by whoever measured it) keeps; or refused."""
    if not measured <= epsilon:
        raise NotCertified(
            f"The channel's epsilon is {measured:.9g}; {epsilon:.9g} was asked for.", "Ask for a larger epsilon."
        )

    def again(other: Channel) -> tuple[Channel, Guarantee]:
        made = certified_geo(
            other.matrix,
            distances,
            epsilon,
            unit=unit,
            plane_error=plane_error,
            inputs=other.inputs,
            outputs=other.outputs,
            distortion=other.distortion,
            distortion_name=other.distortion_name,
            positions_m=other.positions_m,
        )
        return made.channel, made.guarantee

    promise = geo_guarantee(epsilon, measured, unit=unit, plane_error=plane_error)
    return GeoChannel(channel, epsilon, measured, promise, again)
