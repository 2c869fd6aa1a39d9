"""A guarantee is a statement; several about one person are one, by one rule per notion, and none for the others.

Mechanisms state what one report or release promises, under which assumptions, for what, and what is not covered
(:class:`Guarantee`); certificates print it; only :func:`composition` makes totals, for reports and releases alike. A
notion without a rule is refused, and so are statements of different notions, units or shapes: nothing is guessed.

Between two hypotheses about one moment a release with Gaussian noise is μ-Gaussian-DP with μ² = loss·r². Rules:

* Releases of one continuing noise process are one observation of one process: the universal loss counts once.
* Independent processes of the same shape (kernel up to size) add their losses. For a process with covariance G and
  sizes o_i, blockdiag(o_i·G_ii) ⪰ (Σ 1/o_i)⁻¹·G by pinching (G ⪯ blockdiag(G_ii/p_i) for Σp_i = 1); loss is monotone.
* Losses of *different* shapes do not simply add: one release can be the key to another. They are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from sfumato.base.arrays import from_zero, jsonable
from sfumato.base.errors import InputError

IDEALISED = "idealised: proved for exact real numbers; drawn and computed in double precision"


@dataclass(frozen=True, slots=True, eq=False)
class Guarantee:
    """One promise. ``notion`` names it, ``parameters`` are its numbers (units in their names)."""

    notion: str
    parameters: Mapping[str, Any]
    assumes: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    numerics: str = IDEALISED
    simulation: bool = False
    details: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.notion:
            raise InputError("A guarantee needs a notion.", "Name what is promised.")
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))
        for name in ("assumes", "covers", "not_covered"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def assuming(self, *words: str) -> Guarantee:
        """The same promise with further assumptions said."""
        return replace(self, assumes=(*self.assumes, *words))

    def to_dict(self) -> dict[str, object]:
        """Plain JSON, without NaN or infinities."""
        return {
            "notion": self.notion,
            "parameters": jsonable(dict(self.parameters)),
            "assumes": list(self.assumes),
            "covers": list(self.covers),
            "not_covered": list(self.not_covered),
            "numerics": self.numerics,
            "simulation": self.simulation,
            "details": jsonable(dict(self.details)),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Guarantee:
        """The guarantee that :meth:`to_dict` wrote; unknown fields are refused."""
        known = {"notion", "parameters", "assumes", "covers", "not_covered", "numerics", "simulation", "details"}
        unknown = set(values) - known
        if unknown or "notion" not in values:
            raise InputError(f"This is not a guarantee: unknown or missing fields {sorted(unknown)}.")
        return cls(**dict(values))


def snapped_numerics(snap_m: float) -> str:
    """How far the numbers of a release of positions are idealised."""
    return (
        f"{IDEALISED}; released positions are snapped after the noise to a public grid of {snap_m:g} m, which is fine "
        "beside the noise; after coarsening, the odds of an event of probability 1 in 100 are at most "
        "odds_99_after_coarsening"
    )


Together = Callable[[float], float]  # the loss of all announced releases, from that of one: linear


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """What is given away, J per m² of one coordinate.

    ``worst_loss`` holds for the whole prior class at any timestamps (None where there is no such bound),
    ``stay_loss`` for one constant unknown place, ``loss_at_times`` at the release's own times on the stated grid.
    ``basis`` is the loss that ε, μ and the odds are computed from; None for a mechanism that is not Gaussian, which
    may state ``pure_epsilon_per_m`` instead. ``floor_loss`` is what no noise of this size could stay below.
    """

    worst_loss: float | None
    stay_loss: float | None
    loss_at_times: float | None
    floor_loss: float | None
    basis: float | None
    basis_name: str
    warnings: tuple[str, ...] = ()
    pure_epsilon_per_m: float | None = None


Reporting = Literal["once", "every-cycle"]
"""Whether a person reports once, in one of several disjoint cohorts, or in every cycle, so that reports add up."""

CompositionRule = Callable[[Sequence[Guarantee], Reporting], Guarantee]

GEO = "geo-indistinguishability"
INFERENTIAL = "conditional inferential privacy"
USER_LEVEL = "user-level differential privacy"


def composition(guarantees: Sequence[Guarantee], *, reporting: Reporting) -> Guarantee:
    """What holds for one person after all of these, by the rule of their notion; refused where there is none."""
    if not guarantees:
        raise InputError("There is no guarantee to compose.", "Somebody must report first.")
    notions = {guarantee.notion for guarantee in guarantees}
    if len(notions) > 1:
        raise InputError(
            f"Guarantees of different notions have no total: {', '.join(sorted(notions))}.", "Account for each apart."
        )
    return rule_for(guarantees[0].notion)(guarantees, checked_reporting(reporting))


def rule_for(notion: str) -> CompositionRule:
    """The composition rule of a notion, or InputError."""
    if notion not in RULES:
        raise InputError(
            f"There is no composition rule for '{notion}'.",
            f"Rules are known for: {', '.join(RULES)}; local information privacy adds only where each report is "
            "designed for the posterior (PosteriorAdaptive).",
        )
    return RULES[notion]


def checked_reporting(reporting: str) -> Reporting:
    """Once or every-cycle, or InputError."""
    if reporting not in ("once", "every-cycle"):
        raise InputError(f"The reporting is '{reporting}'.", "It is 'once' or 'every-cycle'.")
    return "once" if reporting == "once" else "every-cycle"


def total_epsilon(epsilons: Sequence[float]) -> float:
    """Sequential composition of geo-indistinguishability: the epsilons of reports about one place add."""
    checked = [from_zero(epsilon, "epsilon") for epsilon in epsilons]
    return math.inf if math.isinf(sum(checked)) else math.fsum(checked)


def _geo_indistinguishable(guarantees: Sequence[Guarantee], reporting: Reporting) -> Guarantee:
    units = {_unit_of(guarantee) for guarantee in guarantees}
    if len(units) > 1:
        raise InputError(f"The guarantees are per {' and per '.join(sorted(units))}.", "Compose one unit only.")
    (unit,) = units
    epsilons = [float(guarantee.parameters[f"epsilon_per_{unit}"]) for guarantee in guarantees]
    total = max(epsilons) if reporting == "once" else total_epsilon(epsilons)
    return geo_total(guarantees, reporting, unit=unit, epsilon=total)


def geo_total(guarantees: Sequence[Guarantee], reporting: Reporting, *, unit: str, epsilon: float) -> Guarantee:
    """The statement for a person's reports together, at ``epsilon``: that of the rule, or a sharper one proved."""
    reports = 1 if reporting == "once" else len(guarantees)
    return Guarantee(
        notion=GEO,
        parameters={f"epsilon_per_{unit}": epsilon, "reports": reports},
        assumes=tuple(dict.fromkeys(words for guarantee in guarantees for words in guarantee.assumes)),
        covers=(
            "any one report of a person who reports once"
            if reporting == "once"
            else f"all {reports} reports together, of a person who stays in one place",
        ),
        not_covered=tuple(dict.fromkeys(words for guarantee in guarantees for words in guarantee.not_covered)),
        numerics=guarantees[0].numerics,
    )


