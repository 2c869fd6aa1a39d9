"""What people lose at their own times: the right numbers, for whom and by whom they can be had, and where not."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from people_rows import rows, written

from sfumato.base.errors import InputError, NotCertified, VerificationFailed
from sfumato.tracks.certificates.document import with_seal
from sfumato.tracks.folders.rows import dataset, dataset_job, people_notes
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.folders.rows.people_notes import FEW, HIDDEN, LOCAL, MOMENTS, PEOPLE, Sample
from sfumato.tracks.folders.verify_folder import verify_folder, without_seal
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.people.noise import choose_for_people
from sfumato.tracks.plan import Plan

PLAN = Plan(ids="keep", noise_m=200.0)
MECHANISM = choose_for_people(PLAN, rng=1).mechanism


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many units and buckets for a few rows."""
    monkeypatch.setattr(dataset, "ROUND_ROWS", 400)
    monkeypatch.setattr(dataset_job, "PART_ROWS", 500)


def fleet(times: list[np.ndarray], seed: int = 0) -> pa.Table:
    """People of these times in seconds, their rows mixed."""
    rng = np.random.default_rng(seed)
    who = np.repeat([f"Person {k}" for k in range(len(times))], [len(own) for own in times])
    moments = 1_700_000_000_000 + np.rint(1000.0 * np.concatenate(times)).astype(np.int64)
    order = rng.permutation(len(who))
    return pa.table(
        {
            "user_id": who[order],
            "time": pa.array(moments[order]).cast(pa.timestamp("ms", "UTC")),
            "lat": 48.5 + rng.normal(size=len(who)) * 0.01,
            "lon": 2.5 + rng.normal(size=len(who)) * 0.01,
        }
    )


def by_hand(times: np.ndarray) -> float:
    """max K Γ⁻¹ K over the class's kernels at 16 scales, from the ladder's numbers and textbook formulas."""
    ladder, size = MECHANISM.parameters()["ladder"], MECHANISM.parameters()["noise_m"]
    d = np.abs(times[:, None] - times[None, :])
    moving = 1.0 - ladder["white_share"] - ladder["constant_share"]
    noise = ladder["constant_share"] + ladder["white_share"] * np.eye(len(times))
    for scale, weight in zip(ladder["length_scales_s"], ladder["weights"], strict=True):
        x = math.sqrt(3.0) * d / scale
        noise = noise + moving * weight * (1.0 + x) * np.exp(-x)
    inverse, worst = np.linalg.inv(noise * size**2), 0.0
    for scale in np.geomspace(10.0, 21600.0, 16):
        r3, r5 = math.sqrt(3.0) * d / scale, math.sqrt(5.0) * d / scale
        members = ((1 + r3) * np.exp(-r3), (1 + r5 + r5**2 / 3) * np.exp(-r5), np.exp(-((d / scale) ** 2) / 2))
        worst = max(worst, *(float(np.diag(k @ inverse @ k).max()) for k in members))
    return worst


def block(done: Any) -> dict[str, Any]:
    found: dict[str, Any] = done.document["people"]["loss_at_times"]
    return found


