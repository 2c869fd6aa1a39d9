"""Before anything is released: for each size of the noise, what is promised and what answers are still worth. Private.

Releases are drawn from the operating system's entropy, measured and thrown away: no file, no state and no key of a real
release is touched, and a real release draws its own noise. A large fleet is cut to some people and some of their
points, which is said; with everybody maps come out better.

Wishes: an answer this good, and a promise this strong, and whether both can be had together. A promise is a radius
within which places stay indistinguishable at certain odds; for every mechanism here it takes noise in proportion to the
radius. So a wish is met, or not, at one size of the noise, which is simulated; where it is not met, the nearest two
that can be had are named: the same answer with a smaller radius, or the radius with a worse answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from sfumato.base.arrays import evenly
from sfumato.base.errors import InputError
from sfumato.base.shown import ShownAnswer, plain_fields
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length, length_m
from sfumato.tracks.adversary.fleet import first_points
from sfumato.tracks.answers.maps.cells import Bounds
from sfumato.tracks.answers.received import receive
from sfumato.tracks.answers.usefulness.measures import FLOW_CELLS_M, HEAT_CELLS_M, MapsAsked, People, Quality, rectangle
from sfumato.tracks.answers.usefulness.utility import Given, Utility, as_people, mean_utility, useful
from sfumato.tracks.certificates.document import Certificate, worst_odds
from sfumato.tracks.people.door import protect_fleet
from sfumato.tracks.people.noise import protect_by
from sfumato.tracks.plan import DEFAULT_MECHANISM, Plan

_ADVICE = "For instance length=10%,radius=500m, heatmap@1km=10% or flows@3km=15%,radius=200m,odds=5."


@dataclass(frozen=True, slots=True)
class Wish:
    """An answer within a share of the truth, at a radius and odds."""

    kind: str
    cell_m: float | None
    within: float
    radius_m: float
    odds: float

    @property
    def words(self) -> str:
        """Both halves of the wish."""
        name = Quality(self.kind, self.cell_m, None, None).name
        return f"{name} within {_percent(self.within)} and a radius of {format_length(self.radius_m)}"

    def asks(self, row: Quality) -> bool:
        """Whether this is the measure that is wished for."""
        return row.kind == self.kind and row.cell_m == self.cell_m


@dataclass(frozen=True, slots=True)
class Granted:
    """Whether a wish can be had (None: it cannot be said), what it comes to, and one sentence."""

    wish: Wish
    together: bool | None
    reached: float | None
    sentence: str

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        return asdict(self)


def parse_wish(text: str, radius_m: float, odds: float) -> Wish:
    """``length=10%,radius=500m`` and the like; radius and odds default to those given."""
    found: tuple[str, float | None, float] | None = None
    for part in (piece.strip() for piece in text.split(",")):
        name, _, value = part.partition("=")
        kind, _, cell = name.partition("@")
        try:
            if name == "radius":
                radius_m = length_m(value)
            elif name == "odds":
                odds = float(value)
            elif kind in ("length", "speed") and not cell:
                found = kind, None, _share(value)
            elif kind in ("heatmap", "flows") and cell:
                found = kind, length_m(cell), _share(value)
            else:
                raise ValueError
        except ValueError:
            raise InputError(f"'{part}' is no wish.", _ADVICE) from None
    if found is None:
        raise InputError("A wish names no answer.", _ADVICE)
    if not odds > 1:
        raise InputError(f"The odds wished for are {odds:g}.", "Give a number above 1.")
    return Wish(*found, radius_m, odds)


def usual_wishes(asked: MapsAsked, radius_m: float, odds: float) -> list[Wish]:
    """What most people want of a release, where no wish was named: everything within a tenth."""
    maps = [("heatmap", cell) for cell in asked.heat_cells_m] + [("flows", cell) for cell in asked.flow_cells_m]
    return [Wish(kind, cell, 0.1, radius_m, odds) for kind, cell in [("length", None), ("speed", None), *maps]]


def _share(text: str) -> float:
    share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    if not 0 < share < 10:
        raise ValueError
    return share


def _percent(share: float) -> str:
    return f"{100 * share:.{0 if share >= 0.0995 else 1}f} %"


NOISES_M = (100.0, 200.0, 400.0, 800.0)
MOST_PEOPLE, MOST_POINTS = 60, 30_000
ENOUGH_DRAWS = 4  # releases of one person that are averaged; of a fleet, people times draws


@dataclass(frozen=True, slots=True)
class Choice:
    """One size of the noise: the odds it states at the radius, the radius it keeps at odds, and its usefulness."""

    noise_m: float
    odds: float | None
    radius_at_m: Mapping[float, float]
    utility: Utility

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        kept = {f"{odds:g}": radius for odds, radius in self.radius_at_m.items()}
        promise = {"noise_m": self.noise_m, "odds_at_radius": self.odds, "radius_at_odds_m": kept}
        return {**promise, **self.utility.to_dict()}


def grant(wish: Wish, choices: Sequence[Choice]) -> Granted:
    """Whether one of the choices that keep the radius answers well enough."""
    answered = [(one, row) for one in choices for row in one.utility.measures if wish.asks(row)]
    keeping = [pair for pair in answered if pair[0].radius_at_m[wish.odds] >= wish.radius_m * (1 - 1e-6)]
    if not keeping:
        return Granted(wish, None, None, f"{wish.words}: cannot be said, for it was not asked for.")
    choice, row = min(keeping, key=lambda pair: pair[0].noise_m)
    error = row.best
    if error is None:
        return Granted(wish, None, None, f"{wish.words}: cannot be said, {row.note}.")
    model = f" ({row.note})" if row.note in ("mostly the model", "one cell holds everybody") else ""
    if error <= wish.within:
        words = f"together, at {format_length(choice.noise_m)} of noise: {_percent(error)}{model}."
        return Granted(wish, True, error, f"{wish.words}: {words}")
    good = [pair for pair in answered if pair[1].best is not None and pair[1].best <= wish.within]
    nearest = f"a radius of {format_length(wish.radius_m)} with {_percent(error)}{model}"
    if good:
        other, reached = max(good, key=lambda pair: pair[0].noise_m)
        smaller = f"a radius of {format_length(other.radius_at_m[wish.odds])} (noise {format_length(other.noise_m)})"
        nearest = f"{smaller} with {_percent(reached.best or 0.0)}, or {nearest}"
    else:
        nearest += "; no noise that was tried gives such an answer"
    return Granted(wish, False, error, f"{wish.words}: not together. Nearest: {nearest}.")


@dataclass(frozen=True, slots=True, repr=False)
class Preview(ShownAnswer):
    """The choices by size of the noise, and which wishes can be had together."""

    radius_m: float
    odds: float
    mechanism: str
    choices: tuple[Choice, ...]
    wishes: tuple[Granted, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        return {"private": True, **plain_fields(self)}


def preview(
    original: Given,
    *,
    noise_m: Sequence[float] = NOISES_M,
    radius_m: float = 200.0,
    odds: float = 5.0,
    mechanism: str = DEFAULT_MECHANISM,
    prior_class: str = "day",
    wishes: Sequence[Wish] = (),
    heat_cells_m: Sequence[float] = HEAT_CELLS_M,
    flow_cells_m: Sequence[float] = FLOW_CELLS_M,
    bounds: Bounds | None = None,
    step: Callable[[], None] = lambda: None,
) -> Preview:
    """Promise against usefulness for each size of the noise; nothing is written. ``step`` after each simulation."""
    people, notes = _some(as_people(original))
    asked = MapsAsked(tuple(heat_cells_m), tuple(flow_cells_m), bounds)
    wished = list(wishes) or usual_wishes(asked, radius_m, odds)
    if not noise_m or min(noise_m) <= 0:
        raise InputError("The noise is no size.", "Give sizes such as 100m,200m,400m,800m.")
    # One rectangle for all sizes, or they could not be compared: the one that the smallest noise can be taken out of.
    asked, cut = rectangle([trace for _, trace in people], _with_cells(asked, wished), float(min(noise_m)))
    asked = replace(asked, quick=True)

    def plan(size: float) -> Plan:
        return Plan(noise_m=size, radius_m=radius_m, mechanism=mechanism, prior_class=prior_class)

    every = sorted({odds, *(wish.odds for wish in wished)})
    found = {float(size): _choice(people, plan(float(size)), every, asked, step) for size in noise_m}
    base = next(iter(found.values()))
    if not min(base.radius_at_m.values()) > 0:
        raise InputError(f"'{mechanism}' promises no odds.", "Preview multiscale, prior-shaped, mixed or independent.")
    for size in {base.noise_m * wish.radius_m / base.radius_at_m[wish.odds] for wish in wished}:
        if not any(1 <= have / size < 1.001 for have in found):
            more = size * 1.0001  # at least what the wish needs
            found[more] = _choice(people, plan(more), every, asked, step)
    choices = tuple(found[size] for size in sorted(found))
    answers = [grant(wish, choices) for wish in wished]
    said = dict.fromkeys([*notes, *cut, *(note for one in choices for note in one.utility.notes), *_sampled(choices)])
    return Preview(radius_m, odds, mechanism, choices, tuple(answers), tuple(said))


def simulations(noises: int, people: int) -> int:
    """How many simulations :func:`preview` makes for as many sizes, and one wished radius."""
    return (noises + 1) * draws_for(people)


def draws_for(people: int) -> int:
    """Releases that are averaged."""
    return max(1, -(-ENOUGH_DRAWS // people))


def _choice(people: People, plan: Plan, odds: Sequence[float], asked: MapsAsked, step: Callable[[], None]) -> Choice:
    released: list[tuple[str | None, Trace]]
    seen = []
    for _ in range(draws_for(len(people))):
        if len(people) == 1:
            one = protect_by(plan, people[0][1])
            document, released = one.certificate, [(None, one.release)]
        else:
            named = [(str(person), trace) for person, trace in people]
            fleet = protect_fleet(plan, named)
            document, released = fleet.certificate, [(name, trace) for name, trace in fleet.releases]
        seen.append(useful(people, released, [receive(released, document)], asked))
        step()
    at, record = plan.target.radius_m, Certificate.of(document)
    kept = {one: _largest_radius(lambda r: worst_odds(record, r), one, at) for one in odds}
    return Choice(float(document["rms_noise_m"]), worst_odds(record, at), kept, mean_utility(seen))


def _sampled(choices: Sequence[Choice]) -> list[str]:
    """How far corrected lengths differ with the people they were measured on."""
    errors = [choice.utility.measures[0].sampling for choice in choices]
    known = [100 * error for error in errors if error is not None]
    if not known:
        return []
    return [f"With other people like these, corrected lengths would differ by up to {max(known):.1f} % (90 %)."]


def _largest_radius(stated: Callable[[float], float | None], odds: float, start_m: float) -> float:
    """The largest radius at which the stated odds are no worse than ``odds``, by halving."""
    low, high = 0.0, start_m
    while (worst := stated(high)) is not None and worst <= odds and high < 1e7:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        worst = stated(middle)
        low, high = (middle, high) if worst is not None and worst <= odds else (low, middle)
    return low


def _with_cells(asked: MapsAsked, wishes: Sequence[Wish]) -> MapsAsked:
    """The cells asked for, and those that wishes name."""
    more = {kind: [w.cell_m for w in wishes if w.kind == kind and w.cell_m] for kind in ("heatmap", "flows")}
    heat, flows = {*asked.heat_cells_m, *more["heatmap"]}, {*asked.flow_cells_m, *more["flows"]}
    return replace(asked, heat_cells_m=tuple(sorted(heat)), flow_cells_m=tuple(sorted(flows)))


def _some(people: People) -> tuple[People, list[str]]:
    """All people, or evenly chosen ones, and the first points of each, with what was left out in words."""
    total = sum(len(trace) for _, trace in people)
    if len(people) <= MOST_PEOPLE and total <= MOST_POINTS:
        return people, []
    chosen = evenly(len(people), MOST_PEOPLE).tolist()
    each = max(MOST_POINTS // len(chosen), 100)
    cut = [(people[k][0], first_points(people[k][1], each)) for k in chosen]
    points = sum(len(trace) for _, trace in cut)
    words = f"Simulated on {points} of {total} points and {len(cut)} of {len(people)} people"
    return cut, [f"{words}, to be quick: with all of them maps come out better."]
