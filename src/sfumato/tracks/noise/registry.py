"""The mechanisms for traces by name, and what each is held to: the law that it states, in every release.

The list is the one that help, docs, laws, certificates, audit and report go by.

To add one: write its file, add its line here, add its docs page (``docs/contributing/add_a_mechanism.md``). A line
names module and class, which is loaded when its mechanism is asked for, so one protected track does not load them all.
What is unknown, incomplete or unregistered is refused; and so is, before any of it is written, a release whose drawn
noise is not the noise that is stated (:func:`check_drawn`).

*What is tested* is the drawn noise alone, never the path: a refusal that depended on the path would tell of it. Nothing
is drawn again after a refusal either, for whatever is chosen among several draws has another law than one draw.

*Under which law.* A mechanism turns noise at distinct times into scores (``TraceMechanism.scores``), which are
independent standard normals exactly if the noise has the stated law: Gaussian noise by L⁻¹z with LLᵀ = Γ, any other by
its distribution function. Noise is looked at in stretches of neighbouring moments and in moments spread over the whole
track, so that short and long lags are both seen. Of a look's scores, n of them for each coordinate, these are tested:

* the sum of squares of all: χ² with 2n degrees of freedom, on both sides. Too little noise, too much, none, and noise
  that is less correlated than stated fail here;
* of their cosine transform (orthonormal, so again independent standard normals) in bands of 1, 2, 4, 8 ... frequencies,
  and of the scores themselves in runs as long: χ², on both sides. Noise that is more correlated than stated, or wrong
  in one place or at one lag only, fails here.

People are independent, so the looks at several of them are added up test by test. With k tests an honest release is
refused with probability at most 9/10 of the allowance if each is refused below (9/10)/k of it (Bonferroni). The last
tenth is for a look at everybody: nobody may have been left where they were. An honest person is moved by less than
c noise_m at every point with probability at most 2c² (the density of both laws at 0), so c² = allowance/(20 people).

The allowance is one refusal in a million honest releases. Where a release is drawn in several calls each of them may
use its share of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from inspect import isabstract

import numpy as np
import scipy

from sfumato.base.arrays import FloatArray, IntArray, evenly
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.units import format_length
from sfumato.tracks.noise.interface import MechanismTerms, TraceMechanism
from sfumato.tracks.plan import Plan

MECHANISMS = {
    "multiscale": "sfumato.tracks.noise.multiscale.noise:MultiscaleNoise",
    "prior-shaped": "sfumato.tracks.noise.prior_shaped:PriorShapedNoise",
    "mixed": "sfumato.tracks.noise.mixed:MixedNoise",
    "independent": "sfumato.tracks.noise.independent:IndependentNoise",
    "planar-laplace": "sfumato.tracks.noise.planar_laplace:LaplaceNoise",
    "secrets": "sfumato.tracks.noise.chosen_secrets:SecretNoise",
    "published": "sfumato.tracks.noise.published_secrets:PublishedNoise",
    "rounded": "sfumato.tracks.noise.post_processed:RoundedNoise",
}
FALSE_REFUSALS = 1e-6  # of one release, over all tests
LOOK, LOOK_AT_ONE = 64, 128  # moments in one look: where there are many people, or one
_POINTS, _FEWEST, _MOST = 512, 4, 64  # points and people of a sample
Sums = dict[tuple[int, str, int], tuple[float, int]]
OPTIONS = (
    "prior_class",
    "prior",
    "white_share",
    "constant_share",
    "redraws",
    "round_to_m",
    "secrets",
    "state",
    "turning",
)


def mechanism_named(name: str) -> type[TraceMechanism]:
    """The class registered under a name; an unknown name and an incomplete class are refused."""
    if name not in MECHANISMS:
        raise InputError(f"There is no mechanism '{name}'.", f"Choose from {', '.join(MECHANISMS)}.")
    module, _, class_name = MECHANISMS[name].partition(":")
    found = getattr(import_module(module), class_name, None)
    if not (isinstance(found, type) and issubclass(found, TraceMechanism)) or isabstract(found):
        raise InputError(f"The mechanism '{name}' is incomplete.", "Its class must answer all of TraceMechanism.")
    stated = [getattr(found, part, None) for part in ("name", "summary", "takes")]
    if stated[0] != name or not stated[1] or stated[2] is None or not found.needs <= found.takes <= set(OPTIONS):
        raise InputError(f"The mechanism '{name}' is incomplete.", "It must state its name, summary, takes and needs.")
    return found


def all_mechanisms() -> dict[str, type[TraceMechanism]]:
    """Every registered mechanism, loaded: for help, docs and laws."""
    return {name: mechanism_named(name) for name in MECHANISMS}


def taking(option: str) -> list[str]:
    """The names of the mechanisms to which an option of a plan means something."""
    return [name for name, mechanism in all_mechanisms().items() if option in mechanism.takes]


def check_registered(mechanism: TraceMechanism) -> TraceMechanism:
    """The mechanism itself, if it is exactly what its name stands for; nothing else is certified."""
    if type(mechanism) is not mechanism_named(getattr(mechanism, "name", type(mechanism).__name__)):
        raise InputError(
            f"{type(mechanism).__name__} is not the registered mechanism '{mechanism.name}'.",
            "Give it a name and a line of its own in registry.",
        )
    return mechanism


def mechanism_from_dict(values: MechanismTerms) -> TraceMechanism:
    """The mechanism that ``parameters()`` described, without any key: good for recomputing, not for drawing."""
    try:
        return mechanism_named(str(values["name"])).from_dict(values)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError("The mechanism is described wrongly.", "A field is missing or has the wrong type.") from error


def mechanism_for(plan: Plan, *, continuing: bool = False) -> type[TraceMechanism]:
    """The class a plan asks for, after checking that every option given means something to it."""
    chosen = mechanism_named(plan.mechanism)
    name, takes, needs = chosen.name, chosen.takes, chosen.needs
    if "prior" in needs and plan.prior is None:
        raise InputError(f"The mechanism {name} is shaped by a prior.", "Give --prior with a preset, or 'fit'.")
    if "prior" not in takes and plan.prior is not None:
        raise InputError(f"The mechanism {name} takes no prior.", f"A prior shapes {' and '.join(taking('prior'))}.")
    if "secrets" in needs and plan.secrets is None:
        raise InputError(f"The mechanism {name} protects chosen times.", "Name them with --secrets.")
    if "secrets" not in takes and plan.secrets is not None:
        raise InputError(f"The mechanism {name} does not take secrets.", "Leave --mechanism out.")
    for option, words in (("white_share", "white share"), ("constant_share", "constant share")):
        if option not in takes and getattr(plan, option) is not None:
            raise InputError(f"The mechanism {name} has no {words}.", "Leave the option out.")
    if "round_to_m" in needs and plan.round_to_m is None:
        raise InputError(f"The mechanism {name} rounds after the noise.", "Name the grid with --round-to.")
    if "round_to_m" not in takes and plan.round_to_m is not None:
        raise InputError(f"The mechanism {name} does not round.", "Leave --mechanism out, or --round-to.")
    if "turning" not in takes and plan.turning:
        able = " and ".join(taking("turning"))
        raise InputError(
            f"The mechanism {name} has no bound for people who turn.", f"Leave --turning out, or use {able}."
        )
    if "redraws" not in takes and plan.redraws != 1:
        raise InputError(f"The mechanism {name} counts no redraws.", "Leave the option out.")
    if continuing and "state" not in takes:
        able = " and ".join(taking("state"))
        raise InputError(f"Only {able} noise continues over releases.", f"Leave --state out, or use {able}.")
    if continuing and plan.redraws != 1:
        raise InputError("Continuing noise is never redrawn.", "Leave out --redraws or --state.")
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class DrawnNoise:
    """Noise as it was drawn, ``scale_m`` times (n, 2) ``drawn``, of one person after the other from ``starts``."""

    times_ms: IntArray
    drawn: FloatArray
    starts: IntArray
    scale_m: float = 1.0

    @classmethod
    def of_one(cls, times_s: FloatArray, drawn_m: FloatArray) -> DrawnNoise:
        """One person's."""
        times_ms = np.rint(np.asarray(times_s) * 1000.0).astype(np.int64)
        return cls(times_ms, drawn_m, np.array([0, len(times_ms)]))

    def person(self, number: int) -> tuple[FloatArray, FloatArray]:
        """Distinct times in order and the noise at them, of one person."""
        own = slice(int(self.starts[number]), int(self.starts[number + 1]))
        times_ms, first = np.unique(self.times_ms[own], return_index=True)
        return times_ms / 1000.0, self.scale_m * self.drawn[own][first]


