"""Whatever is put into a public function of the mathematics: a number, or an error in words; never a traceback.

The doors are found, not listed: every public function and every class that checks itself, in the rooms below, whose
arguments are plain values (numbers, arrays, channels, names). What takes arrays that were checked already
(``FloatArray``) is behind a door. One argument at a time is made extreme; the others are ordinary.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import math
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from sfumato.base.errors import SfumatoError
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.things.channel import Channel
from sfumato.base.things.grid import Grid
from sfumato.channels.conversions.implications import Facts
from sfumato.channels.designs.door import design_channel
from sfumato.channels.designs.task import ChannelTask
from sfumato.channels.measures.black_box import Samples
from sfumato.channels.measures.exact_fractions import ExactChannel
from sfumato.channels.priors.prior_sets import TVBall
from sfumato.collect.grids.grid_channel import uniform_channel
from sfumato.tracks.priors.classes import prior_class_named
from sfumato.tracks.priors.kernels import Matern32, White
from sfumato.tracks.secret import basic

ROOMS = (
    *("channels", "tracks.losses", "tracks.designs", "tracks.priors", "collect.grids", "base.numbers", "accountant"),
    *("base.things.cell_prior", "papers.cip.theorems", "papers.lip.printed_conversions"),
)

NUMBERS = (0.0, -1.0, 1e-320, 1e-300, 1e-17, 0.5, 1.0, 1000.0, 1e300, math.nan, math.inf, -math.inf)
WHOLE = (0, -1, 1, 10**18)
VECTORS = (
    [],
    [1.0],
    [0.0, 0.0, 0.0],
    [0.0, 0.4, 0.6],
    [1.0, 0.0, 0.0],
    [1e-300, 0.5, 0.5],
    [1e-320, 0.5, 0.5],
    [1e300, 1.0, 1.0],
    [1e308, 1e308, 1e308],
    [-1.0, 1.0, 1.0],
    [math.nan, 0.5, 0.5],
    [math.inf, 0.5, 0.5],
    [0.5, 0.5],
    [[0.5, 0.5]],
    "no numbers",
)
MATRICES = (
    [],
    [[]],
    [[1.0]],
    np.zeros((3, 3)),
    np.ones((3, 3)),
    np.eye(3),
    np.full((3, 3), 1e300),
    np.full((3, 3), 1e-300),
    np.full((3, 3), math.nan),
    np.full((3, 3), math.inf),
    -np.ones((3, 3)),
    np.eye(2),
    np.eye(3)[:, :2],
    [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [1e-300, 0.0, 1.0]],
    [[1.0, 1e300, 1e-300], [1e300, 1.0, 0.0], [1e-300, 0.0, 1.0]],
    [1.0, 2.0, 3.0],
    "no numbers",
)
EXTREMES: dict[str, tuple[Any, ...]] = {
    "float": NUMBERS,
    "int": WHOLE,
    "vector": VECTORS,
    "matrix": MATRICES,
    "floats": tuple(v for v in VECTORS if not isinstance(v, str)),
    "ints": ([], [-1], [3], [0, 0], [0.5], [10**18], "no numbers"),
    "secrets": ([], [[]], [[-1]], [[3]], [[0, 0]], [[0.5]], [[0], [10**18]]),
    "channels": ([], [[]], [np.eye(3), np.eye(2)], [np.full((3, 3), math.nan)]),
    "matrices": ([], [[]], [np.eye(3), np.eye(2)], [np.full((3, 3), math.nan)], [np.full((3, 3), 1e300)]),
    "str": ("", "nothing"),
    "names": (("one",), ("a", "a", "a"), ("a", "b", "c", "d")),
    "pair": ((0.0, 0.0), (1.0, 0.0), (-1.0, 1.0), (1e-300, 1e300), (math.nan, 1.0), (1.0, math.inf)),
    "labels": ([], ["a"], ["a", "b", "c", "zzz"]),
    "dict": ({}, {"kernel": "nothing"}, {"kernel": "rbf", "sd_m": math.nan, "length_scale_s": 1.0}),
}

P = np.array([0.5, 0.3, 0.2])
Q = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
FAR = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
TIMES = np.arange(3.0)
SIGMA = Matern32(3.0).covariance(TIMES) + 0.1 * np.eye(3)
GRID = Grid.plain(2, 2)
KERNEL = Matern32(3.0)
EXACT = ExactChannel.of(
    [[Fraction(1, 3), Fraction(2, 3)], [Fraction(1, 2), Fraction(1, 2)], [Fraction(1), Fraction(0)]]
)
TASK = ChannelTask(CellPrior(P), FAR, 1.0)
SAMPLES = Samples(np.array([0, 1, 2, 0, 1, 2]), np.array([0, 1, 2, 1, 1, 0]), 3, 3)

# An ordinary argument of this name, and its kind: by name, or "function.name" where one name means two things.
ORDINARY: dict[str, tuple[str | None, Any]] = {
    "prior": ("vector", P),
    "own_seed.arrays": (None, P),
    "channel": ("matrix", Q),
    "first": ("matrix", Q),
    "second": ("matrix", Q),
    "sequence_leakage.first": ("vector", P),
    "channels": ("channels", [Q, Q]),
    "transition": ("matrix", Q),
    "epsilon": ("float", 1.0),
    "epsilons": ("floats", [1.0, 0.5]),
    "added.epsilons": ("float", 1.0),
    "order": ("float", 2.0),
    "alpha": ("float", 2.0),
    "beta": ("float", 0.05),
    "alpha_beta_leakage.beta": ("float", 3.0),
    "delta": ("float", 0.01),
    "divergence": ("float", 1.0),
    "mu": ("float", 1.0),
    "symbols": ("int", 3),
    "smallest": ("float", 0.2),
    "up": ("float", 1.0),
    "low": ("float", 1.0),
    "information": ("float", 0.1),
    "variation": ("float", 0.1),
    "vulnerability": ("float", 0.5),
    "gap": ("float", 1e-6),
    "most_steps": ("int", 50),
    "smallest_each": ("floats", [0.2, 0.2]),
    "smallest_sequence": ("float", 0.04),
    "most_symbols": ("int", 6),
    "value": ("float", 1.0),
    "source": ("str", "lip"),
    "target": ("str", "ldp"),
    "convert.facts": (None, Facts(prior=P, order=2.0, delta=0.01)),
    "tightest.facts": (None, Facts(prior=P, order=2.0, delta=0.01)),
    "p": ("float", 0.3),
    "largest_smallest": ("float", 0.3),
    "epsilon_per_m": ("float", 0.01),
    "distances_m": ("matrix", FAR),
    "distances": ("matrix", FAR),
    "distortion": ("matrix", FAR),
    "designed_for": ("vector", P),
    "truth": ("vector", P[::-1].copy()),
    "smallest_1": ("float", 0.2),
    "smallest_2": ("float", 0.2),
    "rows": ("vector", np.array([True, True, False])),
    "ExactChannel.rows": ("matrix", ((Fraction(1), Fraction(0)), (Fraction(1, 2), Fraction(1, 2)))),
    "inputs": ("names", ("a", "b", "c")),
    "outputs": ("names", ("a", "b", "c")),
    "onto_simplex.values": ("vector", P),
    "stacked_secrets.secrets": (None, [np.array([1])]),
    "least_loss_two_axes.secrets": (None, [np.array([1])]),
    "TVBall.around": ("vector", P),
    "hamming.inputs": ("int", 3),
    "hamming.outputs": ("int", 3),
    "gain": ("matrix", np.eye(3)),
    "loss": ("matrix", FAR),
    "holds": ("vector", np.array([1.0, 0.0, 0.0])),
    "tries": ("int", 2),
    "values": ("matrix", np.eye(3)),
    "radius": ("float", 1.5),
    "classes": ("labels", ["a", "b", "a"]),
    "count": ("int", 3),
    "epsilon_low": ("float", 1.0),
    "x": ("labels", ["a", "b", "a", "b"]),
    "y": ("labels", ["c", "d", "d", "d"]),
    "points": ("matrix", np.arange(8.0).reshape(4, 2)),
    "neighbour_risk.x": ("vector", np.array([0, 1, 0, 1])),
    "neighbours": ("int", 1),
    "rng": (None, 1),
    "samples": (None, SAMPLES),
    "key": ("str", "lip"),
    "notion": ("str", "lip"),
    "at_least": (None, 0.0),
    "name": ("str", "rbf"),
    "tolerance": ("float", 1e-9),
    "null": ("vector", P),
    "alternative": ("vector", P[::-1].copy()),
    "false_alarm": ("vector", np.array([0.0, 0.1, 1.0])),
    "local_epsilon": ("float", 1.0),
    "people": ("int", 100),
    "shuffler": ("str", "a shuffler"),
    "mean_1": ("float", 0.0),
    "mean_2": ("float", 1.0),
    "sd_1": ("float", 1.0),
    "sd_2": ("float", 1.0),
    "gamma": ("float", 2.0),
    "prior_variance": ("float", 1.0),
    "noise_variance": ("float", 4.0),
    "least_mass": ("float", 0.05),
    "delta_at.x": ("float", 2.0),
    "loss_per_m2": ("float", 1e-4),
    "radius_m": ("float", 200.0),
    "odds": ("float", 5.0),
    "prior_m2": ("matrix", SIGMA),
    "noise_m2": ("matrix", np.eye(3)),
    "noise": ("matrix", np.eye(3)),
    "secret": ("ints", [1]),
    "secrets": ("secrets", [[1]]),
    "budget": ("float", 3.0),
    "nugget": ("float", 0.0),
    "targets": ("floats", [0.5]),
    "priors": ("matrix", SIGMA),
    "point": ("int", 1),
    "times_s": ("vector", TIMES),
    "correlation": ("float", 0.3),
    "domain": ("float", 10.0),
    "together": ("int", 2),
    "designed": ("matrix", SIGMA),
    "true": ("matrix", 1.1 * SIGMA),
    "region": ("float", 1.0),
    "joint_prior": ("matrix", np.kron(np.eye(2), SIGMA)),
    "joint_noise": ("matrix", np.eye(6)),
    "noises": ("matrices", [np.eye(3), np.eye(3)]),
    "prior_x": ("matrix", SIGMA),
    "prior_y": ("matrix", SIGMA),
    "cross": ("matrix", 0.1 * SIGMA),
    "weights": ("vector", np.ones(3)),
    "digits": ("int", 6),
    "calibration": ("str", "exact"),
    "clamped_laplace.values": ("vector", np.array([0.0, 1.0, 2.0])),
    "probability": ("float", 0.3),
    "binary_channel.prior": ("float", 0.3),
    "secret_prior": ("vector", np.array([0.6, 0.4])),
    "given": ("matrix", np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])),
    "matrix": ("matrix", Q),
    "rate": ("float", 1.0),
    "n": ("int", 3),
    "betas": ("floats", [0.5, 1.0]),
    "mechanisms": ("names", ("lip-optimal",)),
    "plane_error": ("float", 0.0),
    "most_seconds": ("float", 5.0),
    "unit": ("str", "cell"),
    "positions_m": ("matrix", np.arange(6.0).reshape(3, 2)),
    "grid": (None, GRID),
    "metric": ("matrix", FAR),
    "average_distortion": ("float", 0.5),
    "floor": ("float", 0.01),
    "start": ("vector", P),
    "steps": (None, 20),
    "cell": ("int", 1),
    "cells": ("vector", np.array([0, 1, 2])),
    "draw_tally.people": ("vector", np.array([1, 2, 3, 4])),
    "counts": ("vector", np.array([5.0, 3.0, 2.0])),
    "method": ("str", "chernoff"),
    "size": ("int", 3),
    "overhead": ("float", 0.1),
    "weissman_variation.samples": ("int", 100),
    "length_scale_s": ("float", 3.0),
    "length_scale": ("float", 1.0),
    "period_s": ("float", 10.0),
    "sd_m": ("float", 1.0),
    "description": ("dict", KERNEL.to_dict()),
    "kernel": (None, KERNEL),
    "kernels": (None, KERNEL),
    "columns": ("matrix", np.ones((3, 2))),
    "values_m": ("vector", np.array([0.0, 1.0, 0.5])),
    "release_m": ("vector", np.array([0.0, 1.0, 0.5])),
    "coordinates": ("int", 2),
    # covariances, in the rooms of Gaussian noise
    "subsequences.prior": ("matrix", SIGMA),
    "subsequences.points": ("int", 4),
    "theorems.prior": ("matrix", SIGMA),
    "theorems.priors": (None, (SIGMA, SIGMA)),
    "theorems.noises": (None, (np.eye(3), np.eye(3))),
    "redrawn_noise.noises": ("matrices", [np.eye(3), np.eye(3)]),
    "convex.prior": ("matrix", SIGMA),
    "noise_design.prior": ("matrix", SIGMA),
    "NoiseDesign.noise_covariance": ("matrix", np.eye(3)),
    "exact_designs.prior": ("matrix", SIGMA),
    "published.prior": ("matrix", SIGMA),
    "exact_designs.secret": ("int", 1),
    "sdp_a_basic.secret": ("int", 1),
    "design_within.targets": ("floats", [5.0]),
    "design_for.priors": ("matrices", [SIGMA]),
    "design_for.secrets": (None, [basic(1)]),
    "design_for.method": ("str", "convex"),
    "design_for.budget": ("float", 3.0),
    "design_for.targets": (None, None),
    "design.secrets": (None, basic(1)),
    "design.method": ("str", "convex"),
    "design.budget": ("float", 3.0),
    "design.targets": (None, None),
    "gaussian_loss.prior": (None, KERNEL),
    "gaussian_loss.noise": (None, White(1.0)),
    "statespace.prior": (None, KERNEL),
    "statespace.noise": (None, White(1.0)),
    "GaussianPrior.kernel": (None, KERNEL),
    # channels that are objects, and names of other things
    "Samples.x": ("ints", np.array([0, 1, 2])),
    "Samples.y": ("ints", np.array([0, 1, 1])),
    "Samples.inputs": ("int", 3),
    "Samples.outputs": ("int", 3),
    "black_box.gain": (None, None),
    "all_measures.channel": (None, Channel(Q)),
    "Asked.gain": (None, None),
    "comparison.channel": (None, Channel(Q)),
    "remap.channel": (None, Channel(Q)),
    "best_answers.channel": (None, Channel(Q)),
    "bounded_lip_to_ldp.priors": (None, TVBall(P, 0.1)),
    "lip_over_set.priors": (None, TVBall(P, 0.1)),
    "optimal_channel.priors": (None, TVBall(P, 0.1)),
    "exact_fractions.first": (None, EXACT),
    "exact_fractions.second": (None, EXACT),
    "exact_losses.points": ("int", 4),
    "predicate_gain.holds": ("vector", np.array([True, False, False])),
    "prediction_risk.holds": ("vector", np.array([True, False, False])),
    "hockey_stick.sd_1": ("float", 2.0),
    "convert.source": ("str", "ldp"),
    "convert.target": ("str", "renyi_ldp"),
    "tightest.source": ("str", "ldp"),
    "design_named.name": ("str", "lip-optimal"),
    "compared_named.rows": ("names", ("lip-optimal",)),
    "compare.mechanisms": ("names", ("lip-optimal",)),
    "checked_calibration.name": ("str", "exact"),
    "frequency_oracle.name": ("str", "randomized-response"),
    "checked_promise.name": ("str", "average"),
    "prior_class_named.name": ("str", "day"),
    "preset_named.name": ("str", "geolife-median"),
    "city.name": ("str", "paris"),
    "rule_for.notion": ("str", "geo-indistinguishability"),
    "Guarantee.notion": ("str", "geo-indistinguishability"),
    "Guarantee.parameters": (None, {"epsilon": 1.0}),
    "snapped_numerics.snap_m": ("float", 10.0),
    "checked_reporting.reporting": ("str", "once"),
    "blahut_arimoto.prior": ("vector", np.full(4, 0.25)),
    "blahut_arimoto_matrix.prior": ("vector", P),
    "blahut_arimoto.beta": ("float", 1.0),
    "blahut_arimoto.distortion": (None, None),
    "blahut_arimoto_matrix.distortion": ("matrix", FAR),
    "blahut_arimoto_matrix.beta": ("float", 1.0),
    "blahut_arimoto.epsilon": (None, None),
    "blahut_arimoto.average_distortion": (None, None),
    "sampling.channel": (None, uniform_channel(GRID, 1.0)),
    "fit_many.times_s": (None, [np.arange(4.0)]),
    "fit_many.values_m": ("matrices", [np.array([[0.0], [1.0], [0.5], [2.0]])]),
    "fit.kernel": ("str", "matern32"),
    "fitting.times_s": ("vector", np.arange(4.0)),
    "fitting.values_m": ("vector", np.array([0.0, 1.0, 0.5, 2.0])),
    "fit_many.kernel": ("str", "matern32"),
    "TVBall.radius": ("float", 0.1),
    "PriorClass.sd_m": ("pair", (0.0, math.inf)),
    "PriorClass.length_scales_s": ("pair", (10.0, 100.0)),
    "PriorClass.kernels": ("names", ("matern32",)),
    "fitting.length_scales_s": ("pair", (1.0, 10.0)),
    "grid_kernel.form": (None, None),
    "ratio": (None, Fraction(3, 2)),
    "prior_class": (None, prior_class_named("day")),
    "members": (None, prior_class_named("day")),
    "outer": ("vector", P),
    "inners": ("matrix", np.eye(3)),
    "leakages": ("floats", [0.5, 0.5]),
    "bound": ("float", 0.5),
    "cost": ("float", 1.0),
    "task": (None, TASK),
    "share": ("float", 0.5),
    "mean": ("float", 0.0),
    "sd": ("float", 1.0),
    "promise": ("str", "average"),
    "error": ("float", 0.0),
    "measured": ("float", 0.5),
    "made": (None, design_channel("lip-optimal", TASK)),
    "first_column": ("vector", np.array([1.0, 0.5, 0.2])),
    "output_weights": ("vector", np.full(4, 0.25)),
    "everywhere": (None, True),
    "probabilities": ("vector", P),
    "log_lift": ("float", 0.5),
    "vertices": ("matrix", np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])),
    "Box.low": ("vector", P - 0.1),
    "Box.high": ("vector", P + 0.1),
    "centre": ("vector", P),
    "around": ("vector", P),
    "reporting": ("str", "once"),
    "redraws": ("int", 2),
    "cap": ("float", 1.0),
}

# Doors of solvers: what they take was checked, or is made by another door; and helpers of helpers.
BEHIND = (
    "rounding.",
    "gaussian_loss.checked_",
    "promises.",
    "candidates.",
    "limits.",
    "door.",
    "randomizer.FrequencyOracle",
    "tuned.",
    "own.",
    "barrier.Program",
    "barrier.union_size",
    "implications.need",
    "on_gpu.",
    "noise_design.NoiseDesign",
    "ledger.",
    "device.",
    "device_memory.",
)
INSIDE = re.compile(
    r"^(FloatArray|IntArray|BoolArray|Channel \| FloatArray|Deadline|Candidate|Program|Row|Multipliers|Pieces|Rule"
    r"|Ledger|ChannelTask|GridKernel|CovarianceProduct|Losses|PriorClass|list\[.*|Callable\[.*|Fraction.*|str \| Path"
    r"|Areas|Mapping.*|.*Entry.*|Sequence\[(FloatArray|IntArray|Candidate|Guarantee|GridChannel|Shape)\]"
    r"|tuple\[(FloatArray|IntArray), \.\.\.\])$"
)


def modules_of(room: str) -> Iterator[ModuleType]:
    """The room itself where it is a module, every module below it where it is a package; compiled loops are none."""
    found = importlib.import_module(f"sfumato.{room}")
    if not hasattr(found, "__path__"):
        yield found
        return
    for entry in pkgutil.walk_packages(found.__path__, f"sfumato.{room}."):
        name = entry.name.rpartition(".")[2]
        if not (entry.ispkg or name.startswith("_") or name.endswith("loops") or ".files." in entry.name):
            yield importlib.import_module(entry.name)


def doors() -> dict[str, Callable[..., Any]]:
    """Every public function and self-checking class of the rooms, by its module's last name and its own."""
    found: dict[str, Callable[..., Any]] = {}
    for module in (module for room in ROOMS for module in modules_of(room)):
        for name, value in vars(module).items():
            dotted = f"{module.__name__.rpartition('.')[2]}.{name}"
            own = getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
            if own and not dotted.startswith(BEHIND) and (inside_is_checked(value) or takes_plain_values(value)):
                found[dotted] = value
    return found


