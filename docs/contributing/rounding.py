# src/sfumato/tracks/noise/rounding.py
"""Round positions to a public grid: coarser to look at, and no promise about places."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from sfumato.accountant.compose import Guarantee
from sfumato.base.arrays import FloatArray, positive
from sfumato.base.errors import InputError
from sfumato.base.randomness import Random
from sfumato.base.things.frames import snap
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.tracks.noise.interface import Json, Losses, Numbers, Stated, Together, TraceMechanism
from sfumato.tracks.plan import Plan, Target

NO_PROMISE = (
    "Rounding promises nothing about places: it draws no noise, so the release tells for certain which cell every "
    "position was in, and a path that crosses cell borders tells where it crossed."
)


@dataclass(frozen=True, slots=True, eq=False)
class RoundedToGrid(TraceMechanism):
    """Every position becomes the middle of its cell of ``cell_m`` metres."""

    cell_m: float
    redraws: int = 1

    name: ClassVar[str] = "rounding"
    summary: ClassVar[str] = "positions rounded to a public grid, with nothing promised about places"
    takes: ClassVar[frozenset[str]] = frozenset()  # no option of a plan beside its wish
    draws: ClassVar[bool] = False  # it uses no randomness

    def __post_init__(self) -> None:
        positive(self.cell_m, "The cell in metres")

    # Made, written and read.

    @classmethod
    def from_plan(cls, plan: Plan, traces: Sequence[Trace], together: Together) -> Self:
        """A point anywhere in a cell is off by cell/√12 per coordinate, root mean square: that is the ``noise_m``."""
        if plan.noise_m is None:
            raise InputError("Rounding promises no odds and no epsilon.", "Ask for --noise: how far off it may be.")
        return cls(math.sqrt(12.0) * plan.noise_m)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        return cls(float(values["cell_m"]), int(values["redraws"]))

    def parameters(self) -> Json:
        return {"name": self.name, "noise_m": None, "cell_m": self.cell_m, "redraws": self.redraws}

    # Its function and its law.

    def release(self, trace: Trace, rng: Random = None) -> tuple[FloatArray, FloatArray]:
        return snap(trace.lat_deg, trace.lon_deg, self.cell_m)

    @property
    def noise_m(self) -> None:
        return None  # nothing is drawn

    def kernel(self) -> None:
        return None  # so no covariance is certified, and the certificate says so

    # What it gives away, and whether that was asked for.

    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        return Losses(
            worst_loss=None,
            stay_loss=None,
            loss_at_times=None,
            floor_loss=None,
            basis=None,
            basis_name="nothing: no loss is bounded",
            warnings=(NO_PROMISE,),
        )

    def numbers(self, losses: Losses, target: Target) -> Numbers:
        return Numbers(radius_m=target.radius_m, order=target.order)  # no epsilon, no odds

    def meets(self, losses: Losses, target: Target) -> bool:
        return target.noise_m is not None  # odds or epsilon it cannot keep

    def is_own(self, losses: Losses, target: Target) -> bool:
        return target.noise_m is not None and math.isclose(self.cell_m, math.sqrt(12.0) * target.noise_m)

    # What that means, in words.

    def guarantee(self, stated: Stated, *, snap_m: float, simulation: bool) -> Guarantee:
        return Guarantee(
            notion="no promise about places",
            parameters={"cell_m": self.cell_m},
            covers=(),
            not_covered=(
                "Where you were: the cell of every position is released as it is, and borders that you crossed are "
                "seen to the metre.",
                "The times themselves, the gaps between them, the number of points and of segments.",
                "Anything you asked to keep, and what you tell or publish elsewhere.",
            ),
            simulation=simulation,
        )

    def releases(self) -> Json:
        return {"mode": "repeated", "meaning": "Another release of the same trace is the same again."}

    def headline(self, stated: Stated) -> str:
        return f"Positions were rounded to cells of {format_length(self.cell_m)}. {NO_PROMISE}"

    def explanations(self, stated: Stated) -> list[str]:
        return [NO_PROMISE, str(self.releases()["meaning"])]