def _unit_of(guarantee: Guarantee) -> str:
    units = [name.removeprefix("epsilon_per_") for name in guarantee.parameters if name.startswith("epsilon_per_")]
    known = [unit for unit in units if unit != "ground_m"]
    if len(known) != 1:
        raise InputError("A guarantee does not say its epsilon.", "It needs one epsilon_per_UNIT.")
    return known[0]


def trace_release(loss_per_m2: float, *, process: str = "", shape: str = "", redraws: int = 1) -> Guarantee:
    """What the accountant needs of a trace's release: its loss, and the process and shape of its noise.

    ``redraws`` releases with noise of this shape, each drawn anew, are stated at once.
    """
    stated = {"loss_per_m2": loss_per_m2, "process": process, "shape": shape, "redraws": redraws}
    return Guarantee(notion=INFERENTIAL, parameters=stated)


def _inferentially_private(guarantees: Sequence[Guarantee], reporting: Reporting) -> Guarantee:
    processes: dict[str, float] = {}
    for guarantee in guarantees:
        stated = guarantee.parameters
        if not {"loss_per_m2", "process", "shape", "redraws"} <= set(stated):
            raise InputError("A release does not say the loss, the shape and the process of its noise.", "Refuse it.")
        loss = float(stated["loss_per_m2"]) * stated["redraws"]
        if not loss >= 0.0:
            raise InputError("A release says a loss below zero, or none.", "Refuse it.")
        processes[stated["process"]] = max(processes.get(stated["process"], 0.0), loss)
    if len({guarantee.parameters["shape"] for guarantee in guarantees}) > 1:
        raise InputError(
            "Releases with differently shaped noise do not have a known total.",
            "Keep to one mechanism and prior class per person.",
        )
    losses = processes.values()
    total = max(losses) if reporting == "once" else sum(losses)
    return trace_release(total, process="all", shape=guarantees[0].parameters["shape"])


def _user_level(guarantees: Sequence[Guarantee], reporting: Reporting) -> Guarantee:
    """Basic composition: ε and δ of tables about the same people add up; of people in one of them, the largest."""
    total = max if reporting == "once" else math.fsum
    stated = [
        [from_zero(one.parameters.get(name, math.nan), name) for name in ("epsilon", "delta")] for one in guarantees
    ]
    epsilon, delta = (total(values) for values in zip(*stated, strict=True))
    return Guarantee(notion=USER_LEVEL, parameters={"epsilon": epsilon, "delta": delta})


def together(redraws: int) -> Together:
    """The loss of ``redraws`` independent releases of one shape, from that of one: they add up."""

    def rule(loss: float) -> float:
        total = composition([trace_release(loss, redraws=redraws)], reporting="every-cycle")
        return float(total.parameters["loss_per_m2"])

    return rule


def composed_losses(losses: Losses, redraws: int) -> Losses:
    """What ``redraws`` releases give away together; the floor is that of one release's noise."""
    rule = together(redraws)

    def total(loss: float | None) -> float | None:
        return None if loss is None else rule(loss)

    return replace(
        losses,
        worst_loss=total(losses.worst_loss),
        stay_loss=total(losses.stay_loss),
        loss_at_times=total(losses.loss_at_times),
        basis=total(losses.basis),
        pure_epsilon_per_m=total(losses.pure_epsilon_per_m),
    )


RULES: Mapping[str, CompositionRule] = MappingProxyType(
    {GEO: _geo_indistinguishable, INFERENTIAL: _inferentially_private, USER_LEVEL: _user_level}
)
