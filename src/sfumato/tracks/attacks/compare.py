"""Mechanism × attack × usefulness on somebody's own data: at equal root mean square error, and at equal promised odds.

Every mechanism is drawn once per size from a seed, its release attacked and its answers held against the truth, all
naively: as it is released. At equal odds only mechanisms are compared that promise any for a path, each with the noise
it needs. What cuts instead of moving is sized by its radius. Private: shares of people, but of these people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.base.arrays import FloatArray, evenly
from sfumato.base.errors import InputError
from sfumato.base.shown import Shown, plain_fields
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.tracks.answers.usefulness.measures import MapsAsked, maps_counted, rectangle
from sfumato.tracks.answers.usefulness.travel import Travel
from sfumato.tracks.attacks.knows import Knows
from sfumato.tracks.attacks.outcomes import GOALS, Attempt, Suite
from sfumato.tracks.attacks.practices.registry import FIXED, RADIUS, RMS, Mechanism, mechanism_compared
from sfumato.tracks.attacks.suite import SuiteAsked, attack_releases
from sfumato.tracks.attacks.truths import true_positions
from sfumato.tracks.certificates.build import at_any_times
from sfumato.tracks.people.noise import protect_by, protected_track
from sfumato.tracks.places.globe import Around
from sfumato.tracks.plan import Plan, plan_of

SIZES_M, RADII_M, ODDS, RADIUS_M = (50.0, 150.0, 500.0, 709.0), (400.0, 1600.0), (5.0,), 200.0
Originals = Sequence[tuple[str | None, Trace]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareAsked:
    """Which mechanisms at which sizes (RMS per coordinate), radii of zones and promised odds, against whom.

    Releases keep the fields ``kept`` of the original at the times that they have in common with it.
    """

    mechanisms: Sequence[str]
    attackers: Sequence[str]
    sizes_m: Sequence[float] = SIZES_M
    radii_m: Sequence[float] = RADII_M
    odds: Sequence[float] = ODDS
    within_m: float = 200.0
    maps: MapsAsked = MapsAsked()
    knows: Knows = Knows()
    seed: int = 0
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparedMechanism(Shown):
    """One mechanism at one size: what it promises, how far points are off, what is found, how wrong answers are.

    ``useful`` are errors as shares by answer (None: there is none); ``frontier``: no other row of the same kind finds
    less of everything and answers better.
    """

    mechanism: str
    at: str
    promises: str
    rms_m: float | None
    released: int
    attempts: tuple[Attempt, ...]
    useful: Mapping[str, float | None]
    frontier: bool = False

    def found(self, goal: str) -> tuple[float, str] | None:
        """The best attacker's share of a goal, and who it is."""
        best = Suite(0, self.attempts, "").best(goal)
        return None if best is None or best.after is None else (best.after.share, best.attacker)

    def row(self) -> dict[str, object]:
        """For a CSV: one column per goal with its attacker, one per answer."""
        out: dict[str, object] = {"mechanism": self.mechanism, "at": self.at, "promises": self.promises}
        out |= {"rms_m": self.rms_m, "people_released": self.released}
        for goal in GOALS:
            share, who = self.found(goal) or (None, "")
            out |= {f"{goal}_found": share, f"{goal}_by": who}
        return {**out, **self.useful, "frontier": self.frontier}

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        return {**self.row(), "attempts": [plain_fields(one) for one in self.attempts]}


def cells_to_compare(asked: CompareAsked) -> list[tuple[Mechanism, str, float]]:
    """Every mechanism with what it is held equal at."""
    out: list[tuple[Mechanism, str, float]] = []
    for name in asked.mechanisms:
        one = mechanism_compared(name)
        if one.sized == RMS:
            out += [(one, "rms", size) for size in asked.sizes_m]
        elif one.sized == RADIUS:
            out += [(one, "radius", radius) for radius in asked.radii_m]
        else:
            out.append((one, FIXED, 0.0))
        if one.ours is not None:
            out += [(one, "odds", odds) for odds in asked.odds]
    return out


def held_at(kind: str, size: float) -> str:
    """What a cell is held equal at, in words."""
    at = {"rms": f"{format_length(size)} RMS", "radius": f"radius {format_length(size)}", "odds": f"{size:g} : 1"}
    return at.get(kind, "as it is")


def compare_mechanisms(
    people: Originals, asked: CompareAsked, step: Callable[[], None] = lambda: None
) -> tuple[ComparedMechanism, ...]:
    """One row per mechanism and size; ``step`` after each."""
    if not people:
        raise InputError("There is nobody here.", "Give at least one track.")
    rows = []
    for one, kind, size in cells_to_compare(asked):
        rows.append(mechanism_row(people, one, kind, size, asked))
        step()
    return tuple(on_frontier(rows))


