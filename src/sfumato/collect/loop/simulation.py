"""A whole campaign in one call: people with known places report, an estimator follows, and every cycle is judged.

The published protocol, which reproduces the paper's tables ([Biswas2023, Sec. 5], the text; its Algorithm 1 as printed
reports through the channel of the cycle before, see :mod:`sfumato.papers.privic.privic_small`): in every cycle the
channel is Blahut-Arimoto restarted from uniform on the last estimate, everybody reports through it, and the iterative
Bayesian update continues from the last estimate on this cycle's reports alone. The joint estimator post-processes those
same reports; with ``feedback`` it also chooses the next channel. With the promise "epsilon" every cycle uses the tight
channel instead.

Round r of a simulation is seeded with seed + r, so twenty rounds of seed 0 are the seeds 0 to 19, one round each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.accountant.compose import Reporting, checked_reporting
from sfumato.base.arrays import FloatArray, IntArray, positive, read_only
from sfumato.base.errors import InputError
from sfumato.base.randomness import randomness
from sfumato.base.things.cell_files import read_cells
from sfumato.base.things.channel import checked_probabilities
from sfumato.base.things.grid import Grid
from sfumato.collect.estimation.earth_mover import earth_movers_distance
from sfumato.collect.estimation.joint import ibu, joint
from sfumato.collect.estimation.smooth_map import blended_map
from sfumato.collect.estimation.tally import Tally, checked_counts
from sfumato.collect.grids.blahut_arimoto import DEFAULT_FLOOR, blahut_arimoto
from sfumato.collect.grids.grid_channel import GridChannel, uniform_channel
from sfumato.collect.grids.sampling import draw_reports
from sfumato.collect.grids.tight import tight_channel
from sfumato.collect.loop.defences import DEFAULT_ALARM_P, capped_weights, judge_cycle
from sfumato.collect.loop.loop import Promise, checked_promise
from sfumato.collect.loop.rhythm import spending

Estimator = Literal["published", "joint", "blended"]
_ESTIMATORS: dict[str, Estimator] = {"published": "published", "joint": "joint", "blended": "blended"}
SPIKE = 0.9


def checked_estimator(name: str) -> Estimator:
    """The estimator of that name, or InputError."""
    if name not in _ESTIMATORS:
        raise InputError(f"There is no estimator '{name}'.", "Use published, joint or blended.")
    return _ESTIMATORS[name]


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a simulated campaign runs. ``beta`` per unit of the grid; ``fake_share`` forged reports of ``fake_cell``."""

    beta: float
    cycles: int
    ba_steps: int = 8
    ibu_steps: int = 10
    promise: Promise = "mutual-information"
    """Mutual-information: the published loop; epsilon: the tight channel of exact level 2 beta in every cycle."""
    estimator: Estimator = "published"
    reporting: Reporting = "once"
    floor: float = 0.0
    feedback: bool = False
    max_log_change: float | None = None
    hold_on_alarm: bool = False
    """Keep the channel after a cycle whose reports, estimated jointly, raise the residual test's alarm."""
    fake_share: float = 0.0
    fake_cell: int | None = None
    last_only: bool = False
    """Estimate jointly after the last cycle only (earlier cycles then have no distance); not with feedback."""

    def __post_init__(self) -> None:
        if self.cycles < 1 or self.ba_steps < 1 or self.ibu_steps < 1:
            raise InputError("Cycles and steps start at 1.", "For example 14 cycles, 8 and 10 steps.")
        checked_estimator(self.estimator)
        checked_promise(self.promise)
        checked_reporting(self.reporting)
        if self.feedback and self.estimator == "published":
            raise InputError("Only a joint estimate can be fed back.", "Add --estimator joint.")
        if self.max_log_change is not None:
            positive(self.max_log_change, "max_log_change")
        if not 0 <= self.fake_share < 1 or (self.fake_share > 0) != (self.fake_cell is not None):
            raise InputError("Forged reports need a share below 1 and a cell.", "Give both or neither.")


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedCycle:
    """What one simulated cycle did; ``emd`` is to the true distribution, in the grid's unit."""

    cycle: int
    emd: float
    epsilon: float
    mutual_information_nats: float
    distortion: float
    spent_epsilon: float
    estimate: FloatArray
    channel: GridChannel | None = None
    tally: Tally | None = None