def check_drawn(mechanism: TraceMechanism, noise: DrawnNoise, *, parts: int = 1, law: bool = True) -> None:
    """Refuse noise that does not have the stated law; this is one of ``parts`` calls for one release.

    Without ``law`` only noise that is hardly any is refused: for parts that are not in the sample.
    """
    noise_m, people = mechanism.noise_m, noise.starts.size - 1
    if noise_m is None or mechanism.kernel() is None or not len(noise.drawn):  # a size without a law is not certified
        return
    allowance = FALSE_REFUSALS / parts
    size = np.abs(noise.drawn).max(axis=1)
    largest_m = noise.scale_m * np.maximum.reduceat(size, noise.starts[:-1])
    if not largest_m.min() > noise_m * np.sqrt(allowance / (20.0 * people)):  # also where it is no number
        raise _refusal(mechanism, noise_m, "drew none for somebody")
    if law and (worst := least_p_value(mechanism, noise)) < 0.9 * allowance:
        share = float(np.sqrt(np.mean((noise.scale_m * noise.drawn) ** 2))) / noise_m
        said = (
            f"drew noise of another law ({share:.3g} of that size; such a draw is one in {1 / max(worst, 1e-300):.1g})"
        )
        raise _refusal(mechanism, noise_m, said)


def _refusal(mechanism: TraceMechanism, noise_m: float, what: str) -> NotCertified:
    return NotCertified(
        f"The mechanism '{mechanism.name}' states {format_length(noise_m)} of noise per coordinate and {what}.",
        "Nothing is released: what is promised holds for the noise that is stated. Report this; draw no second time.",
    )


