"""Large grids on a GPU: the same results behind the same calls, and the CPU, said aloud, where there is none.

What PyTorch computes is compared on its CPU device, which runs the same operators in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.collect.estimation.joint import ibu, joint
from sfumato.collect.estimation.tally import Tally
from sfumato.collect.grids import distance_kernel as kernels
from sfumato.collect.grids import on_gpu
from sfumato.collect.grids.blahut_arimoto import blahut_arimoto

GRID = Grid.plain(37, 41, 250.0, 300.0, unit="m")


def town(rng: np.random.Generator, empty: float) -> np.ndarray:
    p = rng.gamma(0.3, size=GRID.cells) * (rng.random(GRID.cells) >= empty)
    return p / p.sum()


@pytest.fixture
def torch_on_cpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """PyTorch's CPU in the place of a GPU, and every FFT given to it."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: the GPU's steps were not run")
    monkeypatch.setattr(on_gpu, "_found", lambda: (torch, torch.device("cpu")))
    kernels._build.cache_clear()
    on_gpu.device_kernel.cache_clear()
    yield monkeypatch
    kernels._build.cache_clear()
    on_gpu.device_kernel.cache_clear()


def both(monkeypatch: pytest.MonkeyPatch, compute: Any) -> tuple[Any, Any]:
    monkeypatch.setenv("SFUMATO_DEVICE", "cpu")
    kernels._build.cache_clear()
    here = compute()
    monkeypatch.setenv("SFUMATO_DEVICE", "gpu")
    kernels._build.cache_clear()
    return here, compute()


@pytest.mark.parametrize("empty", [0.0, 0.7])
@pytest.mark.parametrize("beta", [3e-5, 1e-3, 4e-3])
def test_the_same_channel_behind_the_same_call(torch_on_cpu: pytest.MonkeyPatch, beta: float, empty: float) -> None:
    p = town(np.random.default_rng(5), empty)
    torch_on_cpu.setattr("sfumato.collect.grids.distance_kernel.choose_form", lambda _grid, _beta: "fft")
    here, there = both(torch_on_cpu, lambda: blahut_arimoto(p, GRID, beta=beta, steps=30))
    np.testing.assert_allclose(there.value.output_weights, here.value.output_weights, rtol=1e-9)
    assert there.objective == pytest.approx(here.objective, rel=1e-9)
    assert there.steps == here.steps


def test_channels_and_estimates_agree_to_a_billionth(torch_on_cpu: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    p = town(rng, 0.3)

    def walk() -> dict[str, np.ndarray]:
        channel = blahut_arimoto(p, GRID, beta=1e-3, steps=8).value
        counts = np.random.default_rng(7).multinomial(20_000, channel.report_distribution(p))
        assert channel.kernel.form == "fft"
        return {
            "q": channel.report_distribution(p),
            "distortion": np.array([channel.distortion(p)]),
            "theta": ibu(channel, counts, steps=40).probabilities,
            "joint": joint([Tally(channel, counts)], stop=25).probabilities,
        }

    here, there = both(torch_on_cpu, walk)
    for name, value in here.items():
        assert np.abs(there[name] - value).max() <= 1e-9 * np.abs(value).max(), name


def test_a_device_that_fails_is_replaced_by_the_cpu_and_a_warning_says_so(torch_on_cpu: pytest.MonkeyPatch) -> None:
    p = town(np.random.default_rng(8), 0.0)
    torch_on_cpu.setenv("SFUMATO_DEVICE", "cpu")
    here = blahut_arimoto(p, GRID, beta=1e-3).value.output_weights
    kernels._build.cache_clear()
    torch_on_cpu.setenv("SFUMATO_DEVICE", "gpu")

    def out_of_memory(*_: object) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    torch_on_cpu.setattr(on_gpu.DeviceKernel, "raw", out_of_memory)
    with pytest.warns(RuntimeWarning, match="gave up .*out of memory.*the CPU does it"):
        there = blahut_arimoto(p, GRID, beta=1e-3).value.output_weights
    np.testing.assert_array_equal(there, here)


def test_a_gpu_that_was_asked_for_and_is_not_there_is_said_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_gpu, "_found", lambda: None)
    monkeypatch.setenv("SFUMATO_DEVICE", "gpu")
    with pytest.warns(RuntimeWarning, match="A GPU was asked for, but .*the CPU does it"):
        assert not on_gpu.takes(10)
    monkeypatch.setenv("SFUMATO_DEVICE", "auto")
    assert not on_gpu.takes(10**7)
    monkeypatch.setattr(on_gpu, "_found", lambda: ("torch", "cuda"))
    assert on_gpu.takes(10**7)
    assert not on_gpu.takes(1000), "a small grid is not worth it"
    monkeypatch.setenv("SFUMATO_DEVICE", "tpu")
    with pytest.raises(InputError, match="auto, cpu or gpu"):
        on_gpu.takes(10)


def test_lengths_have_small_factors_only_and_are_never_too_short() -> None:
    for least in (1, 2, 11, 97, 1999, 16383):
        length = on_gpu.fast_length(least)
        assert length >= least
        assert length % 2 == 0
        assert length <= 1.2 * least + 2
        for prime in (2, 3, 5, 7):
            while length % prime == 0:
                length //= prime
        assert length == 1
