"""Effective length scales: the recipe on drawn paths, the printed rule, and the numbers published with the paper."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.papers.l_eff import as_printed, effective_length, published_fits, thin_traces


def test_the_length_scale_of_a_drawn_path_is_found():
    times = np.arange(60.0)
    root = np.linalg.cholesky(np.exp(-((times[:, None] - times) ** 2) / 8) + 0.0025 * np.eye(60))
    paths = root @ np.random.default_rng(0).normal(size=(60, 20))
    found = np.median([effective_length(times, path, 1.0) for path in paths.T])
    assert found == pytest.approx(2.0, rel=0.15)
    halved = np.median([effective_length(times, path, 2.0) for path in paths.T])
    assert halved == pytest.approx(found / 2)
    assert np.isnan(effective_length(times, np.ones(60), 1.0))


def trace(points, seconds, user=0):
    return user, np.linspace(0, seconds, points), np.zeros((points, 2))


@pytest.mark.says("Meehan2021, App. 7.4", "differs")
def test_the_printed_rule_keeps_short_traces_of_about_five_minutes():
    whole = [trace(49, 300), trace(50, 300), trace(20, 269), trace(20, 331), trace(3, 270)]
    kept = as_printed(whole)
    assert [(one[0], one[1].size, one[1][-1], one[2].shape) for one in kept] == [
        (0, 49, 300, (49, 2)),
        (0, 3, 270, (3, 2)),
    ]
    assert len(thin_traces([trace(49, 300)] * 10)) == 10


@pytest.mark.says("Meehan2021, Sec. 5, sizes", "differs")
@pytest.mark.shared
def test_the_published_fits_are_counted(shared_data):
    assert published_fits() == (3762, 10)
