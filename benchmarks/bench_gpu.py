"""Steps of large grids on a GPU, in double precision: how long one takes, and whether it is what the CPU computes.

    python benchmarks/bench_gpu.py                 1e6 and 6.7e7 cells, about two minutes on an H200
    python benchmarks/bench_gpu.py --small         4,096 and 16,384 cells; --device cpu tries it without a GPU

Needs NumPy and PyTorch alone (no install: it finds ``src`` beside itself); SciPy makes the CPU's side faster where it
is there. The CPU's side is written here once more with NumPy's FFT, so that both are compared with something that
shares no code with them. Exit status 1 when a limit is missed: 1 ms and 40 ms a Blahut-Arimoto step, equal to 1e-9.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from needs import LEFT_OUT, need
from sfumato.collect.grids import on_gpu

if importlib.util.find_spec("scipy") is not None:
    import scipy.fft as fft

    WORKERS: dict[str, int] = {"workers": -1}
else:
    fft = np.fft
    WORKERS = {}

CELL_M = 250.0
LIMITS_MS = {1000: 1.0, 8192: 40.0}
EQUAL = 1e-9


class Reference:
    """K on the CPU: the wrapped kernel, padded to twice the grid so that nothing wraps at all."""

    def __init__(self, side: int, beta: float) -> None:
        self.side = side
        reach = min(side - 1, math.ceil(46.1 / (beta * CELL_M)))
        self.padded = side + reach + (side + reach) % 2
        apart = np.minimum(np.arange(self.padded), self.padded - np.arange(self.padded)) * CELL_M
        self.spectrum = fft.rfft2(np.exp(-beta * np.hypot(apart[:, None], apart[None, :])), **WORKERS).real

    def product(self, f: np.ndarray) -> np.ndarray:
        """K f, unguarded."""
        wide = np.zeros((self.padded, self.padded))
        wide[: self.side, : self.side] = f.reshape(self.side, self.side)
        spectrum = fft.rfft2(wide, **WORKERS)
        spectrum *= self.spectrum
        back = fft.irfft2(spectrum, s=wide.shape, **WORKERS)
        return np.maximum(back[: self.side, : self.side].ravel(), f)


def town(side: int, seed: int = 15) -> np.ndarray:
    """Where people are: forty clusters and one in a hundred anywhere."""
    rng = np.random.default_rng(seed)
    at = np.arange(side) / side
    p = np.zeros((side, side))
    for _ in range(40):
        (y, x), width = rng.random(2), 0.005 + 0.05 * rng.random()
        across = np.exp(-(((at - x) / width) ** 2))
        p += rng.random() * np.exp(-(((at - y) / width) ** 2))[:, None] * across[None, :]
    p = 0.99 * p / p.sum() + 0.01 / p.size
    return p.ravel() / p.sum()


def seconds(torch: Any, device: Any, step: Callable[[], object], repeats: int) -> float:
    """The median time of one step, the device waited for before and after."""

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    for _ in range(3):
        step()
    taken = []
    for _ in range(repeats):
        wait()
        began = time.perf_counter()
        step()
        wait()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def measured(torch: Any, device: Any, side: int, beta: float, *, updates: int) -> dict[str, float]:
    """Times of both steps, and how far both results are from the CPU's, relative to the largest value."""
    p = town(side)
    kernel = on_gpu.device_kernel((side, side), (CELL_M, CELL_M), beta)
    prior = torch.tensor(p, device=device)
    c = torch.full((side * side,), 1.0 / side**2, dtype=torch.float64, device=device)

    def step() -> None:
        nonlocal c
        c = c * on_gpu.update_factor(kernel, c, prior, True)
        c = c / c.sum()

    repeats = 20 if side <= 2048 else 5
    ba_s = seconds(torch, device, step, repeats)
    reference = Reference(side, beta)
    began = time.perf_counter()
    weights = np.full(side * side, 1.0 / side**2)
    for _ in range(updates):
        weights = weights * reference.product(p / reference.product(weights))
        weights /= weights.sum()
    cpu_s = (time.perf_counter() - began) / updates
    found = on_gpu.blahut_arimoto_steps(kernel, p, updates + 1)
    shipped, expected = 0.99 * found + 0.01 / p.size, 0.99 * weights + 0.01 / p.size
    # The update: reports through the flat channel, one in a thousand cells without any.
    inverse_z = 1 / reference.product(np.full(p.size, 1.0 / p.size))
    q = np.random.default_rng(1).multinomial(10 * p.size, p) / (10.0 * p.size)
    theta = np.full(p.size, 1.0 / p.size)
    for _ in range(updates):
        reported = reference.product(theta * inverse_z)
        theta = theta * reference.product(np.where(q > 0, q / reported, 0.0)) * inverse_z
    moved = on_gpu.bayesian_updates(kernel, q, inverse_z, np.full(p.size, 1.0 / p.size), updates)
    inverse, shares = torch.tensor(inverse_z, device=device), torch.tensor(q, device=device)
    start = torch.full((p.size,), 1.0 / p.size, dtype=torch.float64, device=device)
    seen = shares > 0

    def update() -> None:
        reported = kernel.product(start * inverse, needed=seen)
        ratio = torch.where(seen, shares / reported, torch.zeros_like(start))
        (start * kernel.product(ratio) * inverse).sum()

    return {
        "ba_ms": 1e3 * ba_s,
        "ibu_ms": 1e3 * seconds(torch, device, update, repeats),
        "cpu_ms": 1e3 * cpu_s,
        "weights": float(np.abs(found - weights).max() / weights.max()),
        "shipped": float(np.abs(shipped / expected - 1).max()),
        "theta": float(np.abs(moved - theta).max() / theta.max()),
        "padded": float(kernel.padded[0]),
    }


def main() -> int:
    """Print the table; 1 when a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", "--quick", action="store_true", help="small grids, for a try without a GPU")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    chosen = parser.parse_args()
    need("torch")
    import torch

    if chosen.device == "cuda" and not torch.cuda.is_available():
        print("left out: there is no GPU here; --device cpu --small tries the same on the CPU.")
        return LEFT_OUT
    device = torch.device(chosen.device)
    on_gpu._torch = lambda: (torch, device)
    name = torch.cuda.get_device_name() if chosen.device == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}, numpy {np.__version__}, float64; the CPU's side by {fft.__name__}")
    print("cells        kernel reaches  padded   BA step   IBU step   CPU BA step   differences of c, shipped c, theta")
    missed = False
    for side in (64, 128) if chosen.small else (1000, 8192):
        for beta_per_km, reach in ((1.0, "some cells"), (0.004 * 1000 / side, "the whole grid")):
            row = measured(torch, device, side, beta_per_km / 1000, updates=5 if side <= 1000 else 1)
            cells, times = f"{side * side:<12,} {reach:<14}  {row['padded']:>6.0f}", (row["ba_ms"], row["ibu_ms"])
            differences = "  ".join(f"{row[name]:.1e}" for name in ("weights", "shipped", "theta"))
            print(
                f"{cells}  {times[0]:>7.3f} ms {times[1]:>7.3f} ms {row['cpu_ms']:>9.1f} ms     {differences}",
                flush=True,
            )
            limit = LIMITS_MS.get(side, math.inf)
            missed |= row["ba_ms"] > limit or max(row["weights"], row["shipped"], row["theta"]) > EQUAL
    print("limits: 1 ms at 1e6 cells, 40 ms at 6.7e7, differences 1e-9:", "MISSED" if missed else "met")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
