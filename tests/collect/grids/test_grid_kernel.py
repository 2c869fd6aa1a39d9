"""Products with exp(-beta d): every form agrees with direct sums, and the FFT never returns noise."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.collect.cities import city
from sfumato.collect.grids.blahut_arimoto import blahut_arimoto
from sfumato.collect.grids.distance_kernel import choose_form, grid_kernel


def updated(kernel, z, q, steps):
    """Bayesian updates with nothing but kernel products."""
    theta = np.full(q.size, 1.0 / q.size)
    for _ in range(steps):
        reported = kernel.product(theta / z)
        theta = theta * kernel.product(np.divide(q, reported, out=np.zeros_like(q), where=q > 0)) / z
    return theta


def test_the_form_follows_the_size_and_the_reach_of_the_kernel():
    assert choose_form(Grid.plain(16, 24), 1.0) == "dense"
    assert choose_form(Grid.plain(100, 100), 1.0) == "fft"
    assert choose_form(Grid.plain(100, 100), 15.0) == "truncated"


@pytest.mark.parametrize("form", ["dense", "fft", "truncated"])
@pytest.mark.parametrize("by_distance", [False, True])
def test_every_form_is_the_direct_sum_even_on_oblong_cells(form, by_distance):
    grid = Grid.plain(13, 9, cell_height=0.7, cell_width=1.3)
    beta = 2.5
    f = np.random.default_rng(1).dirichlet(np.full(grid.cells, 0.5))
    distances = grid.distance_matrix()
    matrix = np.exp(-beta * distances) * (distances if by_distance else 1.0)
    found = grid_kernel(grid, beta, form=form, by_distance=by_distance).product(f)
    np.testing.assert_allclose(found, matrix @ f, rtol=1e-10)


@pytest.mark.parametrize("name", ["paris", "sf"])
@pytest.mark.parametrize(("beta", "floor"), [(0.1, 0.0), (0.5, 0.0), (1.0, 0.0), (3.0, 0.01)])
def test_fft_equals_dense_to_1e_10_on_the_published_grids(name, beta, floor, monkeypatch):
    place = city(name)
    grid, p = place.plain_grid, place.probabilities
    dense = blahut_arimoto(p, grid, beta=beta, steps=20, floor=floor).value
    assert dense.kernel.form == "dense"
    with monkeypatch.context() as patched:
        patched.setattr("sfumato.collect.grids.distance_kernel.choose_form", lambda _grid, _beta: "fft")
        fast = blahut_arimoto(p, grid, beta=beta, steps=20, floor=floor).value
    big = dense.output_weights > 1e-9
    np.testing.assert_allclose(fast.output_weights[big], dense.output_weights[big], rtol=1e-10)
    q = np.random.default_rng(0).multinomial(100_000, dense.report_distribution(p)) / 1e5
    z = dense.normaliser()
    thetas = [updated(grid_kernel(grid, beta, form=form), z, q, 50) for form in ("dense", "fft")]
    big = thetas[0] > 1e-9
    np.testing.assert_allclose(thetas[1][big], thetas[0][big], rtol=1e-10)


def test_a_lone_corner_at_high_beta_is_recomputed_instead_of_returned_as_noise():
    grid = Grid.plain(16, 24)
    f = np.zeros(grid.cells)
    f[0] = 1.0
    kernel = grid_kernel(grid, 3.0, form="fft")
    exact = np.exp(-3.0 * grid.distances_from(0))
    assert (kernel.signed_product(f) <= 0).any(), "the raw transform is noise here, or this test shows nothing"
    np.testing.assert_allclose(kernel.product(f), exact, rtol=1e-10)


def test_a_million_cells_never_give_a_negative_or_nan_with_or_without_a_floor():
    grid = Grid.plain(1000, 1000)
    rng = np.random.default_rng(3)
    counts = np.zeros(grid.shape)
    for row, column, spread in ((200, 300, 5.0), (700, 650, 30.0)):
        places = rng.normal((row, column), spread, (4000, 2)).astype(int).clip(0, 999)
        np.add.at(counts, tuple(places.T), 1.0)
    p = counts.ravel() / counts.sum()
    bare = blahut_arimoto(p, grid, beta=1.0, steps=3, floor=0.0).value
    assert np.isfinite(bare.output_weights).all()
    assert bare.output_weights.min() >= 0
    channel = blahut_arimoto(p, grid, beta=1.0, steps=3, floor=0.01).value
    log_z = channel.log_normaliser()
    assert np.isfinite(log_z).all()
    for cell in rng.integers(grid.cells, size=4):
        direct = np.log(np.sum(channel.output_weights * np.exp(-grid.distances_from(int(cell)))))
        assert log_z[cell] == pytest.approx(direct, abs=1e-9)


@pytest.mark.parametrize("form", ["dense", "truncated", "fft"])
def test_many_rows_at_once_are_each_its_own_product(form):
    kernel = grid_kernel(Grid.plain(9, 14), 16.0 if form == "truncated" else 0.7, form=form)
    rows = np.random.default_rng(3).standard_normal((37, 126))
    each = np.stack([kernel.signed_product(row) for row in rows])
    np.testing.assert_allclose(kernel.signed_rows(rows), each, rtol=0, atol=1e-12)
    positive = np.abs(rows).T
    guarded = np.stack([kernel.with_guard(column)[0] for column in positive.T], axis=1)
    np.testing.assert_allclose(kernel.product(positive), guarded, rtol=1e-12)


def test_an_unknown_form_and_a_senseless_beta_are_refused():
    with pytest.raises(InputError):
        grid_kernel(Grid.plain(3, 3), 1.0, form="magic")  # type: ignore[arg-type]
    for beta in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError):
            grid_kernel(Grid.plain(3, 3), beta)
