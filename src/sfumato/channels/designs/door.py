"""The door through which designed channels leave: found by name, and measured on their way out.

Whatever a design says of its channel, the matrix is measured here once more in the notion it promises, over the priors
or distances that were asked about, and refused where it leaks more, promises more than was asked for, or promises
something that nothing here measures. Nothing is written or printed before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

import numpy as np

from sfumato.base.errors import InputError, NotCertified
from sfumato.channels.designs.design_registry import DESIGNS, ChannelDesign
from sfumato.channels.designs.promises import (
    PROMISES,
    DeltaPromise,
    GeoPromise,
    InformationPromise,
    LatentPromise,
    LipPromise,
    Promise,
)
from sfumato.channels.designs.task import ChannelTask, DesignedChannel, LeakageTarget, Tuned, remap_design
from sfumato.channels.priors.prior_sets import EveryPrior, Known


def design_named(name: str) -> ChannelDesign:
    """The row of the design called ``name``; an unknown name is refused."""
    for design in DESIGNS:
        if design.name == name:
            return design
    raise InputError(f"There is no mechanism '{name}'.", f"Use one of: {', '.join(row.name for row in DESIGNS)}.")


def compared_rows(at: str = "lip") -> tuple[str, ...]:
    """The names of the rows that a comparison of everything has where a notion is held equal."""
    return tuple(row for design in DESIGNS if design.most_symbols(at) for row in design.compared_as)


def compared_named(rows: Iterable[str]) -> tuple[tuple[str, ChannelDesign], ...]:
    """The rows of a comparison with their designs; unknown names are refused."""
    wanted = tuple(rows)
    of = {row: design for design in DESIGNS for row in design.compared_as}
    unknown = sorted(set(wanted) - set(of))
    if unknown:
        raise InputError(f"There is no mechanism {unknown} to compare.", f"Use some of: {', '.join(of)}.")
    return tuple((row, of[row]) for row in wanted)


def design_channel(name: str, task: ChannelTask, *, remap: bool = False) -> DesignedChannel:
    """The channel that the design called ``name`` makes of ``task``, measured on its way out.

    What the design does not understand of the task is refused before anything is computed. ``remap`` replaces each
    report by the best answer under the prior.
    """
    design = design_named(name)
    _refuse_unused(design, task)
    made = _loaded(design, design.build)(task)
    if type(made) is not DesignedChannel:
        raise NotCertified(f"{name} gave no DesignedChannel.", "Its build must return one.")
    checked_leaving(name, made, task)
    if remap:
        made = remap_design(made, task)
        checked_leaving(name, made, task)
    return made


def tune_design(design: ChannelDesign, target: LeakageTarget) -> Tuned:
    """The design's channel at a leakage; one that leaks more than the target is refused, not shown beside others."""
    assert design.tune is not None
    made = _loaded(design, design.tune)(target)
    if not isinstance(made, Tuned):
        raise NotCertified(f"{design.name} gave no Tuned channel.", "Its tune must return one.")
    return checked_target(design.name, made, target)


def checked_target(name: str, made: Tuned, target: LeakageTarget) -> Tuned:
    """A tuned channel, if it leaks what it was tuned to; measured on the matrix itself."""
    if not target.holds(made.channel):
        leaks = f"{target.leakage_of(made.channel):.9g}"
        raise NotCertified(
            f"{name} was tuned to {target.epsilon:.9g} ({target.at}) and leaks {leaks}.", "Repair its tuning."
        )
    return made


def checked_leaving(name: str, made: DesignedChannel, task: ChannelTask) -> None:
    """Refuse a channel that leaks more than it promises, or whose promise is not about what was asked."""
    promise = made.promise
    if type(promise) not in PROMISES:
        raise NotCertified(
            f"{name} promises {type(promise).__name__}, which nothing here measures.",
            f"Promise one of {', '.join(kind.__name__ for kind in PROMISES)}.",
        )
    if made.channel.shape[0] != task.prior.size:
        raise NotCertified(f"{name} made {made.channel.shape[0]} rows for {task.prior.size} symbols.", "One each.")
    reason = _beside_the_point(promise, task)
    if reason:
        raise NotCertified(f"{name} promises {reason}.", "Promise what the task asks for.")
    try:
        made.promise.state(made.channel)
    except NotCertified as error:
        raise NotCertified(f"{name} does not keep its promise. {error.what}", error.advice) from error


def _beside_the_point(promise: Promise, task: ChannelTask) -> str:
    """What a promise is about instead of the task's priors, distances and epsilon; nothing where it is about them."""
    asked, prior = task.epsilon, task.prior.probabilities
    if isinstance(promise, InformationPromise | DeltaPromise) and not np.array_equal(promise.prior, prior):
        return "something under another prior than the one asked about"
    if isinstance(promise, InformationPromise):
        return _beside_the_point(promise.each, task)
    if isinstance(promise, LatentPromise):
        return "nothing about the symbols themselves"
    if isinstance(promise, LipPromise):
        priors, limit = promise.priors, promise.up
        known = isinstance(priors, Known) and np.array_equal(priors.prior, prior) and task.priors is None
        if not (known or priors is task.priors or (isinstance(priors, EveryPrior) and priors.size == prior.size)):
            return "something about other priors than were asked about"
    else:
        assert isinstance(promise, GeoPromise | DeltaPromise)
        limit = promise.epsilon
    if isinstance(promise, GeoPromise):
        there = task.prior.distances_m()
        if promise.distances.shape != there.shape or not np.allclose(promise.distances, there, rtol=1e-9, atol=0.0):
            return "something about other distances than were asked about"
        if promise.unit != task.unit or promise.plane_error < task.plane_error:
            return "something in another unit, or about a better plane, than there is"
    return f"{limit:g} where {asked:g} was asked for" if asked is not None and limit > asked else ""


def _refuse_unused(design: ChannelDesign, task: ChannelTask) -> None:
    """Refuse what the design does not understand, with who does."""
    name, (symbols, outputs) = design.name, task.distortion.shape
    able = ", ".join(other.name for other in DESIGNS if other.for_prior_sets)
    for given, option in ((task.priors, "--priors"), (task.epsilon_low, "--epsilon-low")):
        if given is not None and not design.for_prior_sets:
            raise InputError(f"{option} is not used by {name}.", f"It is for {able}.")
    if design.reports_symbols and not task.square:
        raise InputError(
            f"{name} reports one of the {symbols} symbols; the distortion has {outputs} columns.",
            "Use hamming, euclidean or a square file.",
        )
    others = (task.rate, task.average_distortion, task.first_weights)
    if not design.by_rate and any(other is not None for other in others):
        raise InputError(
            f"--beta, --distortion-target and --first-channel are not used by {name}.", "They are for blahut-arimoto."
        )
    if design.needs_grid and (task.grid is None or task.grid.cells != symbols):
        raise InputError(f"{name} needs --grid, with one line of the prior per cell.", "Add --grid 6x6.")


def _loaded(design: ChannelDesign, words: str) -> Callable[..., object]:
    """The function that a row names; what is not there is refused with the row's words."""
    module, _, function = words.partition(":")
    try:
        found: object = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"The mechanism '{design.name}' is incomplete: {error}.", f"Write {words}.") from error
    if not callable(found):
        raise InputError(f"The mechanism '{design.name}' is incomplete.", f"{words} is no function.")
    return found
