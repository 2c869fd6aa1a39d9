"""Which movements a guarantee holds for: a class of priors, stated in the certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from sfumato.base.arrays import jsonable, positive
from sfumato.base.errors import InputError
from sfumato.base.units import plain_number
from sfumato.tracks.priors.kernels import Constant, Kernel, Scaled, Sum, White

if TYPE_CHECKING:
    from sfumato.tracks.priors.fit_prior import Fitted

MEMBER_KERNELS = ("matern32", "matern52", "rbf")


class ClassTerms(TypedDict, total=False):
    """A class as JSON; an unbounded sd is null; its ``name`` stands beside it in a certificate."""

    name: str
    kernels: list[str]
    length_scales_s: list[float]
    sd_m: list[float | None]
    nugget_share: float
    offset: bool


@dataclass(frozen=True, slots=True)
class PriorClass:
    """Kernels × ranges of length scale and sd, a nugget up to a share of the sd, and perhaps an unknown offset.

    A member is  σ² k_l(d) + τ² [d = 0] + v,  with k among ``kernels``, l and σ in their ranges, τ ≤ nugget_share · σ,
    and any v ≥ 0 when ``offset`` (an unknown constant place). ``sd_m=(0, inf)`` means any sd.
    """

    kernels: tuple[str, ...] = MEMBER_KERNELS
    length_scales_s: tuple[float, float] = (10.0, 21600.0)
    sd_m: tuple[float, float] = (0.0, math.inf)
    nugget_share: float = 0.1
    offset: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", tuple(self.kernels))
        low, high = (float(scale) for scale in self.length_scales_s)
        least, most = (float(sd) for sd in self.sd_m)
        object.__setattr__(self, "length_scales_s", (low, high))
        object.__setattr__(self, "sd_m", (least, most))
        if not self.kernels or any(name not in MEMBER_KERNELS for name in self.kernels):
            raise InputError("The class names no kernel it can hold.", f"Choose from {', '.join(MEMBER_KERNELS)}.")
        positive(low, "The shortest length scale")
        if not (math.isfinite(high) and high >= low):
            raise InputError(f"Length scales from {low:g} s to {high:g} s.", "Give a finite range, shortest first.")
        if not (0 <= least <= most and most > 0):
            raise InputError(f"Standard deviations from {least:g} m to {most:g} m.", "Give a range, smallest first.")
        if not 0 <= self.nugget_share <= 1:
            raise InputError(f"nugget_share is {self.nugget_share:g}.", "It must lie in 0 .. 1.")

    def contains(self, fitted: Fitted | Kernel) -> bool:
        """Whether a fitted prior, or a kernel of the form above, is a member."""
        return not self.reasons_outside(fitted)

    def reasons_outside(self, fitted: Fitted | Kernel) -> list[str]:
        """Why a prior is not a member, in words; empty if it is."""
        main, nugget_m, offset_m = _decomposed(fitted)
        if main is None:
            return ["it is not one kernel with a nugget and an offset"]
        name, length_scale_s, sd_m = main
        low, high = self.length_scales_s
        reasons = []
        if name not in self.kernels:
            reasons.append(f"kernel {name} is not in the class")
        if not low <= length_scale_s <= high:
            reasons.append(f"length scale {length_scale_s:.3g} s outside {low:g} .. {high:g} s")
        if not self.sd_m[0] <= sd_m <= self.sd_m[1]:
            reasons.append(f"sd {plain_number(sd_m)} m outside {self.sd_m[0]:g} .. {self.sd_m[1]:g} m")
        if nugget_m > self.nugget_share * sd_m * (1 + 1e-12):
            reasons.append(
                f"nugget {plain_number(nugget_m)} m above {self.nugget_share:g} of the sd {plain_number(sd_m)} m"
            )
        if offset_m > 0 and not self.offset:
            reasons.append("an unknown offset")
        return reasons

    def to_dict(self) -> ClassTerms:
        """Plain JSON; an unbounded sd is null."""
        return jsonable(self)  # type: ignore[no-any-return]

    @staticmethod
    def from_dict(description: ClassTerms) -> PriorClass:
        """The class that :meth:`to_dict` described."""
        try:
            least, most = description["sd_m"]
            if least is None:
                raise TypeError
            low, high = description["length_scales_s"]
            return PriorClass(
                tuple(description["kernels"]),
                (float(low), float(high)),
                (float(least), math.inf if most is None else float(most)),
                float(description["nugget_share"]),
                bool(description["offset"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("The prior class is described wrongly.", "Use what to_dict() wrote.") from error


def _decomposed(fitted: Fitted | Kernel) -> tuple[tuple[str, float, float] | None, float, float]:
    """((name, length scale, sd), nugget, offset) of a one-kernel prior, or (None, ...) where it has another form."""
    kernel = fitted if isinstance(fitted, Kernel) else fitted.prior
    main: tuple[str, float, float] | None = None
    nugget2 = offset2 = 0.0
    for part in kernel.parts if isinstance(kernel, Sum) else (kernel,):
        if isinstance(part, White):
            nugget2 += part.variance_m2
        elif isinstance(part, Constant):
            offset2 += part.variance_m2
        elif main is None and isinstance(part, Scaled):
            main = (part.name, part.length_scale_s, part.sd_m)
        else:
            return None, 0.0, 0.0
    return main, math.sqrt(nugget2), math.sqrt(offset2)


DAY = PriorClass()
WEEK = PriorClass(length_scales_s=(10.0, 7 * 86400.0))
YEAR = PriorClass(length_scales_s=(10.0, 365 * 86400.0))
PRIOR_CLASSES = {"day": DAY, "week": WEEK, "year": YEAR}


def prior_class_named(name: str | PriorClass) -> PriorClass:
    """``day`` (10 s - 6 h), ``week`` or ``year``; a :class:`PriorClass` passes through."""
    if isinstance(name, PriorClass):
        return name
    if name not in PRIOR_CLASSES:
        raise InputError(f"There is no prior class '{name}'.", f"Choose from {', '.join(PRIOR_CLASSES)}.")
    return PRIOR_CLASSES[name]


def class_name(prior_class: PriorClass) -> str:
    """``day``, ``week``, ``year``, one of them ``without offset``, or ``custom``."""
    for name, known in PRIOR_CLASSES.items():
        if known.to_dict() == prior_class.to_dict():
            return name
        if replace(known, offset=False).to_dict() == prior_class.to_dict():
            return f"{name} without offset"
    return "custom"


def class_words(members: PriorClass) -> str:
    """What the promise assumes about how people move."""
    low, high = members.length_scales_s
    sd = "any sd" if math.isinf(members.sd_m[1]) and members.sd_m[0] == 0 else f"sd in {members.sd_m} m"
    return (
        "around a mean the adversary may know, the path is Gaussian with one of the kernels "
        f"{', '.join(members.kernels)}, "
        f"a length scale from {low:g} s to {high:g} s, {sd}, a nugget of at most {members.nugget_share:g} of the sd"
        + (", and an unknown offset" if members.offset else ", and no unknown offset")
    )
