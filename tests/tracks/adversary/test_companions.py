"""Companions: found before release, priced, and why group noise is not offered."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from repository import ROOT
from typer.testing import CliRunner

from sfumato.base.things.traces import Trace
from sfumato.cli import app
from sfumato.tracks.adversary.companions import WorstGroup, all_meetings, meetings, worst_of
from sfumato.tracks.adversary.routine import companions_cost
from sfumato.tracks.losses.gaussian_loss import basic_losses
from sfumato.tracks.people.door import protect_fleet
from sfumato.tracks.plan import Plan
from sfumato.tracks.priors.kernels import Matern32

TIMES = 1.7e9 + 30.0 * np.arange(80)


def rider(rng: np.random.Generator, *, where: float = 0.0, still: bool = False, late_s: float = 0.0) -> Trace:
    along = np.zeros(80) if still else 1e-3 * np.arange(80)
    return Trace(48.0 + where + along + rng.normal(0, 2e-5, 80), 2.0 + rng.normal(0, 2e-5, 80), TIMES + late_s)


def worst_group(people: list[tuple[str, Trace]]) -> WorstGroup:
    """The largest group of a fleet that travels together."""
    met = [meetings(*rows_of(one)[:2], np.rint(1000.0 * one.times_s).astype(np.int64), np.full(len(one), k))
           for k, (_, one) in enumerate(people)]  # fmt: skip
    return worst_of(all_meetings(met))


def rows_of(trace: Trace) -> tuple[np.ndarray, ...]:
    return trace.lat_deg, trace.lon_deg, trace.times_s


def test_the_people_of_one_bus_are_found_and_others_are_not() -> None:
    rng = np.random.default_rng(0)
    bus = [(f"rider {i}", rider(rng)) for i in range(5)]
    strangers = [(f"walker {i}", rider(rng, where=0.5 + 0.1 * i)) for i in range(4)]
    later = [(f"later {i}", rider(rng, late_s=7200.0 * (i + 1))) for i in range(3)]
    office = [(f"clerk {i}", rider(rng, where=-1.0, still=True)) for i in range(6)]
    assert worst_group(strangers + bus + later).people == 5
    assert worst_group(strangers + later).alone
    assert worst_group(office).alone  # together at one place is not on one way
    assert worst_group(bus).together_s >= 1800.0
    assert worst_group(bus[:1]).alone


def test_a_crowd_and_a_fleet_of_hundreds_are_measured_in_a_moment() -> None:
    rng = np.random.default_rng(1)
    crowd = [(str(i), rider(rng)) for i in range(150)]
    assert worst_group(crowd).people == 150
    fleet = [(str(i), rider(rng, where=0.05 * i)) for i in range(300)]
    assert worst_group(fleet).alone


def test_every_fleet_certificate_names_companions_and_the_worst_group_is_printed_before_release(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    people = [("ann", rider(rng)), ("bob", rider(rng)), ("cas", rider(rng, where=0.4))]
    done = protect_fleet(Plan(), people)
    assert any("travel together" in text for text in done.body["guarantee"]["not_covered"])
    rows = ["user_id,lat,lon,time"]
    for name, trace in people:
        rows += [f"{name},{a:.6f},{b:.6f},{t:.0f}" for a, b, t in zip(*rows_of(trace), strict=True)]
    (tmp_path / "f.csv").write_text("\n".join(rows) + "\n")
    words = ["protect", str(tmp_path / "f.csv"), "-o", str(tmp_path / "o.csv")]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 0
    assert "Worst group: 2 people travel together" in said.output.splitlines()[0]
    assert "10.9 : 1" in said.output
    found = json.loads(CliRunner().invoke(app, [*words[:-1], str(tmp_path / "p.csv"), "--json"]).stdout)
    assert found["worst_group"]["people"] == 2
    assert "worst_group" not in found["certificate"]  # measured in the originals: not for the release
    sized = protect_fleet(Plan(redraws=2), people).body
    assert companions_cost({**sized}, 1).odds_99 <= 5.0  # the noise for a group of two, stated for both together


@pytest.mark.parametrize("shared", [0.25, 0.5, 0.75])
def test_group_noise_helps_a_group_until_one_other_person_is_known(shared: float) -> None:
    """The computation behind 'not offered': relative losses by formula and by brute force."""
    group_noise_losses = runpy.run_path(str(ROOT / "scripts" / "adversaries.py"))["group_noise_losses"]
    times = np.arange(0.0, 1500.0, 60.0)
    path, noise = Matern32(300.0, 20.0).covariance(times), Matern32(120.0, 500.0).covariance(times) + 50.0 * np.eye(25)
    for companions in (2, 5, 20):
        found = group_noise_losses(companions, shared)
        assert found["group"] <= 1 / shared < found["known"] or companions == 2
        assert found["known"] > found["own"]
        both = shared + (1 - shared) * np.eye(companions)  # of the companions' noises with one another
        together = np.linalg.inv(np.kron(np.ones((1, companions)), np.eye(25)) @ np.linalg.solve(
            np.kron(both, noise), np.kron(np.ones((companions, 1)), np.eye(25))
        ))  # fmt: skip
        np.testing.assert_allclose(together, noise / found["group"], rtol=1e-6, atol=1e-6 * noise[0, 0])
        assert basic_losses(path, together).max() > basic_losses(path, noise).max()
