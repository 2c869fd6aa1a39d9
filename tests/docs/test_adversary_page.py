"""docs/adversary.md says what the code computes today."""

from __future__ import annotations

import json
import runpy

import numpy as np
import pytest
from repository import ROOT

from sfumato.tracks.adversary.known_point import known_point_loss
from sfumato.tracks.losses.gaussian_loss import loss_matrix
from sfumato.tracks.priors.kernels import Matern32, White


def test_the_table_of_adversaries_is_the_one_the_code_computes() -> None:
    page = ROOT / "docs" / "adversary.md"
    text = page.read_text(encoding="utf-8")
    script = runpy.run_path(str(ROOT / "scripts" / "adversaries.py"))
    assert script["renewed"](text) == text, "run: python scripts/adversaries.py --write"


def test_the_table_names_the_adversaries_a_reader_imagines() -> None:
    text = (ROOT / "docs" / "adversary.md").read_text(encoding="utf-8")
    for who in ("workplace", "same bus", "a year", "knows the road", "one true point", "second file", "commute"):
        assert who in text
    for verdict in ("covered: 5 : 1", "costs 10.9 : 1", "not covered"):
        assert verdict in text


def test_a_known_point_is_a_point_of_a_prior_that_is_certain_there() -> None:
    """Brute force: release, beside everything else, the position at 0 with next to no noise of its own."""
    prior, noise = Matern32(66.0, 123.0), Matern32(300.0, 500.0) + White(50.0)
    lag = 60.0
    around = np.concatenate([np.arange(1.0, 24.0), np.geomspace(24.0, 60.0, 60)]) * lag
    times = np.concatenate([[0.0, 0.0], -around[::-1], around])
    path = prior.covariance(times)
    blur = noise.covariance(times)
    blur[0, :] = blur[:, 0] = 0.0
    blur[0, 0] = 1e-6  # the same position, told
    at = 2 + int(np.flatnonzero(times[2:] == lag)[0])
    given = 1.0 / (prior.variance_m2 - path[at, 0] ** 2 / prior.variance_m2)  # after the known point alone
    told = loss_matrix(path + 1e-9 * np.eye(len(times)), blur, [at])[0, 0] + 1.0 / prior.variance_m2
    assert known_point_loss(noise, prior, lag) == pytest.approx(told - given, rel=1e-3)


@pytest.mark.slow
def test_the_attacks_that_broke_the_first_edition_are_repeated_and_fail_where_it_could_be_mended() -> None:
    """First edition: PYTHONPATH=<checkout of 0.1.0>/src python scripts/editions.py > scripts/first_edition.json."""
    first = json.loads((ROOT / "scripts" / "first_edition.json").read_text(encoding="utf-8"))
    assert max(first["A2 the same commute, 10 / 20 / 250 days"]) > first["promised"][0]
    assert first["B6 stated / true"][0] < 0.9 * first["B6 stated / true"][1]
    assert first["C13 exit of verify: seeded / 5 m / true"] == [0, 0, 0]
    now = runpy.run_path(str(ROOT / "scripts" / "editions.py"))["attacks"]()
    assert now["promised"] == pytest.approx([5.0, 5.0], abs=0.01)
    assert now["A1 home, work known, 5 / 20 / 60 days"][:2] == pytest.approx([23.5, 1600], rel=0.01)
    assert now["A1 home, work known, 5 / 20 / 60 days"][2] > 1e6
    assert now["A2 the same commute, 10 / 20 / 250 days"] == pytest.approx([3.88, 4.35, 4.97], abs=0.01)
    assert now["A2 a loop in a known park, 1 / 10 days"] == pytest.approx([2.37, 6.94], abs=0.01)
    assert min(now["B7 stated"], now["B7 8 h at one place under prior-shaped noise"]) > 1e6
    assert not now["B8 says 13.3 times the floor"]
    assert now["B10 Brownian motion"] == "it is as rough as Brownian motion, which no member of the class is"
    assert now["A3 metres between two noises of one person"] == 0.0
    assert now["B6 stated / true"] == pytest.approx([9.29, 9.29], abs=0.01)
    assert now["B6 stated / true"][0] >= now["B6 stated / true"][1]
    assert now["C13 exit of verify: seeded / 5 m / true"] == [1, 1, 0]
    assert now["B9 a grid of twice the noise"] == "refused"
    assert all(now[name] for name in now if name.endswith("named as not covered"))