def simulate_round(
    people: IntArray,
    grid: Grid,
    protocol: Protocol,
    *,
    seed: int,
    start: npt.ArrayLike | None = None,
    first_channel: GridChannel | None = None,
) -> Iterator[SimulatedCycle]:
    """Cycle 0 (the start, uniform unless given; nothing reported, nothing spent), then one cycle after another."""
    counts = checked_counts(people, grid.cells)
    if protocol.fake_cell is not None and not 0 <= protocol.fake_cell < grid.cells:
        raise InputError(
            f"There is no cell {protocol.fake_cell} to forge reports of.", f"The cells are 0 .. {grid.cells - 1}."
        )
    if counts.sum() == 0:
        raise InputError("There is nobody.", "At least one cell needs a count above 0.")
    if protocol.reporting == "once" and counts.sum() < protocol.cycles:
        raise InputError(
            f"{int(counts.sum())} people who report once cannot fill {protocol.cycles} cycles.",
            "Ask for fewer cycles, or let everyone report in every cycle.",
        )
    truth = counts / counts.sum()
    source = randomness(seed)
    everyone = np.repeat(np.arange(grid.cells), counts)
    order = source.permutation(everyone.size) if protocol.reporting == "once" else None
    theta = np.full(grid.cells, 1.0 / grid.cells) if start is None else checked_probabilities(start, grid.cells)
    channels: list[GridChannel] = []
    tallies: list[Tally] = []
    kept = False
    yield SimulatedCycle(0, earth_movers_distance(theta, truth, grid), 0.0, 0.0, 0.0, 0.0, theta)
    for cycle in range(1, protocol.cycles + 1):
        if cycle == 1 and first_channel is not None:
            channel = first_channel
        else:
            channel = channels[-1] if kept else _channel(theta, grid, protocol, channels, first_channel)
        reporters = everyone if order is None else everyone[order[cycle - 1 :: protocol.cycles]]
        reported = np.bincount(draw_reports(channel, reporters, rng=source), minlength=grid.cells)
        if protocol.fake_share:
            forged = round(protocol.fake_share / (1 - protocol.fake_share) * reporters.size)
            reported[protocol.fake_cell] += forged
        tally = Tally(channel, reported)
        channels.append(channel)
        tallies.append(tally)
        shown = theta
        if not protocol.feedback:
            theta = ibu(channel, reported, steps=protocol.ibu_steps, start=theta).probabilities
            shown = theta
        judged = True
        if protocol.estimator != "published":
            judged = protocol.feedback or not protocol.last_only or cycle == protocol.cycles
            if judged:
                shown = (joint if protocol.estimator == "joint" else blended_map)(tallies).probabilities
            if protocol.feedback:
                theta = shown
        if protocol.hold_on_alarm:
            fitted = shown if judged and protocol.estimator == "joint" else joint(tallies).probabilities
            kept = judge_cycle(tallies, fitted, alarm_p=DEFAULT_ALARM_P).alarm
        yield SimulatedCycle(
            cycle=cycle,
            emd=earth_movers_distance(shown, truth, grid) if judged else float("nan"),
            epsilon=channel.epsilon().upper,
            mutual_information_nats=channel.mutual_information(truth),
            distortion=channel.distortion(truth),
            spent_epsilon=spending(channels, reporting=protocol.reporting).level.upper,
            estimate=shown,
            channel=channel,
            tally=tally,
        )


def _channel(
    theta: FloatArray, grid: Grid, protocol: Protocol, channels: list[GridChannel], first: GridChannel | None
) -> GridChannel:
    if protocol.promise == "epsilon":  # one channel for all cycles but a first one that was given
        if channels and channels[-1] is not first:
            return channels[-1]
        return tight_channel(grid, epsilon=2 * protocol.beta, floor=protocol.floor or DEFAULT_FLOOR).value
    fresh = blahut_arimoto(theta, grid, beta=protocol.beta, steps=protocol.ba_steps, floor=protocol.floor).value
    if protocol.max_log_change is None or not channels:
        return fresh
    limited = capped_weights(channels[-1].output_weights, fresh.output_weights, protocol.max_log_change, protocol.floor)
    return GridChannel(grid, protocol.beta, limited)


def simulate(
    people: IntArray,
    grid: Grid,
    protocol: Protocol,
    *,
    rounds: int = 5,
    seed: int = 0,
    progress: Callable[[], None] | None = None,
    start: npt.ArrayLike | None = None,
    first_channel: GridChannel | None = None,
) -> list[list[SimulatedCycle]]:
    """``rounds`` independent campaigns; ``progress`` is called after every cycle.

    ``start`` is θ_0 (uniform unless given), ``first_channel`` the channel of the first cycle (Blahut-Arimoto of θ_0
    unless given); see :mod:`sfumato.collect.loop.simulation`.
    """
    if rounds < 1:
        raise InputError(f"{rounds} rounds were asked for.", "Take at least 1.")
    out = []
    for number in range(rounds):
        cycles = []
        for cycle in simulate_round(
            people, grid, protocol, seed=seed + number, start=start, first_channel=first_channel
        ):
            cycles.append(cycle)
            if progress is not None and cycle.cycle:
                progress()
        out.append(cycles)
    return out


