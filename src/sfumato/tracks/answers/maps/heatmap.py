"""Where people are: shares of areas from protected releases, with the spread of the noise taken out.

Each released point is its true place plus noise of the certified law. Releases are laid on one another, and the map
that explains all points best is found on cells finer than those reported
(:mod:`~sfumato.tracks.answers.maps.deconvolution`). Numbers are for areas that can be told apart; the cells asked for
are a picture.

*Whose map it is*: that of the people released, their share of points, of seconds, or everybody counting the same. Its
interval says how far the noise may have moved it: by the errors that the same way of working makes with releases that
might have been (:mod:`~sfumato.tracks.answers.maps.simulated`). Where counting comes as near in those, it counts.
*People like these*, of whom the released are a sample, have a wider one (:mod:`~sfumato.tracks.answers.intervals`).

*What a release's points share.* Part of the noise is the same at all moments of a release (the constant share, and
whatever is slower than the release is long). It does not average out over points, and a map in which it is taken for
ordinary noise is blurred by it. But people of one city are at much the same places: a release that lies 200 m east of
everybody else's was probably shifted. With f the map of everybody, K the rest of the noise and v the variance of the
shift, its probability is

    p(u | release) ∝ exp(-|u|² / 2v) · Π_i (K f)(z_i - u)^τ.

Each release is moved back by its mean of u, less the mean move of all (a map that is too flat draws everybody to its
middle). What is left of the noise has the variance o - v + var(u | release). Where that leaves more than three tenths
of v, releases are too short to tell, and stay as they are. Points of one release are not independent: τ counts one of
them for every fifty minutes. Where the shifts come out larger than the law allows, people are not at the same places
after all: τ is halved until they fit. How far all releases lie off *together* cannot be seen: that part, v / releases,
stays in the answer, and is in its interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray, read_only
from sfumato.base.compiled import compile_loop
from sfumato.base.errors import InputError
from sfumato.base.things.areas import Areas
from sfumato.base.things.estimated_map import COUNTING, LEAST_PEOPLE, EstimatedMap, Weight, whose_map
from sfumato.base.things.grid import Grid
from sfumato.base.units import count_of, format_length
from sfumato.tracks.answers.intervals import people_interval
from sfumato.tracks.answers.maps.cells import (
    AskedCells,
    Bounds,
    Reporting,
    Unit,
    Window,
    asked_for,
    count_on,
    units_of,
    wide_enough,
)
from sfumato.tracks.answers.maps.deconvolution import Spread, density, fit_density, left_out, width_told_apart
from sfumato.tracks.answers.maps.simulated import Shift, amounts_of, doubts, draw_again
from sfumato.tracks.answers.received import (
    NoiseLaw,
    Pair,
    Received,
    check_confidence,
    crowd_notes,
    largest_share,
    laws_of,
    people_of,
    received_all,
    release_notes,
)

STEPS_FOR_ONE = 50
BY_DAYS, BY_PEOPLE = "likelihood of days left out", "likelihood of people left out"
FIXED = "fixed: one person's few days leave nothing to judge by"
USUAL_STEPS = 60  # for a progress bar
UNTRIED = "Too few people to try whether counting would come nearer."


def estimate_heatmap(
    received: Sequence[Received | Pair],
    *,
    cell_m: float | None = None,
    h3: int | None = None,
    areas: Areas | None = None,
    bounds: Bounds | None = None,
    weight: Weight = "points",
    confidence: float = 0.9,
    each_release_a_person: bool = False,
    on_step: Callable[[], None] | None = None,
) -> EstimatedMap:
    """The heat map of one or several releases, each with its own law. See the module for what the intervals say.

    ``on_step`` is called after every step of the search.
    """
    received = received_all(received)
    if weight not in ("points", "people", "time"):
        raise InputError(
            f"There is no weight '{weight}'.",
            "Count points, people (all the same), or the time they stand for.",
        )
    check_confidence(confidence)
    laws = laws_of(received)
    people = people_of(received, each_release_a_person=each_release_a_person)
    finest = min(law.noise_m for law in laws)
    traces = [trace for one in received for _, trace in one.people]
    asked = asked_for(traces, finest, cell_m=cell_m, h3=h3, areas=areas, bounds=bounds)
    window = Window.around(asked.grid, finest)
    units = units_of(people, laws, window, weight=weight)
    outside = sum(int(np.count_nonzero(~window.holds(unit.places))) for unit in units)
    if not sum(float(unit.mass[window.holds(unit.places)].sum()) for unit in units) > 0:
        raise InputError("No released point lies in the rectangle.", "Name another rectangle.")
    width = width_told_apart(units, laws, asked.whole_m2, asked.side_m)
    found = _found(units, laws, window, asked, width, len(people), confidence, on_step)
    untold = np.zeros(len(found.share), dtype=bool) if found.shown.told is None else ~found.shown.told
    share, low, high, low_alike, high_alike = (
        np.where(untold, np.nan, one) for one in (found.share, *found.released, *found.alike)
    )
    largest = largest_share([unit.person for unit in units], [float(unit.mass.sum()) for unit in units])
    these = f"the {count_of(len(people), 'person', 'people')} released: their {COUNTING[weight]}"
    notes = [whose_map(these, confidence if len(people) >= LEAST_PEOPLE else None), *release_notes(received)]
    notes += crowd_notes(len(people), largest, "points", outside)
    if found.shown is not found.reporting:
        notes.append(_merged(asked, found.shown, width, int(untold.sum()), len(people)))
    if len(people) < LEAST_PEOPLE:
        notes.append(UNTRIED)
    notes += found.doubts
    return EstimatedMap(
        cells=found.shown.cells,
        asked=asked.cells,
        grid=asked.grid,
        share=read_only(share),
        low=read_only(low),
        high=read_only(high),
        low_alike=read_only(low_alike),
        high_alike=read_only(high_alike),
        naive=read_only(found.naive),
        picture=read_only(found.picture),
        counted=read_only(found.counted),
        corrected=found.part,
        confidence=confidence,
        weight=weight,
        people=len(people),
        points=sum(one.points for one in received),
        outside=outside,
        steps=found.steps,
        steps_by=found.by,
        latent_m=window.latent_m[0],
        noise_m=tuple(law.noise_m for law in laws),
        largest_person=largest,
        notes=tuple(notes),
    )


Interval = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Shares of the areas shown, corrected and counted, with both intervals; those of the cells asked for; how."""

    reporting: Reporting
    shown: Reporting
    share: FloatArray
    naive: FloatArray
    released: Interval
    alike: Interval
    picture: FloatArray
    counted: FloatArray
    part: float
    steps: int
    by: str
    doubts: Sequence[str]


