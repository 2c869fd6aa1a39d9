"""Read-only arrays, checked at the door, and results that say how far to believe them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.base.errors import InputError
from sfumato.base.shown import Shown

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
ComplexArray = npt.NDArray[np.complex128]

Value = TypeVar("Value")


def read_only(values: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> Any:
    """A contiguous copy-if-needed of ``values`` that nobody can write to."""
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.flags.writeable:
        if array is values or array.base is not None:
            array = array.copy()
        array.setflags(write=False)
    return array


def finite(values: npt.ArrayLike, name: str, *, dimensions: int | None = None) -> FloatArray:
    """``values`` as a read-only float array without NaN or infinity, or an :class:`InputError` naming it."""
    return without_gaps(doubles(values, name, dimensions=dimensions), name)


def doubles(values: npt.ArrayLike, name: str, *, dimensions: int | None = None) -> FloatArray:
    """The same, NaN and infinity included: for whoever will meet them in a sum, and then asks ``without_gaps``."""
    try:
        array: FloatArray = read_only(values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not numeric.", "Give numbers.") from error
    if dimensions is not None and array.ndim != dimensions:
        raise InputError(f"{name} has {array.ndim} dimensions; {dimensions} are needed.")
    return array


def without_gaps(array: FloatArray, name: str) -> FloatArray:
    """The array, or an :class:`InputError` that counts what is NaN or infinite."""
    bad = int(array.size - np.count_nonzero(np.isfinite(array)))
    if bad:
        raise InputError(f"{name} holds {bad} value(s) that are NaN or infinite.", "Remove or repair them first.")
    return array


def positive(value: float, name: str, *, at_most: float = math.inf) -> float:
    """``value`` as a finite float in (0, at_most], or an :class:`InputError`."""
    number = _number(value, name)
    if not math.isfinite(number) or number <= 0 or number > at_most:
        limit = "" if math.isinf(at_most) else f" and at most {at_most:g}"
        raise InputError(f"{name} is {number:g}.", f"It must be a finite number greater than 0{limit}.")
    return number


def from_zero(value: float, name: str) -> float:
    """``value`` as a float of at least 0, infinity included, or an :class:`InputError`: what is unknown is refused."""
    number = _number(value, name)
    if not number >= 0:
        raise InputError(f"{name} is {number:g}.", "It must be a number of at least 0.")
    return number


def inside_one(value: float, name: str) -> float:
    """``value`` as a float strictly between 0 and 1, or an :class:`InputError`."""
    number = _number(value, name)
    if not 0 < number < 1:
        raise InputError(f"{name} is {number:g}.", "It must lie strictly between 0 and 1.")
    return number


def _number(value: float, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not a number.", "Give one number.") from error


def distinct(times_s: FloatArray) -> tuple[FloatArray, IntArray]:
    """Sorted distinct times and how to spread values back over all of them."""
    times, back = np.unique(finite(times_s, "times_s", dimensions=1), return_inverse=True)
    return times, back.reshape(-1).astype(np.int64, copy=False)


Status = Literal["exact", "converged", "stopped"]
"""How far to believe a result: a closed form, a certified gap, or the gap reached when the solver stopped."""


@dataclass(frozen=True, slots=True, eq=False)
class Solved(Shown, Generic[Value]):
    """What a solver found and how far to believe it.

    ``gap`` is a certified relative gap: (objective - proved lower bound) / objective, or None where the value is
    a closed form whose ``status`` is then ``"exact"``.
    """

    value: Value
    status: Status
    steps: int = 0
    gap: float | None = None
    objective: float | None = None
    lower_bound: float | None = None
    seconds: float | None = None


def checked_steps(steps: int | str) -> int:
    """A number of steps that an iteration can take: whole, and at least one."""
    if isinstance(steps, bool | str) or int(steps) != steps or steps < 1:
        raise InputError(f"{steps!r} steps were asked for.", "Take at least 1.")
    return int(steps)


def one_target(*targets: float | None) -> None:
    """Refuse anything but exactly one target."""
    if sum(target is not None for target in targets) != 1:
        raise InputError("Give exactly one target.", "beta, an average distortion, or epsilon.")


def jsonable(value: Any) -> Any:
    """``value`` as plain JSON: arrays to lists, dataclass fields by name, NaN and infinities to None."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, np.generic):
        return jsonable(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.ndarray):
        return jsonable(value.tolist())
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return {name: jsonable(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Iterable):
        return [jsonable(item) for item in value]
    return str(value)


def evenly(count: int, at_most: int) -> IntArray:
    """At most ``at_most`` of ``count`` numbers, evenly spread."""
    return np.linspace(0, count - 1, min(count, at_most)).astype(np.int64)  # at least one apart


def whitening(covariance: FloatArray) -> FloatArray | None:
    """W with WΓWᵀ = I: L⁻¹ with LLᵀ = Γ, or in its place the directions that hold any variance; None: none does."""
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        factor = None
    if factor is not None and np.min(np.diag(factor)) > 1e-5 * np.max(np.diag(factor)):
        return np.asarray(np.linalg.inv(factor))
    values, vectors = np.linalg.eigh(covariance)
    used = values > 1e-9 * max(float(values[-1]), 0.0)
    return np.asarray((vectors[:, used] / np.sqrt(values[used])).T) if used.any() and values[-1] > 0 else None


def wrap_longitude(lon_deg: npt.ArrayLike) -> FloatArray:
    """Longitudes in [-180, 180)."""
    lon = np.asarray(lon_deg, dtype=np.float64)
    outside = (lon < -180.0) | (lon >= 180.0)
    if not outside.any():
        return lon
    wrapped = np.mod(lon + 180.0, 360.0) - 180.0
    wrapped = np.where(wrapped >= 180.0, -180.0, wrapped)
    # Only what is outside is touched, so that every other longitude keeps its exact bits.
    result: FloatArray = np.where(outside, wrapped, lon)
    return result