def inside_is_checked(value: object) -> bool:
    return inspect.isclass(value) and hasattr(value, "__post_init__") and not inspect.isabstract(value)


def takes_plain_values(value: object) -> bool:
    if not inspect.isfunction(value):
        return False
    needed = [p for p in inspect.signature(value).parameters.values() if p.default is p.empty]
    return not any(INSIDE.match(str(parameter.annotation)) for parameter in needed)


def ordinary(name: str, parameter: str) -> tuple[str | None, Any]:
    module, function = name.split(".")[-2:]
    for key in (f"{function}.{parameter}", f"{module}.{parameter}", parameter):
        if key in ORDINARY:
            return ORDINARY[key]
    raise KeyError(f"{name}.{parameter}")


def calls(name: str, door: Callable[..., Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The ordinary call first, then one for every extreme value of every argument."""
    parameters = inspect.signature(door).parameters
    usual = {p.name: ordinary(name, p.name)[1] for p in parameters.values() if p.default is p.empty}
    function = name.rsplit(".", 1)[1]
    usual |= {p: ORDINARY[f"{function}.{p}"][1] for p in parameters if f"{function}.{p}" in ORDINARY}

    def call(given: dict[str, Any]) -> Any:
        several = [p for p in parameters.values() if p.kind is p.VAR_POSITIONAL]
        if several:
            return door(given[several[0].name])
        return door(**given)

    yield "ordinary", lambda: call(usual)
    for parameter in parameters:
        try:
            kind, _ = ordinary(name, parameter)
        except KeyError:
            continue  # an option without ordinary values: a switch, a callback
        if kind is None or parameters[parameter].annotation == "bool":
            continue
        for value in EXTREMES[kind]:
            yield f"{parameter}={value!r}", lambda given={**usual, parameter: value}: call(given)


def holds_nan(value: object, depth: int = 0) -> bool:
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    if depth > 4:
        return False
    if isinstance(value, tuple | list):
        return any(holds_nan(item, depth + 1) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return any(holds_nan(getattr(value, f.name, None), depth + 1) for f in dataclasses.fields(value))
    return False


ALWAYS_REFUSED = ("composition.added",)
"""Exists to say why not."""

NAN_MEANS_NEVER = ("discrete.lift", "discrete.pointwise_maximal_leakage")
"""Outputs that never occur have no lift: documented, and the only NaN there is."""

DOORS = doors()


def test_the_doors_are_found() -> None:
    assert len(DOORS) > 200
    for name in ("discrete.lip", "lip_optimal.optimal_channel", "prior_sets.Box"):
        assert name in DOORS


@pytest.mark.parametrize("name", sorted(DOORS))
def test_extreme_values_give_numbers_or_words(name: str) -> None:
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for words, call in calls(name, DOORS[name]):
            try:
                result = call()
            except SfumatoError as error:
                if words == "ordinary" and name not in ALWAYS_REFUSED:
                    wrong.append(f"{words}: {error}")
                if not error.what:
                    wrong.append(f"{words}: no words")
            except Exception as error:
                wrong.append(f"{words}: {type(error).__name__}: {error}")
            else:
                if holds_nan(result) and name not in NAN_MEANS_NEVER:
                    wrong.append(f"{words}: NaN")
    assert not wrong, "\n".join(wrong)
