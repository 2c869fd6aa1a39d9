"""Everything that can be compared, by name: what people use today, and what sfumato offers; and what each promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace

NOTHING = "nothing"
Practice = Callable[[list[Trace], float, np.random.Generator], list[Trace | None]]


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One row. ``ours`` are options of a plan; else ``home`` is module:function of a practice.

    ``sized`` says what the size is: ``rms`` per coordinate of all points (the practice moves points), ``radius`` of
    what is cut, or none. ``promises`` is what it is certified to: mostly nothing.
    """

    name: str
    words: str
    sized: str
    promises: str = NOTHING
    home: str = ""
    ours: tuple[tuple[str, object], ...] | None = None

    @property
    def practice(self) -> Practice:
        """The function itself."""
        module, _, name = self.home.partition(":")
        inside = module if "." in module or self.promises == OWN else f"sfumato.tracks.attacks.practices.{module}"
        found: Practice = getattr(import_module(inside), name)
        return found


OWN = "not stated"
RMS, RADIUS, FIXED = "rms", "radius", "fixed"
_ODDS = "odds at each moment, for people of its class"

MECHANISMS_COMPARED = {
    row.name: row
    for row in (
        Mechanism("nothing", "released as recorded", FIXED, home="registry:as_recorded"),
        Mechanism("multiscale", "correlated noise on all time scales (the default)", RMS, _ODDS, ours=()),
        Mechanism("multiscale, turning", "the same, sized for people who turn", RMS, _ODDS, ours=(("turning", True),)),
        Mechanism(
            "prior-shaped",
            "noise that moves as people do",
            RMS,
            "odds at each moment, for people who move exactly like the preset",
            ours=(("mechanism", "prior-shaped"), ("prior", "preset")),
        ),
        Mechanism(
            "chosen secrets",
            "noise shaped for stays of 15 min (150 points of each person)",
            FIXED,
            "odds of the chosen stays, for people who move exactly like the preset",
            home="beside_noise:chosen_secrets",
        ),
        Mechanism(
            "hide and blur",
            "off-centre zones of 1,600 m around home and work, and multiscale noise on the rest",
            RMS,
            f"no point inside; outside {_ODDS}",
            home="beside_noise:hide_and_blur",
        ),
        Mechanism("independent Gaussian", "noise drawn for each point", RMS, home="added_noise:gaussian"),
        Mechanism(
            "planar Laplace",
            "geo-indistinguishable noise for each point",
            RMS,
            "odds of one point alone; nothing for the path",
            home="added_noise:planar_laplace",
        ),
        Mechanism("donut", "a step of at least a and at most 2a", RMS, home="added_noise:donut"),
        Mechanism("memoised per place", "noise drawn once for every 250 m", RMS, home="added_noise:memoise"),
        Mechanism("rounding", "fewer decimals of degrees", RMS, home="snapping:round_degrees"),
        Mechanism("squares", "the middles of a grid", RMS, home="snapping:squares"),
        Mechanism("H3", "the middles of hexagons", RMS, home="snapping:hexagons"),
        Mechanism("5-anonymous cloaking", "the mean of five people at a time", FIXED, home="snapping:cloak"),
        Mechanism("time shift", "one shift of all times", FIXED, home="added_noise:shifted_times"),
        Mechanism("end trimming", "the ends of rides are left out", RADIUS, home="trims_and_zones:trim_ends"),
        Mechanism(
            "centred zones", "circles around home and work are cut out", RADIUS, home="trims_and_zones:centred_zones"
        ),
        Mechanism(
            "random zones",
            "the same, off-centre (`sfumato hide`)",
            RADIUS,
            "no point inside; the zone alone leaves all its places alike",
            home="trims_and_zones:random_zones",
        ),
    )
}


def as_recorded(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """Everything, as it was."""
    return list(people)


def mechanism_compared(name: str) -> Mechanism:
    """A row, or ``module:object``: a function of everybody's traces, a size and a generator."""
    if name in MECHANISMS_COMPARED:
        return MECHANISMS_COMPARED[name]
    if ":" not in name:
        raise InputError(
            f"There is no mechanism '{name}'.", f"Choose module:object, or from {', '.join(MECHANISMS_COMPARED)}."
        )
    made = Mechanism(name, "a mechanism of your own", RMS, OWN, home=name)
    try:
        callable(made.practice)
    except (ImportError, AttributeError) as error:
        raise InputError(f"There is no mechanism '{name}'.", "Write module:object, importable from here.") from error
    return made