def least_p_value(mechanism: TraceMechanism, noise: DrawnNoise) -> float:
    """The least p-value of all tests of a sample of people, times their number."""
    sums: Sums = {}
    for kind, times_s, noise_m in _looks(noise):
        scores = mechanism.scores(times_s, noise_m)
        if scores is None:
            raise NotCertified(
                f"The mechanism '{mechanism.name}' states a law of its noise that is not Gaussian, and no scores.",
                "Give it scores(): without them nobody can test what it drew.",
            )
        for test, squares in _tested(scores):
            total, count = sums.get((kind, *test), (0.0, 0))
            sums[kind, *test] = total + float(squares.sum()), count + squares.size
    below = [float(scipy.special.chdtr(count, total)) for total, count in sums.values()]
    above = [float(scipy.special.chdtrc(count, total)) for total, count in sums.values()]
    return min(1.0, 2.0 * len(sums) * float(np.nan_to_num(min(*below, *above), nan=0.0)))


def _looks(noise: DrawnNoise) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """Kind of look, times and noise at them: looks of one kind are of different people."""
    people = noise.starts.size - 1
    if people == 1:
        times_s, noise_m = noise.person(0)
        last = len(times_s) - LOOK_AT_ONE
        stretches = [np.arange(LOOK_AT_ONE), np.arange(last, len(times_s))] if last > 0 else []
        for kind, moments in enumerate([evenly(len(times_s), LOOK_AT_ONE), *stretches]):
            yield kind, times_s[moments], noise_m[moments]
        return
    points = np.minimum(np.diff(noise.starts), LOOK).mean()
    wanted = int(np.clip(_POINTS / max(1.0, float(points)), _FEWEST, _MOST))
    for place, number in enumerate(np.unique(np.linspace(0, people - 1, wanted).astype(np.int64)).tolist()):
        times_s, noise_m = noise.person(number)
        spread = evenly(len(times_s), LOOK)
        yield 0, times_s[spread], noise_m[spread]
        if len(times_s) > LOOK:
            first = (len(times_s) - LOOK) * place // wanted
            yield 1, times_s[first : first + LOOK], noise_m[first : first + LOOK]


def _tested(scores: FloatArray) -> Iterator[tuple[tuple[str, int], FloatArray]]:
    """The squares that each test of one look adds up, by its name and band."""
    yield ("all", 0), scores**2
    if len(scores) < 4:
        return
    for name, values in (("run", scores), ("frequency", _frequencies(len(scores)) @ scores)):
        first, band = 0, 0
        while first < len(values):
            last = min(2 * first + 1, len(values))
            yield (name, band), values[first:last] ** 2
            first, band = last, band + 1


@lru_cache(maxsize=4)  # tracks are looked at in stretches of one length
def _frequencies(points: int) -> FloatArray:
    """The orthonormal cosine transform (DCT-II) as a matrix."""
    rows = np.cos(np.pi / points * np.outer(np.arange(points), np.arange(points) + 0.5))
    rows[0] *= np.sqrt(0.5)
    return np.asarray(np.sqrt(2.0 / points) * rows)
