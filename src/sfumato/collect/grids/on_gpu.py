"""The products and steps of large grids on a GPU, in double precision, where PyTorch finds one; needs nothing else.

    (K f)(x) = sum_y exp(-beta d(x, y)) f(y)              by FFT, the kernel's spectrum kept on the device
    Blahut-Arimoto:              c <- c . K(p / K c)
    iterative Bayesian update:   theta <- theta . (1/Z) K[q / K(theta / Z)]

The same guards as :mod:`.kernel` (never below the rigorous bound, weak products by direct sums of positive terms), so
that what is computed here is equal to the CPU's within 1e-9 of the largest value. Whole runs of steps stay on the
device: a copy there and back costs more than a step.

``SFUMATO_DEVICE`` chooses: ``auto`` (the default: a GPU from 250,000 cells on, where there is one), ``cpu``, or ``gpu``
(every FFT; where there is none, the CPU does it and a warning says so). Running out of its memory falls back alike.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray
from sfumato.base.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

AUTO_FROM = 250_000
_WRAPPED = 1e-20
_DIRECT_BUDGET = 3e8
_DIRECT_AT_ONCE = 2**24
_SMALL_WORK = 4e6
_EPS = float(np.finfo(np.float64).eps)

Found = TypeVar("Found")
Shape = tuple[int, int]


@cache
def _found() -> tuple[ModuleType, object] | None:
    """PyTorch and the device it would use; None where there is no GPU."""
    if find_spec("torch") is None:
        return None
    import torch

    return (torch, torch.device("cuda")) if torch.cuda.is_available() else None


def _torch() -> tuple[ModuleType, object]:
    """The same where :func:`takes` has found one."""
    found = _found()
    assert found is not None
    return found


def takes(cells: int) -> bool:
    """Whether an FFT over so many cells is to be done on the GPU."""
    chosen = os.environ.get("SFUMATO_DEVICE", "auto")
    if chosen not in ("auto", "cpu", "gpu"):
        raise InputError(f"SFUMATO_DEVICE is '{chosen}'.", "Set it to auto, cpu or gpu.")
    if chosen == "cpu" or (chosen == "auto" and cells < AUTO_FROM):
        return False
    if _found() is None and chosen == "gpu":
        why = "PyTorch is not installed (pip install 'sfumato[gpu]')" if find_spec("torch") is None else "there is none"
        warnings.warn(f"A GPU was asked for, but {why}: the CPU does it.", RuntimeWarning, stacklevel=3)
    return _found() is not None


def attempt(work: Callable[[], Found]) -> Found | None:
    """``work`` on the GPU, or None with a warning where the device fails (most often: out of its memory)."""
    try:
        return work()
    except RuntimeError as error:
        why = str(error).splitlines()[0][:160]
        warnings.warn(f"The GPU gave up ({why}): the CPU does it.", RuntimeWarning, stacklevel=3)
        return None


def fast_length(least: int) -> int:
    """The smallest even 2^a 3^b 5^c 7^d from ``least`` on: what a GPU's FFT likes."""
    length = max(2, least + least % 2)
    while True:
        rest = length
        for prime in (2, 3, 5, 7):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return length
        length += 2