def _found(
    units: Sequence[Unit],
    laws: Sequence[NoiseLaw],
    window: Window,
    asked: AskedCells,
    width_m: float | None,
    people: int,
    confidence: float,
    on_step: Callable[[], None] | None,
) -> _Found:
    reporting = asked.summed_on(window)
    shown = wide_enough(reporting, width_m)
    finest = min(law.noise_m for law in laws)
    laid = align(units, laws, window)
    spreads = [Spread.of(law, *window.shape, *window.latent_m) for law in laid.laws]
    days, by_people = left_out(laid.units, laid.laws, window, people)
    answers = [reporting] if shown is reporting else [reporting, shown]
    wide = [asked.side_m] if shown is reporting else [asked.side_m, max(width_m or math.inf, asked.side_m)]
    fits = fit_density(
        spreads,
        days,
        by_people if people >= LEAST_PEOPLE else None,
        shown.shares,
        steps_for_one=STEPS_FOR_ONE,
        cells_of_noise=[one / finest for one in wide],
        on_step=on_step,
    )
    seen = np.asarray(sum(count_on(units, i, window)[0] for i in range(len(laws))))
    counted = [one.shares(seen) for one in answers]
    share = [one.shares(fit.density) for one, fit in zip(answers, fits, strict=True)]
    nothing, part, unsure = np.full(len(counted[-1]), np.nan), 1.0, list[str]()
    released, alike = (nothing, nothing), (nothing, nothing)
    if people >= LEAST_PEOPLE:
        drawn = draw_again(laid.units, laws, laid.laws, laid.shift, window, fits[-1].density)
        amounts = amounts_of(
            spreads, drawn, [(one.shares, fit.steps) for one, fit in zip(answers, fits, strict=True)], on_step
        )
        amount, lost = amounts[-1], shown.shares(fits[-1].again) - share[-1]
        share = [one.mix(e, n) for one, e, n in zip(amounts, share, counted, strict=True)]
        unsure = doubts(amounts, share, counted, drawn.kept, max(law.noise_m for law in laws) / asked.side_m)
        more = _shifted_by(fits[-1].density, window, laid.common_m2, shown.shares)
        others = np.asarray(sum(one.sum(axis=0) - one for one in by_people))
        without = amount.mix(fits[-1].without, shown.shares(others))
        released = amount.interval(share[-1], counted[-1], confidence, more)
        bias = lost if amount.part == 1 else amount.errors.mean(axis=0)
        alike = people_interval(share[-1], without, people, confidence, bias=bias, more=more)
        alike, part = (np.minimum(alike[0], released[0]), np.maximum(alike[1], released[1])), amount.part
    by = (BY_PEOPLE if days is by_people else BY_DAYS) if fits[0].judged else FIXED
    picture, steps = (share[0], counted[0]), fits[-1].steps
    return _Found(reporting, shown, share[-1], counted[-1], released, alike, *picture, part, steps, by, unsure)


