"""How alike two moments of a movement are: covariance functions of the time between them, with + and ×.

Each kernel is the covariance function k(d) of a stationary Gaussian process, in m² of one coordinate, of the lag d in
seconds ([Meehan2021, Sec. 5] uses RBF and periodic; the Matérn kernels are the state-space ones of [Sarkka2019]):

    RBF        sd² exp(-d² / 2l²)
    Matérn 1/2 sd² exp(-x)                        x = d / l
    Matérn 3/2 sd² (1 + x) exp(-x)                x = √3 d / l
    Matérn 5/2 sd² (1 + x + x²/3) exp(-x)         x = √5 d / l
    Periodic   sd² exp(-2 sin²(π d / p) / l²)
    White      sd² where d = 0, otherwise 0       (one value per moment: equal times share it)
    Constant   sd²

Periodic has a spectrum of lines (:meth:`Periodic.spectral_lines`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, Required, SupportsFloat, TypedDict

import numpy as np
import numpy.typing as npt
from scipy.special import ive

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError

_LARGEST = 1e50


class KernelTerms(TypedDict, total=False):
    """A kernel as JSON: its name under ``kernel``, its numbers, and ``parts`` of a sum or product."""

    kernel: Required[str]
    parts: list[KernelTerms]
    length_scale_s: float
    period_s: float
    length_scale: float
    sd_m: float


def _checked(value: float, name: str, *, zero: bool = False) -> float:
    number = float(value)
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise InputError(f"{name} is {number:g}.", f"It must be finite and {'at least' if zero else 'greater than'} 0.")
    if number > 0 and not 1 / _LARGEST <= number <= _LARGEST:
        raise InputError(f"{name} is {number:g}.", "Its square is no double worth computing with: use another unit.")
    return number


class Kernel(ABC):
    """A stationary covariance function: call it with lags in seconds."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, lags_s: npt.ArrayLike) -> FloatArray:
        """The covariance in m² at each lag."""

    @property
    @abstractmethod
    def variance_m2(self) -> float:
        """The covariance at lag 0."""

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """Plain JSON; :func:`kernel_from_dict` reads it back."""

    def covariance(self, times_s: npt.ArrayLike, other_times_s: npt.ArrayLike | None = None) -> FloatArray:
        """The matrix k(t_i - t_j), (n, n), or (n, m) against other times."""
        times = np.asarray(times_s, dtype=np.float64)
        others = times if other_times_s is None else np.asarray(other_times_s, dtype=np.float64)
        return self(times[:, None] - others[None, :])

    def __add__(self, other: Kernel) -> Kernel:
        return Sum(_flatten(Sum, self, other))

    def __mul__(self, other: Kernel) -> Kernel:
        return Product(_flatten(Product, self, other))


def _flatten(kind: type[Sum] | type[Product], *kernels: Kernel) -> tuple[Kernel, ...]:
    parts: list[Kernel] = []
    for kernel in kernels:
        if not isinstance(kernel, Kernel):
            raise InputError(f"A kernel cannot be density_of_both with {type(kernel).__name__}.", "Use Constant(sd_m).")
        parts.extend(kernel.parts if isinstance(kernel, kind) else (kernel,))
    return tuple(parts)


def _numbers(kernel: Simple) -> list[str]:
    return [field.name for field in fields(kernel)]  # type: ignore[arg-type]


class Simple(Kernel):
    """A kernel that is no sum and no product: numbers, of which ``sd_m`` is the standard deviation."""

    __slots__ = ()
    name: ClassVar[str] = ""
    sd_m: float

    def __post_init__(self) -> None:
        for number in _numbers(self):
            object.__setattr__(self, number, _checked(getattr(self, number), number, zero=number == "sd_m"))

    @property
    def variance_m2(self) -> float:
        return self.sd_m**2

    def to_dict(self) -> dict[str, object]:
        return {"kernel": self.name, **{number: getattr(self, number) for number in _numbers(self)}}


@dataclass(frozen=True, slots=True)
class Scaled(Simple):
    """A kernel with one length scale and one standard deviation."""

    length_scale_s: float
    sd_m: float = 1.0


@dataclass(frozen=True, slots=True)
class RBF(Scaled):
    """The squared exponential: infinitely smooth, the kernel of the published figures."""

    name: ClassVar[str] = "rbf"

    def __call__(self, lags_s: npt.ArrayLike) -> FloatArray:
        d = np.asarray(lags_s, dtype=np.float64) / self.length_scale_s
        return self.variance_m2 * np.exp(-0.5 * d * d)


@dataclass(frozen=True, slots=True)
class Matern12(Scaled):
    """Ornstein-Uhlenbeck: continuous, nowhere differentiable; rougher than people and cars move."""

    name: ClassVar[str] = "matern12"

    def __call__(self, lags_s: npt.ArrayLike) -> FloatArray:
        x = np.abs(np.asarray(lags_s, dtype=np.float64)) / self.length_scale_s
        return self.variance_m2 * np.exp(-x)


@dataclass(frozen=True, slots=True)
class Matern32(Scaled):
    """Once differentiable: the kernel that fits real traces best, and the one the multiscale noise is made of."""

    name: ClassVar[str] = "matern32"

    def __call__(self, lags_s: npt.ArrayLike) -> FloatArray:
        x = math.sqrt(3) / self.length_scale_s * np.abs(np.asarray(lags_s, dtype=np.float64))
        return self.variance_m2 * (1 + x) * np.exp(-x)


