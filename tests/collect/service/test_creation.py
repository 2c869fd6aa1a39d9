"""What a collector creates is what devices take: by their own checks, and at levels per kilometre of the ground."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collector_harness import campaign_request, channel, client, operator, refused
from starlette.testclient import TestClient

from sfumato.base.things.grid import Grid, ground_distances
from sfumato.collect.client.exact_draw import probabilities, weights
from sfumato.collect.client.offer import Caps, check_offer
from sfumato.collect.client.reveals import reveals
from sfumato.collect.grids.tight import tight_channel

LYON = {"south": 45.70, "west": 4.78, "north": 45.80, "east": 4.92, "cell_size_m": 1000.0}
SVALBARD = {"south": 76.0, "west": 12.0, "north": 79.5, "east": 22.0, "cell_size_m": 20_000.0}


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[TestClient]:
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60) as found:
        yield found


def create(visitor: TestClient, **changes: Any) -> Any:
    return visitor.post("/api/v1/campaigns", json=campaign_request("town", **changes), headers=operator())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon_per_km": 15.0}, "A report may cost 10 per km"),
        ({"grid": {**LYON, "north": 45.701, "east": 4.782, "cell_size_m": 10.0}}, "Cells must be 50 m wide"),
        ({"floor": 0.0005}, "The floor is 0.0005"),
        ({"grid": {"south": 40.0, "west": -5.0, "north": 50.0, "east": 8.0, "cell_size_m": 50_000.0}}, "km across"),
    ],
    ids=["level", "cells", "floor", "extent"],
)
def test_a_campaign_that_every_device_refuses_is_refused_at_creation_in_their_words(
    visitor: TestClient, changes: dict[str, Any], words: str
) -> None:
    refused(create(visitor, beta_per_m=None, **{"epsilon_per_km": 2.0, "grid": LYON, **changes}), 409, words)
    assert visitor.get("/api/v1/campaigns").json()["campaigns"] == []


def ground_level_per_km(grid: Grid, c: np.ndarray, beta: float) -> float:
    """By brute force: the largest log ratio of any report over the distance on the ground."""
    rows = np.log([probabilities(*weights(grid, c, x, beta_per_m=beta)) for x in range(grid.cells)])
    apart_km = ground_distances(*grid.centres_deg()) / 1000
    ratios = np.abs(rows[:, None, :] - rows[None, :, :]).max(axis=2)
    return float((ratios / np.where(apart_km > 0, apart_km, np.inf)).max())


@pytest.mark.parametrize("south", [47.0, 60.0, 76.0, 82.0, -78.0])
def test_what_a_device_is_told_per_km_holds_on_the_ground(south: float) -> None:
    grid = Grid.from_bounds(south, 10.0, south + 3.0, 18.0, shape=(6, 5))
    c = np.full(grid.cells, 1 / grid.cells)
    told, exact = reveals(grid, c, beta_per_m=2e-5), ground_level_per_km(grid, c, 2e-5)
    assert exact <= told.epsilon_per_km * 1.02  # below 2 % the plane's kilometres are taken for the ground's
    if grid.ground_stretch > 1:
        assert exact <= told.epsilon_per_km * (1 + 1e-4)
        assert told.epsilon_per_km <= 1.25 * exact


def test_a_campaign_in_the_far_north_keeps_its_promise_per_km_of_the_ground(visitor: TestClient) -> None:
    answer = create(visitor, grid=SVALBARD, beta_per_m=None, epsilon_per_km=1.2)
    assert answer.status_code == 201, answer.text
    campaign = answer.json()["campaign"]
    assert campaign["two_beta_per_km"] == pytest.approx(1.2)
    offer = check_offer(channel(visitor), caps=Caps())
    assert offer.grid.ground_stretch > 1.1
    assert ground_level_per_km(offer.grid, offer.output_weights, offer.beta_per_m) <= 1.2 * (1 + 1e-4)
    assert campaign["cycle"]["epsilon_per_km"]["upper"] == pytest.approx(offer.reveals.epsilon_per_km, rel=1e-6)
    assert offer.reveals.epsilon_per_km <= 1.2 * (1 + 1e-9)


def test_a_city_is_stated_as_before() -> None:
    assert Grid.from_bounds(48.8286, 2.2855, 48.8798, 2.3909, shape=(11, 15)).ground_stretch == 1.0


@pytest.mark.parametrize(
    "asked",
    [
        {"grid": {**LYON, "north": 45.705, "east": 4.785}},  # one cell
        {"grid": {"south": 48.8, "west": 179.99, "north": 48.81, "east": -179.99, "cell_size_m": 1.0}},
        {
            "grid": {"south": 48.8, "west": 2.3, "north": 48.9, "east": 2.30003, "cell_size_m": 250.0},
            "epsilon_per_km": 2850.0,
        },
        {"grid": {"south": 89.0, "west": 2.3, "north": 90.0, "east": 2.5, "cell_size_m": 500.0}},
        {"grid": LYON, "epsilon_per_km": 1e-12},
        {"grid": LYON, "epsilon_per_km": 1e-5, "after_s": 604_800, "cycle_duration_s": 1, "reporting": "every-cycle"},
    ],
    ids=["one cell", "date line", "steep", "pole", "nothing", "often"],
)
def test_no_plan_ends_in_an_error_of_the_server(visitor: TestClient, asked: dict[str, Any]) -> None:
    for promise in ("epsilon", "mutual-information"):
        answer = visitor.post("/api/v1/plans", json={**asked, "promise": promise}, headers=operator())
        assert answer.status_code in (200, 409), answer.text
        assert json.loads(answer.text)["error"] or answer.json()["plan"]["words"]


def test_the_only_cell_there_is_tells_nothing_and_costs_nothing(visitor: TestClient) -> None:
    one = {**LYON, "north": 45.705, "east": 4.785}
    assert create(visitor, grid=one).status_code == 201
    told = check_offer(channel(visitor), caps=Caps()).reveals
    assert (told.epsilon_per_km, told.two_cell_success) == (0.0, 0.5)
    plan = visitor.post("/api/v1/plans", json={"grid": one}, headers=operator()).json()["plan"]
    assert plan["epsilon_per_km"] == 0.0


@pytest.mark.parametrize("floor", [0.001, 0.01, 0.3])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 2.0])
def test_no_weight_of_the_tight_channel_is_below_the_floor(floor: float, epsilon: float) -> None:
    for shape in ((1, 2), (5, 6), (12, 3)):
        c = tight_channel(Grid.plain(*shape), epsilon=epsilon, floor=floor).value.output_weights
        assert c.min() >= floor / c.size
        assert c.sum() == pytest.approx(1.0, abs=1e-12)