@dataclass(frozen=True, slots=True)
class AveragedCycle:
    """One cycle over all rounds: means and deviations; epsilon and spending are the largest of any round."""

    cycle: int
    emd_mean: float
    emd_sd: float
    epsilon: float
    mutual_information_nats: float
    distortion: float
    spent_epsilon: float


def average_rounds(rounds: list[list[SimulatedCycle]]) -> list[AveragedCycle]:
    """Mean and standard deviation over rounds, one entry per cycle, as the command line prints them."""
    rows = []
    for together in zip(*rounds, strict=True):
        emd = np.array([cycle.emd for cycle in together])
        rows.append(
            AveragedCycle(
                cycle=together[0].cycle,
                emd_mean=float(emd.mean()),
                emd_sd=float(emd.std(ddof=1)) if emd.size > 1 else 0.0,
                epsilon=max(cycle.epsilon for cycle in together),
                mutual_information_nats=float(np.mean([cycle.mutual_information_nats for cycle in together])),
                distortion=float(np.mean([cycle.distortion for cycle in together])),
                spent_epsilon=max(cycle.spent_epsilon for cycle in together),
            )
        )
    return rows


def start_named(text: str, grid: Grid, *, seed: int = 0) -> FloatArray:
    """``uniform``, ``spike:CELL`` (nine tenths there, or ``spike:CELL:SHARE``), ``random``, or a file of values.

    Every start has full support: the rest of a spike is spread evenly, a random one is a flat Dirichlet draw of
    ``seed``, and a file with a zero is refused.
    """
    name, _, rest = text.partition(":")
    if name == "uniform" and not rest:
        return read_only(np.full(grid.cells, 1.0 / grid.cells))  # type: ignore[no-any-return]
    if name == "random" and not rest:
        gaps = -np.log(randomness(seed).uniforms((grid.cells,)))
        return read_only(gaps / gaps.sum())  # type: ignore[no-any-return]
    if name == "spike":
        return _spike(rest, grid)
    if not Path(text).is_file():
        raise InputError(
            f"There is no start '{text}'.", "Use uniform, spike:CELL, random, or a file of one value per cell."
        )
    values = read_cells(Path(text)).values
    if values.size != grid.cells:
        raise InputError(
            f"The start has {values.size} values for {grid.cells} cells.", "Give one per cell, row by row."
        )
    if values.min() <= 0:
        raise InputError(
            "The start gives a cell nothing: the update can never find anybody there.",
            "Give every cell a little, for example a hundredth spread evenly.",
        )
    values = values / values.max() if values.max() > 1e290 else values  # the sum of numbers so large may be none
    return read_only(values / values.sum())  # type: ignore[no-any-return]


def _spike(rest: str, grid: Grid) -> FloatArray:
    cell, _, share = rest.partition(":")
    try:
        place, mass = int(cell), float(share) if share else SPIKE
    except ValueError as error:
        raise InputError(f"'spike:{rest}' names no cell.", "Write spike:93 or spike:93:0.99.") from error
    if not 0 <= place < grid.cells or not 0 < mass < 1:
        raise InputError(
            f"'spike:{rest}' is not a start.", f"The cells are 0 .. {grid.cells - 1}; a share lies between 0 and 1."
        )
    theta = np.full(grid.cells, (1 - mass) / grid.cells)
    theta[place] += mass
    return read_only(theta)  # type: ignore[no-any-return]


def first_channel_named(text: str | None, grid: Grid) -> GridChannel | None:
    """The channel of the first cycle: None or ``blahut-arimoto`` follows θ_0; ``laplace:EPSILON`` is row-normalised
    exponential noise of that exact epsilon; ``rate:K`` is exp(-K d) by rows, whose exact epsilon may exceed K."""
    if text is None or text == "blahut-arimoto":
        return None
    name, _, value = text.partition(":")
    try:
        number = positive(float(value), name)
    except ValueError as error:
        raise InputError(
            f"'{text}' is not a first channel.", "Use blahut-arimoto, laplace:EPSILON (exact) or rate:K."
        ) from error
    if name == "laplace":
        flat = np.full(grid.cells, 1.0 / grid.cells)
        return blahut_arimoto(flat, grid, epsilon=number, steps=1, floor=0.0).value
    if name == "rate":
        return uniform_channel(grid, number)
    raise InputError(f"'{text}' is not a first channel.", "Use blahut-arimoto, laplace:EPSILON (exact) or rate:K.")