def mechanism_row(people: Originals, one: Mechanism, kind: str, size: float, asked: CompareAsked) -> ComparedMechanism:
    """One row: everybody through one mechanism at one size, attacked, and asked what the original answers."""
    releases, certificate = _released(people, one, kind, size, asked.seed)
    left = [
        (name, trace, release and with_fields_of(release, trace, asked.kept))
        for (name, trace), release in zip(people, releases, strict=True)
    ]
    suite = attack_releases(
        left,
        SuiteAsked(asked.attackers, asked.knows, asked.within_m, certificate, asked.seed, before=False),
    )
    return ComparedMechanism(
        one.name,
        held_at(kind, size),
        one.promises if kind != "odds" else f"{size:g} : 1 at {format_length(RADIUS_M)}",
        _rms_m(left),
        sum(release is not None for release in releases),
        suite.outcomes,
        _useful(left, asked.maps),
    )


def with_fields_of(release: Trace, original: Trace, names: Sequence[str]) -> Trace:
    """The release with fields of the original at equal times, nan at others."""
    there = [name for name in names if name in original.columns]
    if not there:
        return release
    at = np.clip(np.searchsorted(original.times_s, release.times_s), 0, len(original) - 1)
    same = original.times_s[at] == release.times_s
    return replace(release, columns={name: np.where(same, original.columns[name][at], np.nan) for name in there})


def _released(
    people: Originals, one: Mechanism, kind: str, size: float, seed: int
) -> tuple[list[Trace | None], Mapping[str, object] | None]:
    """What would be released of everybody, and a certificate, of who gives away most, where there is one."""
    traces = [trace for _, trace in people]
    if one.ours is None:
        return one.practice(traces, size, np.random.default_rng(seed)), None
    size_wish = {"odds": size, "radius_m": RADIUS_M} if kind == "odds" else {"noise_m": size}
    plan: Plan = plan_of({**dict(one.ours), **size_wish})  # type: ignore[typeddict-item]
    first = protect_by(plan, traces[0], rng=seed)
    others = [(trace, seed + number) for number, trace in enumerate(traces[1:], 1)]
    if at_any_times(first.terms.mechanism):  # one certificate is everybody's
        return [first.release, *(protected_track(plan, trace, rng=rng) for trace, rng in others)], first.certificate
    done = [first, *(protect_by(plan, trace, rng=rng) for trace, rng in others)]
    return [each.release for each in done], max((each.body for each in done), key=lambda one: one["stay_loss"] or 0.0)


def _rms_m(left: Sequence[tuple[str | None, Trace, Trace | None]]) -> float | None:
    """Per coordinate, where the original says where one was at a released time; some points of each person."""
    squares = []
    for _, original, release in left:
        if release is None:
            continue
        few = evenly(len(release), 500)
        around = Around(float(np.median(original.lat_deg)), float(original.lon_deg[0]))
        truth = true_positions(original, around, release.times_s[few])
        off = around.to_metres(release.lat_deg[few], release.lon_deg[few]) - truth
        squares.append(off[~np.isnan(off[:, 0])])
    every = np.concatenate(squares) if squares else np.empty((0, 2))
    return float(np.sqrt(np.mean(every**2))) if len(every) else None


def _useful(left: Sequence[tuple[str | None, Trace, Trace | None]], maps: MapsAsked) -> dict[str, float | None]:
    """Errors of length, speed, heat maps and flows, read naively; people of whom nothing is left are missing."""
    originals = [(name, trace) for name, trace, _ in left]
    kept = [(name, trace, release) for name, trace, release in left if release is not None]
    if not kept:
        return {}
    releases = [(name, release) for name, _, release in kept]
    chosen, _ = rectangle([trace for _, trace in originals], maps, 0.0)
    travel = Travel([(name, trace) for name, trace, _ in kept], releases, ())
    rows = (*travel.everybody()[0], *maps_counted(originals, releases, chosen))
    return {row.name: row.naive for row in rows}


def on_frontier(rows: Sequence[ComparedMechanism]) -> Iterator[ComparedMechanism]:
    """Which rows no other beats in everything that is found and every answer."""
    answers = sorted({name for row in rows for name in row.useful})
    losses = [_losses(row, answers) for row in rows]
    for row, own in zip(rows, losses, strict=True):
        worse = any((other <= own).all() and (other < own).any() for other in losses)
        yield replace(row, frontier=not worse)


def _losses(row: ComparedMechanism, answers: Sequence[str]) -> FloatArray:
    """What is found and how wrong answers are; an attacker with nothing to go by finds nothing."""
    found = [0.0 if (best := row.found(goal)) is None else best[0] for goal in ("moments", "home", "identity")]
    errors = [1.0 if (error := row.useful.get(name)) is None else error for name in answers]
    return np.array([*found, *errors])