def _merged(asked: AskedCells, shown: Reporting, width_m: float | None, untold: int, people: int) -> str:
    """What was done with cells too small to be told apart."""
    if isinstance(asked.cells, Areas):
        alone = f" {untold} too small, without a neighbour, have no numbers." if untold else ""
        return f"Of {asked.cells.cells} areas {shown.cells.cells} are told apart, the small ones together.{alone}"
    if width_m is None:
        return (
            f"Not even halves of the map are told apart by {count_of(people, 'person', 'people')}: cells are a picture."
        )
    kind = "cells" if isinstance(asked.cells, Grid) else "hexagons"
    return (
        f"{kind.capitalize()} about {format_length(asked.side_m)} wide cannot be told apart and are a picture. Numbers "
        f"are for {shown.cells.cells} areas about {format_length(width_m)} wide, cut without looking at the map."
    )


def _shifted_by(
    latent: FloatArray, window: Window, variance_m2: float, shares: Callable[[FloatArray], FloatArray]
) -> FloatArray | float:
    """The variance of the shares where the whole map may lie off by so much along each axis."""
    if not variance_m2 > 0:
        return 0.0
    out: FloatArray | float = 0.0
    for axis, size in ((0, window.latent_m[0]), (1, window.latent_m[1])):
        apart = shares(np.roll(latent, 1, axis=axis)) - shares(np.roll(latent, -1, axis=axis))
        out = out + (apart / (2 * size)) ** 2 * variance_m2
    return out


@compile_loop()
def overlaps(row: IntArray, column: IntArray, mass: FloatArray, seen: FloatArray, reach: int) -> FloatArray:
    """Σ_i mass_i · seen[cell_i - u] for every shift u of up to ``reach`` cells; beyond the map its edge is taken."""
    rows, columns = seen.shape
    out = np.zeros((2 * reach + 1, 2 * reach + 1))
    for i in range(len(row)):
        for a in range(-reach, reach + 1):
            r = min(max(row[i] - a, 0), rows - 1)
            for b in range(-reach, reach + 1):
                c = min(max(column[i] - b, 0), columns - 1)
                out[a + reach, b + reach] += mass[i] * seen[r, c]
    return out


FEWEST = 10  # releases
ONE_IN_S = 3000.0  # one point in so many seconds says something of its own
FIRST_STEPS = 60
_REACH = 3.0
_LARGEST = 12  # cells
_DEEPEST = 12.0  # a point where nobody is says no more than this against a shift (log-likelihood)
_TOO_FAR = 1.2
_HALVINGS = 5
_TOLD = 0.3  # at most so much of the shifts' variance may be left


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """Releases moved back, by how many latent cells each, the laws of what is left of their noise, how much less its
    variance is for each law, the variance of their common shift, and how a release's shift is found."""

    units: tuple[Unit, ...]
    moved: FloatArray
    laws: tuple[NoiseLaw, ...]
    less_m2: tuple[float, ...]
    common_m2: float
    shift: Shift | None

    @classmethod
    def as_they_are(cls, units: Sequence[Unit], laws: Sequence[NoiseLaw]) -> Aligned:
        """Nothing moved."""
        return cls(tuple(units), np.zeros((len(units), 2)), tuple(laws), (0.0,) * len(laws), 0.0, None)


def align(units: Sequence[Unit], laws: Sequence[NoiseLaw], window: Window) -> Aligned:
    """Releases laid on one another; as they are where they share no shift, or are too few."""
    shared = [_shared_m2(law, [unit.duration_s for unit in units if unit.law == i]) for i, law in enumerate(laws)]
    if len(units) < FEWEST or not max(shared) > 0:
        return Aligned.as_they_are(units, laws)
    plain = [Spread.of(law, *window.shape, *window.latent_m) for law in laws]
    found = density(plain, [count_on(units, i, window)[0] for i in range(len(laws))], FIRST_STEPS)
    seen = [
        _logarithm(Spread.of(_left(law, v, 0.0), *window.shape, *window.latent_m).spread(found))
        for law, v in zip(laws, shared, strict=True)
    ]
    reach = [_reach(one, window) for one in shared]
    said = [_said(unit.places, unit.mass, seen[unit.law], reach[unit.law]) for unit in units]
    means, left, told, weights = _shifts(units, said, shared, window)
    if any(w > _TOLD * v for v, w in zip(shared, left, strict=True)):
        return Aligned.as_they_are(units, laws)  # a shift that is mostly guessed pulls people to the crowd
    mass = np.array([float(unit.mass.sum()) for unit in units])
    means = means - np.average(means, axis=0, weights=mass)
    moved = tuple(replace(unit, places=unit.places - mean) for unit, mean in zip(units, means, strict=True))
    rest_laws = tuple(_left(law, v, w) for law, v, w in zip(laws, shared, left, strict=True))
    less = tuple(v - w for v, w in zip(shared, left, strict=True))
    v_of = np.array([shared[unit.law] for unit in units])
    common = float(told * np.sum(v_of * (mass / mass.sum()) ** 2))

    def shift(number: int, places: FloatArray, mass: FloatArray) -> FloatArray:
        law = units[number].law
        if not shared[law] > 0:
            return np.zeros(2)
        sizes = np.array(window.latent_m)
        found = _shift(_said(places, mass, seen[law], reach[law]), weights[number], shared[law], sizes)[0]
        return np.asarray(found / sizes)

    return Aligned(moved, means, rest_laws, less, common, shift)


