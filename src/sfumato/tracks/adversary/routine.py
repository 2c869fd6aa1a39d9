"""What a routine gives away: exact odds under a daily schedule, from the law of the noise alone.

*Places.* On every one of N days you are at the same places at the same hours. Whoever knows some of them exactly sees
the bare noise there; another place is one unknown constant. Two hypotheses about the secret place that differ by Δ
differ by Δ·a in what is released, a = 1 at the secret's times and 0 at the known ones, so with Γ the noise at all times

    J = aᵀ Γ⁻¹ a          and, with further unknown places as columns of A,  J = 1 / [(AᵀΓ⁻¹A)⁻¹]_ss .

*Routes.* The same unknown path f every day at the same hours: with A the stacked identities, the days together are one
look through noise of covariance (AᵀΓ⁻¹A)⁻¹, and J_i = 1/V_ii − 1/Σ_ii under the prior Σ of f. Known places add rows of
zeros to A (their noise is seen bare), further unknown ones a column each.

*Companions.* k people on one path, each with noise of their own, are k looks: Γ/k, so at most k times the loss.

*Laps.* Round and round with one period, in step for some laps: k(d) = e^{-½(d/τ)²} cos(2πd/p) and sin between the
coordinates. Its peak is no member of any class, and the loss is at most kᵀΓ⁻¹k + hᵀΓ⁻¹h, whatever the size of the lap.

The noise is Markov, so AᵀΓ⁻¹A costs O(N) (:func:`sfumato.tracks.priors.statespace.whitened_products`): a year of
ten-minute samples takes less than a second.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from sfumato.base.arrays import FloatArray, distinct, positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import mu_of, odds_at
from sfumato.base.units import format_duration
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.losses.gaussian_loss import basic_losses
from sfumato.tracks.priors.kernels import Kernel, Matern32
from sfumato.tracks.priors.statespace import is_markov, whitened_products

DAY_S = 86400.0
ROUTE_PRIOR = Matern32(600.0, 4000.0)  # a way anywhere in a town: nothing about it is known beforehand
MOST_ROUTE_POINTS = 61
LAPS_IN_STEP = 3
MOST_TIMES = 200_000
_HOURS = re.compile(r"([^=]{1,40})=([0-9]{1,2}):([0-9]{2})-([0-9]{1,2}):([0-9]{2})")


@dataclass(frozen=True, slots=True)
class Hours:
    """A place or a route by name, and when in the day: ``start_s`` to ``end_s`` after midnight, or past the next."""

    name: str
    start_s: float
    end_s: float

    @classmethod
    def parse(cls, text: str) -> Hours:
        """``home=22:00-7:00``."""
        match = _HOURS.fullmatch(text.strip())
        if match is None:
            raise InputError(f"'{text}' is not a place with its hours.", "Write it like home=22:00-7:00.")
        start, end = (60.0 * (60 * int(match[i]) + int(match[i + 1])) for i in (2, 4))
        if max(start, end) > DAY_S or int(match[3]) > 59 or int(match[5]) > 59 or start == end:
            raise InputError(f"'{text}' has no such hours.", "Hours run from 0:00 to 24:00, e.g. home=22:00-7:00.")
        return cls(match[1].strip(), start, end if end > start else end + DAY_S)

    def times_s(self, days: int, every_s: float) -> FloatArray:
        """The moments of ``days`` days, one every ``every_s`` seconds."""
        within = np.arange(self.start_s, self.end_s, every_s)
        return np.asarray((DAY_S * np.arange(days)[:, None] + within).ravel())


@dataclass(frozen=True, slots=True)
class Cost:
    """What ``repeats`` days (or companions) give away about one thing: loss per m², and odds 99 times in 100."""

    what: str
    repeats: int
    loss: float
    odds_99: float

    def to_dict(self) -> dict[str, object]:
        """Plain JSON; odds beyond any number are null."""
        return asdict(self)


def noise_law(certificate: Mapping[str, object] | Certificate) -> tuple[Kernel, float]:
    """The noise of a certificate as a process, and its radius; refused where it is none."""
    stated = Certificate.of(certificate)
    kernel = stated.mechanism.kernel()
    if kernel is None or not is_markov(kernel):
        raise InputError(
            f"The noise of '{stated.mechanism.name}' is not a process that goes on over days.",
            "Costs of routines are computed for multiscale, independent, and Matérn-shaped noise.",
        )
    return kernel, stated.stated.numbers.radius_m


@dataclass(frozen=True, slots=True, eq=False)
class Days:
    """So many days of one schedule: the noise and its radius, and which places are known or unknown besides.

    Places are recorded every ``every_s``; ``separate``: every day is a release of its own with redrawn noise.
    """

    noise: Kernel
    radius_m: float
    known: Sequence[Hours] = ()
    unknown: Sequence[Hours] = ()
    days: int = 1
    every_s: float = 600.0
    separate: bool = False

    @property
    def counted(self) -> int:
        """How many days one release holds."""
        return 1 if self.separate else self.days

    @property
    def releases(self) -> int:
        """How many releases with noise of their own there are."""
        return self.days if self.separate else 1

    def cost(self, what: str, loss: float) -> Cost:
        """What the loss of all days means at the radius."""
        return Cost(what, self.days, loss, odds_at(mu_of(loss, self.radius_m)))


def place_cost(seen: Days, secret: Hours) -> Cost:
    """Odds about ``secret`` after so many days."""
    places = [secret, *seen.unknown]
    hours = sum(place.end_s - place.start_s for place in (*places, *seen.known))
    _refuse_many(int(seen.counted * hours / seen.every_s))
    times = [place.times_s(seen.counted, seen.every_s) for place in (*places, *seen.known)]
    columns = np.zeros((sum(map(len, times)), len(places)))
    start = 0
    for number, own in enumerate(times):
        if number < len(places):
            columns[start : start + len(own), number] = 1.0
        start += len(own)
    return seen.cost(secret.name, observed_loss(np.concatenate(times), columns, seen.noise) * seen.releases)


def _refuse_many(moments: int) -> None:
    if moments > MOST_TIMES:
        raise InputError(f"This schedule has {moments} moments.", "Ask for fewer days, or a longer --every.")


def observed_loss(times_s: FloatArray, columns: FloatArray, noise: Kernel) -> float:
    """1/[(AᵀΓ⁻¹A)⁻¹]_00: the loss of the first unknown constant, the others unknown too, zero rows known exactly."""
    moments, back = distinct(times_s)
    if moments.size != times_s.size:
        raise InputError("Two places have the same hours.", "One person is at one place: let the hours not overlap.")
    _refuse_many(moments.size)
    order = np.argsort(back)
    products = whitened_products(moments, columns[order], noise)
    if len(products) == 1:
        return float(products[0, 0])
    rest = products[1:, 1:]
    return float(products[0, 0] - products[0, 1:] @ np.linalg.solve(rest, products[1:, 0]))


def route_cost(seen: Days, route: Hours, *, every_s: float = 60.0, prior: Kernel = ROUTE_PRIOR) -> Cost:
    """Odds about the most exposed moment of a route after so many days on it, the way recorded every ``every_s``."""
    step = max(every_s, (route.end_s - route.start_s) / (MOST_ROUTE_POINTS - 1))
    within = np.arange(route.start_s, route.end_s + 1e-6, step)
    trips = DAY_S * np.arange(seen.counted)[:, None] + within
    bare, stays = ([place.times_s(seen.counted, seen.every_s) for place in at] for at in (seen.known, seen.unknown))
    loss = repeated_loss(trips, within, seen.noise, prior, known_s=bare, stays_s=stays, times=seen.releases)
    return seen.cost(route.name, loss)


def repeated_loss(
    trips_s: FloatArray,
    within_s: FloatArray,
    noise: Kernel,
    prior: Kernel,
    *,
    known_s: Sequence[FloatArray] = (),
    stays_s: Sequence[FloatArray] = (),
    times: int = 1,
) -> float:
    """max_i J_i of one path seen at every row of ``trips_s`` (trips, points), its prior over ``within_s`` (points,).

    ``known_s`` are moments at places that are known, ``stays_s`` those at one further unknown place each. A moment that
    is on the way too (the last of the way, the first at work) counts as the way's.
    """
    moments, first = np.unique(np.concatenate([trips_s.ravel(), *stays_s, *known_s]), return_index=True)
    if moments.size > MOST_TIMES:
        raise InputError(f"This route has {moments.size} moments.", "Ask for fewer days, or a longer --every.")
    points, ways = within_s.size, trips_s.size
    columns = np.zeros((ways + sum(map(len, (*stays_s, *known_s))), points + len(stays_s)))
    columns[:ways, :points] = np.tile(np.eye(points), (len(trips_s), 1))
    start = ways
    for number, own in enumerate(stays_s):
        columns[start : start + len(own), points + number] = 1.0
        start += len(own)
    products = times * whitened_products(moments, columns[first], noise)
    together = np.linalg.inv(products)[:points, :points]
    return float(basic_losses(prior.covariance(within_s), (together + together.T) / 2).max())


def laps_cost(certificate: Mapping[str, object] | Certificate, period_s: float) -> Cost:
    """Odds about any moment of laps of this period whose phase is remembered for three of them, recorded densely."""
    noise, radius_m = noise_law(certificate)
    remembered_s = LAPS_IN_STEP * positive(period_s, "The period of the laps")
    lags = np.arange(-5.0 * remembered_s, 5.0 * remembered_s, period_s / 200.0)
    decay, phase = np.exp(-0.5 * (lags / remembered_s) ** 2), 2.0 * np.pi * lags / period_s
    loss = float(np.trace(whitened_products(lags, np.stack([decay * np.cos(phase), decay * np.sin(phase)], 1), noise)))
    what = f"laps of {format_duration(period_s)}"
    return Cost(what, LAPS_IN_STEP, loss, odds_at(mu_of(loss, radius_m)))


def companions_cost(certificate: Mapping[str, object] | Certificate, people: int) -> Cost:
    """k people on one way for the whole time of the release: k times the loss stated for one."""
    stated = Certificate.of(certificate).stated
    basis = stated.losses.basis
    if basis is None or people < 1:
        raise InputError("This certificate states no loss that could be multiplied.", "Use Gaussian noise.")
    loss = people * basis
    return Cost(f"{people} companions on one way", people, loss, odds_at(mu_of(loss, stated.numbers.radius_m)))