@dataclass(frozen=True, slots=True)
class Matern52(Scaled):
    """Twice differentiable."""

    name: ClassVar[str] = "matern52"

    def __call__(self, lags_s: npt.ArrayLike) -> FloatArray:
        x = math.sqrt(5) / self.length_scale_s * np.abs(np.asarray(lags_s, dtype=np.float64))
        return self.variance_m2 * (1 + x + x * x / 3) * np.exp(-x)


@dataclass(frozen=True, slots=True)
class Periodic(Simple):
    """Repeats exactly every ``period_s``; ``length_scale`` has no unit."""

    period_s: float
    length_scale: float
    sd_m: float = 1.0

    name: ClassVar[str] = "periodic"

    def __call__(self, lags_s: npt.ArrayLike) -> FloatArray:
        wave = np.sin(np.pi * np.asarray(lags_s, dtype=np.float64) / self.period_s)
        return self.variance_m2 * np.exp(-2 * wave * wave / self.length_scale**2)

    def spectral_lines(self) -> tuple[FloatArray, FloatArray]:
        """Weights of exp(-(1-cos θ)/l²) = Σ_j c_j cos jθ: c_0 = I_0(l⁻²)e^{-l⁻²}, c_j = 2 I_j(l⁻²)e^{-l⁻²}."""
        reach = int(40 + 12 / self.length_scale)
        j = np.arange(reach, dtype=np.float64)
        weights = self.variance_m2 * ive(j, self.length_scale**-2) * np.where(j == 0, 1.0, 2.0)
        return np.asarray(2 * np.pi * j / self.period_s, dtype=np.float64), np.asarray(weights, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class White(Simple):
    """An independent value at every moment (a nugget); equal times share one value."""

    sd_m: float

    name: ClassVar[str] = "white"

    def __call__(self, lags_s: npt.ArrayLike) -> FloatArray:
        return np.where(np.asarray(lags_s, dtype=np.float64) == 0, self.variance_m2, 0.0)


@dataclass(frozen=True, slots=True)
class Constant(Simple):
    """One unknown value for all times: an offset, or a stay at one unknown place."""

    sd_m: float

    name: ClassVar[str] = "constant"

    def __call__(self, lags_s: npt.ArrayLike) -> FloatArray:
        return np.full_like(np.asarray(lags_s, dtype=np.float64), self.variance_m2)


@dataclass(frozen=True, slots=True)
class Sum(Kernel):
    """Independent movements added up."""

    parts: tuple[Kernel, ...]

    @property
    def variance_m2(self) -> float:
        return float(sum(part.variance_m2 for part in self.parts))

    def __call__(self, lags_s: npt.ArrayLike) -> FloatArray:
        total = np.zeros_like(np.asarray(lags_s, dtype=np.float64))
        for part in self.parts:
            total = total + part(lags_s)
        return total

    def to_dict(self) -> dict[str, object]:
        return {"kernel": "sum", "parts": [part.to_dict() for part in self.parts]}


@dataclass(frozen=True, slots=True)
class Product(Kernel):
    """One movement modulated by another: covariances multiply, spectra convolve."""

    parts: tuple[Kernel, ...]

    @property
    def variance_m2(self) -> float:
        return math.prod(part.variance_m2 for part in self.parts)

    def __call__(self, lags_s: npt.ArrayLike) -> FloatArray:
        total = np.ones_like(np.asarray(lags_s, dtype=np.float64))
        for part in self.parts:
            total = total * part(lags_s)
        return total

    def to_dict(self) -> dict[str, object]:
        return {"kernel": "product", "parts": [part.to_dict() for part in self.parts]}


_SCALED: dict[str, type[Scaled]] = {kind.name: kind for kind in (RBF, Matern12, Matern32, Matern52)}
_SIMPLE: dict[str, type[Simple]] = {**_SCALED, **{kind.name: kind for kind in (Periodic, White, Constant)}}
KERNEL_NAMES = (*_SIMPLE, "sum", "product")


def _number(value: object) -> float:
    if not isinstance(value, SupportsFloat):
        raise TypeError(f"{value!r} is no number")
    return float(value)


def kernel_named(name: str, *, length_scale_s: float, sd_m: float = 1.0) -> Kernel:
    """The one-length-scale kernel called ``name`` (rbf, matern12, matern32, matern52)."""
    if name not in _SCALED:
        raise InputError(f"'{name}' is not a kernel with one length scale.", f"Choose from {', '.join(_SCALED)}.")
    return _SCALED[name](length_scale_s, sd_m)


def kernel_from_dict(description: KernelTerms) -> Kernel:
    """The kernel that :meth:`Kernel.to_dict` described."""
    name = str(description.get("kernel", ""))
    try:
        if name in ("sum", "product"):
            parts = tuple(kernel_from_dict(part) for part in description["parts"])
            if not parts:
                raise InputError(f"A {name} of no kernels.", "Give at least one part.")
            return Sum(parts) if name == "sum" else Product(parts)
        if name in _SIMPLE:
            return _SIMPLE[name](**{key: _number(value) for key, value in description.items() if key != "kernel"})
    except (TypeError, KeyError) as error:
        raise InputError(f"The kernel '{name}' is described wrongly: {error}.", "Use what to_dict() wrote.") from error
    raise InputError(f"There is no kernel '{name}'.", f"Choose from {', '.join(KERNEL_NAMES)}.")