@dataclass(frozen=True, slots=True, eq=False)
class DeviceKernel:
    """K on the device for a (rows, columns) grid with cells of ``sides`` and ``beta`` per unit of them."""

    shape: Shape
    sides: tuple[float, float]
    beta: float
    by_distance: bool
    padded: Shape
    spectrum: Tensor
    norm: float
    smallest: float

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.shape[0] * self.shape[1]

    def raw(self, f: Tensor) -> Tensor:
        """K f for every row of (k, cells), unguarded: axis by axis, so that padding is not transformed twice."""
        torch, _ = _torch()
        (rows, columns), (tall, wide) = self.shape, self.padded
        spectrum = torch.fft.rfft(f.reshape(-1, rows, columns), n=wide, dim=2)
        spectrum = torch.fft.fft(spectrum, n=tall, dim=1)
        spectrum *= self.spectrum
        spectrum = torch.fft.ifft(spectrum, dim=1)[:, :rows]
        return torch.fft.irfft(spectrum, n=wide, dim=2)[:, :, :columns].reshape(len(f), -1)

    def product(self, f: Tensor, *, needed: Tensor | bool = True) -> Tensor:
        """K f for f >= 0 of shape (cells,), guarded as :meth:`.distance_kernel.GridKernel.with_guard`."""
        torch, _ = _torch()
        raw = self.raw(f[None])[0]
        total = f.sum()
        if needed is not False:
            scale = _EPS * self.norm * f.norm() + _WRAPPED * total
            weak = raw < (1e10 if float(self.cells) ** 2 <= _SMALL_WORK else 1e6) * scale
            if needed is not True:
                weak &= needed
            unsafe = weak.nonzero()[:, 0]
            if len(unsafe):
                support = f.nonzero()[:, 0]
                if float(len(unsafe)) * len(support) <= _DIRECT_BUDGET:
                    raw[unsafe] = self._direct(unsafe, support, f[support])
                else:
                    raw[unsafe] += scale
        if not self.by_distance:
            raw = torch.maximum(raw, f)
        return torch.maximum(raw, total * self.smallest)

    def _direct(self, cells: Tensor, sources: Tensor, weights: Tensor) -> Tensor:
        """sum_j weights[j] k(cells[i], sources[j]), row by row in blocks: positive terms, no cancellation."""
        torch, _ = _torch()
        columns = self.shape[1]
        out = torch.empty(len(cells), dtype=torch.float64, device=cells.device)
        step = max(1, _DIRECT_AT_ONCE // max(1, len(sources)))
        for at in range(0, len(cells), step):
            some = cells[at : at + step, None]
            down = (some // columns - sources[None, :] // columns) * self.sides[0]
            right = (some % columns - sources[None, :] % columns) * self.sides[1]
            distance = torch.hypot(down.double(), right.double())
            kernel = torch.exp(-self.beta * distance)
            out[at : at + step] = (kernel * distance if self.by_distance else kernel) @ weights
        return out


@lru_cache(maxsize=2)
def device_kernel(shape: Shape, sides: tuple[float, float], beta: float, by_distance: bool = False) -> DeviceKernel:
    """The spectrum of the wrapped kernel, made on the device."""
    torch, device = _torch()
    tall, wide = (
        fast_length(min(2 * size - 1, size + math.ceil(-math.log(_WRAPPED) / (beta * side))))
        for size, side in zip(shape, sides, strict=True)
    )
    down, right = (torch.arange(size, dtype=torch.float64, device=device) for size in (tall, wide))
    down, right = torch.minimum(down, tall - down) * sides[0], torch.minimum(right, wide - right) * sides[1]
    distances = torch.hypot(down[:, None], right[None, :])
    kernel = torch.exp(-beta * distances)
    if by_distance:
        kernel *= distances
    norm = float(kernel.norm())
    del distances
    spectrum = torch.fft.rfft2(kernel).real.clone()
    farthest = math.hypot((shape[0] - 1) * sides[0], (shape[1] - 1) * sides[1])
    smallest = 0.0 if by_distance else math.exp(-beta * farthest)
    return DeviceKernel(shape, sides, beta, by_distance, (tall, wide), spectrum, norm, smallest)


def products(kernel: DeviceKernel, f: FloatArray) -> FloatArray:
    """K f for every row of (k, cells), unguarded, there and back."""
    out: FloatArray = kernel.raw(_sent(f)).cpu().numpy()
    return out


def blahut_arimoto_steps(kernel: DeviceKernel, p: FloatArray, steps: int) -> FloatArray:
    """``steps`` - 1 updates from uniform: the weights before any floor."""
    torch, device = _torch()
    prior = _sent(p)
    seen = prior > 0
    everywhere = bool(seen.all())
    c = torch.full((kernel.cells,), 1.0 / kernel.cells, dtype=torch.float64, device=device)
    for _ in range(steps - 1):
        c *= update_factor(kernel, c, prior, True if everywhere else seen)
        c /= c.sum()
    out: FloatArray = c.cpu().numpy()
    return out


def update_factor(kernel: DeviceKernel, c: Tensor, prior: Tensor, seen: Tensor | bool) -> Tensor:
    """K(p / K c): two products, one Blahut-Arimoto step."""
    torch, _ = _torch()
    z = kernel.product(c, needed=seen)
    ratio = prior / z if seen is True else torch.where(seen, prior / z, torch.zeros_like(z))
    return kernel.product(ratio, needed=False)


def bayesian_updates(
    kernel: DeviceKernel, q: FloatArray, inverse_z: FloatArray, theta: FloatArray, steps: int
) -> FloatArray:
    """``steps`` iterative Bayesian updates of ``theta`` given the shares ``q`` of reports."""
    torch, _ = _torch()
    shares, inverse, now = _sent(q), _sent(inverse_z), _sent(theta).clone()
    seen = shares > 0
    for _ in range(steps):
        reported = kernel.product(now * inverse, needed=seen)
        now *= kernel.product(torch.where(seen, shares / reported, torch.zeros_like(now))) * inverse
    out: FloatArray = now.cpu().numpy()
    return out


def _sent(values: FloatArray | BoolArray) -> Tensor:
    torch, device = _torch()
    return torch.tensor(np.asarray(values), device=device)