def _shifts(
    units: Sequence[Unit], said: Sequence[FloatArray], shared: Sequence[float], window: Window
) -> tuple[FloatArray, list[float], float, FloatArray]:
    """Mean shift of each release in latent cells, variance left for each law, the share of the variance told, and τ."""
    sizes = np.array(window.latent_m)
    mass = np.array([float(unit.mass.sum()) for unit in units])
    of_law = np.array([unit.law for unit in units])
    v_of = np.array([shared[law] for law in of_law])
    weights = np.array([min(len(one.places), max(one.seconds, 1.0) / ONE_IN_S) for one in units])
    weights = weights / np.maximum(mass, 1e-9)
    for halved in range(_HALVINGS + 1):
        weights /= 2 if halved else 1
        means, left = np.zeros((len(units), 2)), np.zeros(len(units))
        for number, words in enumerate(said):
            if v_of[number] > 0:
                means[number], left[number] = _shift(words, weights[number], v_of[number], sizes)
        told = float(np.sum(means**2) / 2 / v_of.sum())
        if told + left.sum() / v_of.sum() <= _TOO_FAR:
            break
    per_law = np.bincount(of_law, mass * left, len(shared)) / np.maximum(np.bincount(of_law, mass, len(shared)), 1e-300)
    return means / sizes, list(per_law), min(told, 1.0), weights


def _shift(words: FloatArray, tau: float, v: float, sizes: FloatArray) -> tuple[FloatArray, float]:
    """Mean (metres) and variance along an axis of the shift of a release, by the ``words`` of its points."""
    reach = len(words) // 2
    steps = [np.arange(-reach, reach + 1) * size for size in sizes]
    log = tau * words - (steps[0][:, None] ** 2 + steps[1][None, :] ** 2) / (2 * v)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    sides = weight.sum(axis=1), weight.sum(axis=0)
    mean = np.array([side @ step for side, step in zip(sides, steps, strict=True)])
    squares = sum(side @ step**2 for side, step in zip(sides, steps, strict=True))
    return mean, float(squares - mean @ mean) / 2


def _said(places: FloatArray, mass: FloatArray, seen: FloatArray, reach: int) -> FloatArray:
    columns = seen.shape[1] + 2 * reach
    row, column = (np.floor(places[:, axis]).astype(np.int64) + reach for axis in (0, 1))
    inside = (row >= 0) & (row < seen.shape[0] + 2 * reach) & (column >= 0) & (column < columns)
    cells, first = np.unique(row[inside] * columns + column[inside], return_inverse=True)
    summed = np.bincount(first, weights=mass[inside]).astype(np.float64)
    return overlaps(cells // columns - reach, cells % columns - reach, summed, seen, reach)


def _left(law: NoiseLaw, shared_m2: float, unknown_m2: float) -> NoiseLaw:
    return law if not shared_m2 else law.of_variance(law.variance_m2 - shared_m2 + unknown_m2)


def _reach(variance_m2: float, window: Window) -> int:
    return min(math.ceil(_REACH * math.sqrt(variance_m2) / min(window.latent_m)), _LARGEST)


def _shared_m2(law: NoiseLaw, durations_s: Sequence[float]) -> float:
    """Variance that any two points of a release have in common, at least (covariances fall with the lag)."""
    if law.epsilon_per_m is not None or not durations_s:
        return 0.0
    shared = float(np.asarray(law.kernel(float(max(durations_s)))))
    return shared if 1e-3 < shared / law.variance_m2 < 0.9 else 0.0


def _logarithm(seen: FloatArray) -> FloatArray:
    log: FloatArray = np.log(np.maximum(seen, 1e-300))
    return np.asarray(np.maximum(log, log.max() - _DEEPEST))
