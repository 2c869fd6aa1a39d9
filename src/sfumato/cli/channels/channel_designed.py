"""What ``sfumato channel design`` does once its options are read: design, certify, measure, save."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path

import typer

from sfumato.base.errors import InputError, NotConverged
from sfumato.base.files import write_whole
from sfumato.base.things.cell_files import read_cells
from sfumato.base.things.channel import Channel
from sfumato.base.things.guarantees import Guarantee
from sfumato.channels.designs.channel_registry import design_named, designed
from sfumato.channels.designs.named_design import ChannelTask, DesignedChannel
from sfumato.channels.designs.remap import remapped_design
from sfumato.channels.files.channel_files import write_channel
from sfumato.channels.measures.table import Measures, measured
from sfumato.cli.channels.channel_inputs import design_distortion, first_weights, grid_of, prior_of, prior_set_of
from sfumato.cli.channels.channel_measured import print_measures
from sfumato.cli.output import print_json, tell_progress


@dataclass(frozen=True, slots=True)
class DesignOptions:
    """The options of the command."""

    mechanism: str
    prior: Path
    epsilon: float | None
    distortion: str | None
    epsilon_low: float | None
    priors: str
    beta: float | None
    distortion_target: float | None
    first_channel: Path | None
    set_error: float
    grid: str | None
    cell_size: str | None
    floor: float
    drop_zeros: bool
    remap: bool
    gap: float | None
    max_seconds: float | None
    accept_gap: bool
    output: Path | None

    def __post_init__(self) -> None:
        if self.gap is not None and not 0 < self.gap < 1:
            raise InputError(f"--gap is {self.gap:g}.", "It is a share between 0 and 1, for example 1e-4.")
        if self.max_seconds is not None and not 0 < self.max_seconds < math.inf:
            raise InputError(f"--max-seconds is {self.max_seconds:g}.", "Give a finite number above 0, such as 60.")
        design_named(self.mechanism)
        if self.output is not None and self.output.suffix.lower() not in (".parquet", ".pq", ".csv", ".json"):
            raise InputError(f"A channel cannot be written as '{self.output.suffix}'.", "Use .parquet, .csv or .json.")
        if not 0 <= self.floor < 1:
            raise InputError(f"The floor is {self.floor}.", "It is a share between 0 and 1, for example 0.01.")

    @property
    def counted(self) -> bool:
        """Whether the set of priors is built from counts, so that it holds with a probability."""
        return self.priors in ("clopper-pearson", "weissman")

    def task(self) -> ChannelTask:
        """The files read, checked against one another."""
        cells = grid_of(self.grid, self.cell_size)
        law, counts, plane_error = prior_of(self.prior, grid=cells, floor=self.floor, drop_zeros=self.drop_zeros)
        name = self.distortion or ("hamming" if law.positions_m is None else "euclidean")
        costs = design_distortion(name, law)
        if self.counted and self.drop_zeros and counts is not None and law.size < read_cells(self.prior).values.size:
            raise InputError(
                f"--priors {self.priors} holds jointly for all cells; those never seen cannot be dropped from it.",
                "Use --floor 0.01 instead of --drop-zeros, or merge rare cells.",
            )
        if self.remap and costs.shape[0] != costs.shape[1]:
            raise InputError("--remap needs a square distortion.", "Use hamming, euclidean or a square file.")
        return ChannelTask(
            prior=law,
            distortion=costs,
            epsilon=self.epsilon,
            distortion_name=name,
            grid=cells,
            plane_error=plane_error,
            priors=prior_set_of(self.priors, law, counts, self.set_error),
            epsilon_low=self.epsilon_low,
            gap=self.gap,
            most_seconds=self.max_seconds,
            progress=tell_progress,
            rate=self.beta,
            average_distortion=self.distortion_target,
            first_weights=None if self.first_channel is None else first_weights(self.first_channel, law.probabilities),
        )

    def guarantee(self, stated: Guarantee) -> Guarantee:
        """What was stated, and with which probability the set of priors holds where it came from counts."""
        if not self.counted:
            return stated
        words = (
            f"that set was built from the counts ({self.priors}): it holds the true prior with probability "
            f"{1 - self.set_error:g}, if the counts are independent draws"
        )
        return stated.assuming(words)


def run_design(asked: DesignOptions, *, json: bool) -> None:
    """Design the channel, save it where asked, and print what it promises and tells."""
    began = time.perf_counter()
    task = asked.task()
    made = designed(asked.mechanism, task)
    tell_progress("")
    if asked.remap:
        made = remapped_design(made, task)
    if made.status == "stopped" and not asked.accept_gap:
        raise _missed(asked, made)
    channel = made.channel
    assert channel.distortion is not None
    found = measured(
        channel, task.prior, channel.distortion, distortion_name=task.distortion_name or "hamming", unit=task.unit
    )
    seconds = time.perf_counter() - began
    if asked.output is not None:
        write_whole(asked.output, lambda path: write_channel(channel, path))
    if json:
        print_json(_answer(asked, task, made, found, seconds))
    else:
        _print(asked, made, channel, found)


def _missed(asked: DesignOptions, made: DesignedChannel) -> NotConverged:
    """What was not reached, before anything is written."""
    if made.gap is None:
        what = f"{asked.mechanism} was not yet tuned to --epsilon when --max-seconds had passed."
    elif made.gap >= 1:
        what = f"{asked.mechanism} found nothing that is known to be better than any other channel."
    else:
        what = f"{asked.mechanism} stopped with a certified gap of {made.gap:.2g}: so much cheaper the best may be."
    longer = "allow more --max-seconds, " if asked.max_seconds is not None else ""
    advice = f"Its promise holds all the same: take it with --accept-gap, {longer}or ask for a larger --gap."
    return NotConverged(what, advice)


def _answer(
    asked: DesignOptions, task: ChannelTask, made: DesignedChannel, found: Measures, seconds: float
) -> dict[str, object]:
    cost = made.average_distortion if made.average_distortion is not None else found.average_distortion
    answer: dict[str, object] = {
        "ok": True,
        "mechanism": asked.mechanism,
        "epsilon": asked.epsilon,
        "beta": asked.beta,
        "distortion_target": asked.distortion_target,
        "remapped": asked.remap,
        "average_distortion": cost,
        "gap": made.gap,
        "status": made.status,
        "guarantee": asked.guarantee(made.guarantee).to_dict(),
        "measures": found.to_dict(),
        "distance_unit": task.unit,
        "plane_error": task.plane_error,
        "seconds": seconds,
    }
    if made.gap is not None:
        answer |= {"lower_bound": made.lower_bound, "steps": made.steps}
    if asked.counted:
        answer["prior_set"] = {
            "method": asked.priors,
            "set_error": asked.set_error,
            "holds_with_probability": 1 - asked.set_error,
        }
    if asked.output is not None:
        answer["channel"] = str(asked.output)
    return answer


def _print(asked: DesignOptions, made: DesignedChannel, channel: Channel, found: Measures) -> None:
    inputs, outputs = channel.shape
    wishes = (("epsilon", asked.epsilon), ("beta", asked.beta), ("average distortion", asked.distortion_target))
    wish = ", ".join(f"{name} {value:g}" for name, value in wishes if value is not None)
    typer.echo(f"{asked.mechanism}, {wish}: {inputs} inputs, {outputs} outputs in use")
    if made.gap is not None:
        typer.echo(f"certified gap {made.gap:.2e} ({made.status})")
    print_measures(found)
    if asked.output is not None:
        typer.echo(f"saved to {asked.output}")