def test_everybodys_quantiles_are_those_computed_by_hand(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    times = [np.cumsum(rng.uniform(1.0, 900.0, size)) for size in (*rng.integers(1, MOMENTS + 1, 29), 1, 2)]
    done = protect_dataset(written(tmp_path / "in", fleet(times)), tmp_path / "out", PLAN)
    losses = sorted(by_hand(np.round(own, 3)) for own in times)
    found = block(done)
    assert (found["people"], found["with_all_moments"]) == (31, 31)
    assert "over everybody" in found["meaning"]
    for name, rank in {"0.10": 4, "0.25": 8, "0.50": 16, "0.75": 24, "0.90": 28}.items():
        assert found["at_least"][name] <= losses[rank - 1] <= found["at_most"][name]
        assert found["at_most"][name] <= found["at_least"][name] * 1.0101, "three figures"
    assert (
        "losses at people's own times" in verify_folder(tmp_path / "out" / "_certificate.json", tmp_path / "out").checks
    )


def test_some_moments_bound_the_loss_from_below_and_the_worst_from_above(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    times = [np.cumsum(rng.exponential(mean, 90) + 0.01) for mean in np.geomspace(1.0, 3000.0, 24)]
    done = protect_dataset(written(tmp_path / "in", fleet(times)), tmp_path / "out", PLAN)
    losses, found, worst = sorted(map(by_hand, times)), block(done), done.document["people"]["worst_loss"]
    assert found["with_all_moments"] == 0
    for name, rank in {"0.10": 3, "0.50": 12, "0.90": 22}.items():
        assert 0.7 * losses[rank - 1] <= found["at_least"][name] <= losses[rank - 1] <= worst == found["at_most"][name]


def test_keys_files_parts_and_cores_choose_the_same_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people_notes, "PEOPLE", 30)
    rng = np.random.default_rng(6)
    table = fleet([np.cumsum(rng.uniform(5.0, 60.0, size)) for size in rng.integers(1, 50, 80)])
    one = protect_dataset(written(tmp_path / "a", table, 1), tmp_path / "a.out", PLAN, cores=1)
    monkeypatch.setattr(dataset_job, "PART_ROWS", 190)
    other = protect_dataset(written(tmp_path / "b", table, 7), tmp_path / "b.out", PLAN)
    shifted = protect_dataset(
        tmp_path / "b", tmp_path / "c.out", Plan(ids="keep", noise_m=200.0, times="shift"), cores=3
    )
    assert one.parts < other.parts
    assert block(one) == block(other) == block(shifted)
    assert block(one)["people"] == 30
    assert "30 of 80 people" in block(one)["meaning"]
    for name in "abc":
        verify_folder(tmp_path / f"{name}.out" / "_certificate.json", tmp_path / f"{name}.out")


HARMS: dict[str, Callable[[dict[str, Any], float], object]] = {
    "below": lambda said, _: said["at_most"].update({"0.50": said["at_least"]["0.10"]}),
    "a little below": lambda said, _: said["at_most"].update({"0.10": said["at_most"]["0.10"] * 0.999}),
    "above the worst": lambda said, worst: said["at_most"].update({"0.90": 2.0 * worst}),
    "falling": lambda said, _: said["at_least"].update({"0.10": said["at_least"]["0.90"]}),
    "one more quantile": lambda said, worst: said["at_most"].update({"1.00": worst}),
    "fewer people": lambda said, _: said.update(people=24),
    "more of them whole": lambda said, _: said.update(with_all_moments=said["with_all_moments"] + 1),
    "silent": lambda said, _: said.update(people_notes.not_stated(LOCAL)),
    "other words": lambda said, _: said.update(meaning=said["meaning"].replace("Nobody", "Somebody")),
    "no mapping": lambda said, _: said.update(at_most=3),
}


def test_a_distribution_that_was_changed_is_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    table = fleet([np.cumsum(rng.uniform(5.0, 60.0, size)) for size in rng.integers(1, 50, 25)])
    document = protect_dataset(written(tmp_path / "in", table), tmp_path / "out", PLAN).document
    for name, harm in HARMS.items():
        changed = copy.deepcopy(document)
        harm(changed["people"]["loss_at_times"], document["people"]["worst_loss"])
        assert changed != document, name
        with pytest.raises(VerificationFailed, match=r"losses at people's own times|has the wrong type"):
            verify_folder(with_seal(without_seal(changed)), tmp_path / "out")
    assert verify_folder(with_seal(without_seal(document)), tmp_path / "out").checks


def test_a_certificate_from_before_says_nothing_and_holds(tmp_path: Path) -> None:
    document = protect_dataset(written(tmp_path / "in", rows(500, 25)), tmp_path / "out", PLAN).document
    del document["people"]["loss_at_times"]
    held = verify_folder(with_seal(without_seal(document)), tmp_path / "out")
    assert "The certificate says nothing about the losses at people's own times." in held.notes


@pytest.mark.parametrize(
    ("people", "times", "zone", "why"),
    [
        (19, "keep", None, FEW),
        (25, "relative", None, HIDDEN),
        (25, "coarse:5min", None, HIDDEN),
        (25, "drop", None, HIDDEN),
        (25, "keep", "Europe/Paris", LOCAL),
    ],
)
def test_what_is_not_computed_says_why(tmp_path: Path, people: int, times: str, zone: str | None, why: str) -> None:
    table = rows(400, people)
    if zone is not None:
        table = table.set_column(1, "time", table.column(1).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us")))
    plan, reading = Plan(ids="keep", noise_m=200.0, times=times), TableReading({"id": "user_id"}, zone)
    done = protect_dataset(written(tmp_path / "in", table), tmp_path / "out", plan, reading=reading)
    assert block(done) == people_notes.not_stated(why)
    verify_folder(tmp_path / "out" / "_certificate.json", tmp_path / "out")


@pytest.mark.parametrize("mechanism", ["independent", "planar-laplace", "prior-shaped", "mixed"])
def test_promises_that_depend_on_times_are_refused_before_a_row_is_read(tmp_path: Path, mechanism: str) -> None:
    prior = "geolife-median" if mechanism in ("prior-shaped", "mixed") else None
    folder, read = written(tmp_path / "in", rows(400, 25)), list[str]()
    plan = Plan(ids="keep", noise_m=200.0, mechanism=mechanism, prior=prior)
    with pytest.raises((NotCertified, InputError), match="depends on"):
        protect_dataset(folder, tmp_path / "out", plan, step=lambda name, _: read.append(name))
    assert not read
    assert {path.name for path in tmp_path.iterdir()} == {"in"}


def test_a_part_of_which_nothing_was_noted_stops_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tally = dataset_job.DatasetJob.tally
    monkeypatch.setattr(dataset_job.DatasetJob, "tally", lambda job: replace(tally(job), notes=[]))
    with pytest.raises(InputError, match="another version"):
        protect_dataset(written(tmp_path / "in", rows(400, 25)), tmp_path / "out", PLAN)


def test_a_person_in_many_pieces_is_one_of_the_sample() -> None:
    rng, whole, pieces = np.random.default_rng(8), Sample(None), Sample(None)
    labels = [f"p{k}" for k in range(3 * PEOPLE)]
    times = np.sort(rng.integers(0, 10**9, (len(labels), 40)), axis=1)
    whole.add(labels, np.arange(len(labels) + 1) * 40, times.ravel())
    for half in (slice(20, 40), slice(0, 20)):
        pieces.add(labels, np.arange(len(labels) + 1) * 20, times[:, half].ravel())
    one, other = (sorted(sample.proposal(MECHANISM)["moments"]) for sample in (whole, pieces))
    assert one == other
    assert len(one) == PEOPLE
    assert all(len(moments) == MOMENTS and not complete for _, complete, moments in one)
