"""Every sentence of a certificate is true for the very class it names: attacked with members of that class."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.prior_members import random_member

import sfumato as sf
from sfumato.base.errors import NotCertified
from sfumato.base.things.traces import Trace
from sfumato.pages.report.words import cards
from sfumato.tracks.certificates.document import Certificate, promise_lines
from sfumato.tracks.noise.multiscale import noise as multiscale_noise
from sfumato.tracks.noise.multiscale.ladder import shipped_ladder
from sfumato.tracks.noise.multiscale.noise import MultiscaleNoise
from sfumato.tracks.people.door import protect
from sfumato.tracks.priors.classes import PRIOR_CLASSES, PriorClass
from sfumato.tracks.priors.kernels import RBF, Constant, Kernel, Matern32, White, kernel_from_dict


def still(times_s: np.ndarray) -> Trace:
    return Trace(np.full(times_s.size, 48.5), np.full(times_s.size, 2.5), 1.7e9 + times_s)


def headline(document: dict) -> str:
    return Certificate.of(document).headline


def explanations(document: dict) -> list[str]:
    said = Certificate.of(document)
    return said.mechanism.explanations(said.stated)


def loss_of(secret_s: float, times_s: np.ndarray, prior: Kernel, noise: np.ndarray) -> float:
    """J of one moment, released or not: hᵀ(P + Γ)⁻¹h, dense, straight from the definition."""
    at = np.append(times_s, secret_s)
    joint = prior.covariance(at)
    slope = joint[:-1, -1] / joint[-1, -1]
    rest = joint[:-1, :-1] - np.outer(slope, joint[-1, :-1]) + noise
    return float(slope @ np.linalg.solve(rest, slope))


def test_independent_noise_promises_the_released_moments_without_an_offset_and_the_rest_by_the_number_of_points() -> (
    None
):
    times = np.arange(240) * 3600.0
    document = protect(still(times), mechanism="independent", noise_m=1000.0).certificate
    members = PriorClass.from_dict({k: v for k, v in document["prior_class"].items() if k != "name"})
    assert not members.offset
    assert document["prior_class"]["name"] == "day without offset"
    assert document["worst_loss"] is None
    assert document["stay_loss"] == pytest.approx(240 / 1000.0**2)
    assert document["stay_odds_99"] > document["odds_99"]
    noise = 1000.0**2 * np.eye(times.size)
    offset = Matern32(10.0, 1.0) + Constant(100_000.0)
    found = loss_of(times[120], times, offset, noise)
    assert found > 20 * document["loss_at_times"]  # so an offset must not be claimed ...
    assert members.reasons_outside(offset) == ["an unknown offset"]
    assert found <= document["stay_loss"]  # ... but by the number of points
    words = document["guarantee"]
    assert "no unknown offset" in words["assumes"][0]
    assert "released moments" in words["covers"][0]
    assert "released or not" not in json.dumps(words)
    assert "stay_loss" in words["covers"][1]


def test_a_moment_between_two_released_ones_is_covered_by_the_number_of_points_under_independent_noise() -> None:
    times = np.array([0.0, 21600.0])
    document = protect(still(times), mechanism="independent", noise_m=1000.0).certificate
    between = loss_of(10800.0, times, RBF(21600.0, 10.0), 1000.0**2 * np.eye(2))
    assert between > document["loss_at_times"]
    assert between <= document["stay_loss"]


def test_no_member_without_an_offset_loses_more_at_a_released_moment_than_independent_noise_states() -> None:
    rng = np.random.default_rng(4)
    for seed in range(40):
        times = np.sort(rng.uniform(0, 10 ** rng.uniform(2, 5), 15)).round(3)
        document = protect(still(times), mechanism="independent", noise_m=300.0).certificate
        members = PriorClass.from_dict({k: v for k, v in document["prior_class"].items() if k != "name"})
        member, noise = random_member(members, seed), 300.0**2 * np.eye(15)
        covariance = member.covariance(times)
        posterior = covariance - covariance @ np.linalg.solve(covariance + noise, covariance)
        losses = 1 / np.diag(posterior) - 1 / np.diag(covariance)
        assert losses.max() <= document["loss_at_times"] * (1 + 1e-6)
        wide = member + Constant(float(10 ** rng.uniform(0, 5))) + White(0.01)
        assert loss_of(rng.uniform(times[0], times[-1]), times, wide, noise) <= document["stay_loss"] * (1 + 1e-6)


def test_the_report_says_at_the_released_moments_for_independent_noise_and_gives_the_odds_of_a_stay() -> None:
    document = protect(still(np.arange(50) * 60.0), mechanism="independent", radius_m=100.0).certificate
    assert headline(document).startswith("At the released moments, ")
    assert "For a place you stay at or hardly leave, in this release, odds are at most" in headline(document)
    assert "however long" not in " ".join(explanations(document))
    assert "at any one moment" not in " ".join(
        f"{card.label} {card.meaning}" for card in cards(Certificate.of(document), None)
    )
    beyond = protect(still(np.arange(50) * 60.0), mechanism="independent", noise_m=1.0).certificate
    assert beyond["stay_odds_99"] is None  # beyond any number: then it says so
    assert "is not protected" in headline({**beyond, "odds_99": 5.0})


def test_planar_laplace_states_odds_per_point_and_none_for_the_trace() -> None:
    document = protect(still(np.arange(200) * 10.0), mechanism="planar-laplace", rng=3).certificate
    for name in ("odds_99", "odds_99_either_way", "odds_99_after_coarsening", "stay_odds_99", "mu"):
        assert document[name] is None
    assert document["odds_per_point"] == pytest.approx(5.0)
    assert document["epsilon"] == pytest.approx(np.log(5.0))
    assert "per point" in headline(document)
    assert "99 times in 100" not in headline(document)
    assert protect(still(np.arange(3.0))).certificate["odds_per_point"] is None


def test_releases_a_gap_apart_count_as_one_only_for_a_path_without_an_unknown_offset() -> None:
    """Fifty restarts redraw the constant share too: with an offset the losses do add up, beyond the stated factor."""
    document = protect(still(np.arange(3.0)), noise_m=1000.0).certificate
    kernel = kernel_from_dict(document["noise"])
    gap = document["releases"]["gap_s"]
    piece = np.arange(32) * 15.0
    times = np.concatenate([piece + i * (gap + piece[-1]) for i in range(50)])
    noise = np.kron(np.eye(50), kernel.covariance(piece))
    path = RBF(46.8, 600.0)
    secret = float(times[25 * 32 + 16])
    assert loss_of(secret, times, path + Constant(100_000.0), noise) > 1.15 * document["worst_loss"]
    assert loss_of(secret, times, path, noise) <= 1.006 * document["worst_loss"]
    rule = document["releases"]["gap_rule"]
    assert "path around a known mean" in rule
    assert "With an unknown offset, and for stay_loss, they never do" in rule


def test_the_promise_at_any_one_moment_names_the_condition_for_an_offset_and_how_far_nights_reach(
    tmp_path: Path,
) -> None:
    """A path that hardly moves around an unknown place is beyond worst_loss, never beyond stay_loss."""
    trace = still(np.arange(3.0))
    old = {"noise_m": 1000.0, "constant_share": 0.1}  # the shares of the first edition
    document = protect(trace, **old).certificate
    times = np.arange(400) * 5000.0
    noise = kernel_from_dict(document["noise"]).covariance(times)
    found = loss_of(times[200], times, Matern32(10.0, 10.0) + Constant(10_000.0), noise)
    assert document["worst_loss"] * 2 < found <= document["stay_loss"]
    covers = document["guarantee"]["covers"]
    assert "with an unknown offset under the condition of the next line" in covers[0]
    assert covers[1].startswith("an unknown constant offset")
    assert "in this release; nights in further releases add up" in covers[2]
    assert "in 3 releases" in protect(trace, **old, redraws=3).certificate["guarantee"]["covers"][2]
    state = tmp_path / "s.json"
    kept = protect(trace, **old, state=state).certificate["guarantee"]["covers"]
    assert kept[2].endswith("over all releases made with the same noise state")
    asked = protect(trace, constant_share=0.1).certificate
    assert "For a place you stay at or hardly leave, in this release, odds are at most 14.7 : 1" in headline(asked)
    assert "14.7 : 1" in cards(Certificate.of(asked), None)[0].meaning


def test_one_moment_with_two_positions_is_warned_about_and_not_covered() -> None:
    trace = Trace([48.0, 48.001, 48.0], [2.0, 2.0, 2.0], [1.7e9, 1.7e9, 1.7e9 + 60])
    done = protect(trace)
    assert any("1 moment(s) have more than one position" in text for text in done.certificate["warnings"])
    assert sf.verify(done.certificate, release=done.release).checks
    same = protect(Trace([48.0, 48.0], [2.0, 2.0], [1.7e9, 1.7e9])).certificate
    assert same["warnings"] == []
    assert any("for one moment" in text for text in same["guarantee"]["not_covered"])


def test_a_broken_bound_is_raised_and_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = MultiscaleNoise(shipped_ladder("day"), 100.0, PRIOR_CLASSES["day"])
    worst = mechanism.losses([np.arange(3.0)]).worst_loss
    assert worst is not None
    monkeypatch.setattr(multiscale_noise, "largest_loss", lambda *_: worst * 1.001)
    with pytest.raises(NotCertified, match="universal bound"):
        mechanism.losses([np.arange(3.0)])


def test_a_single_release_is_not_called_one_of_one() -> None:
    for options in ({}, {"mechanism": "independent"}, {"mechanism": "planar-laplace"}):
        meaning = protect(still(np.arange(3.0)), **options).certificate["releases"]["meaning"]
        assert "one of 1" not in meaning
        assert "1 release(s)" not in meaning
        assert "1 such" not in meaning
    assert "one of 3" in protect(still(np.arange(3.0)), redraws=3).certificate["releases"]["meaning"]


@pytest.mark.parametrize("name", ["multiscale", "independent", "planar-laplace"])
def test_what_is_said_of_a_table_of_people_is_not_said_to_you(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    rows = {"id": np.repeat(["a", "b"], 5), "lat": np.linspace(48.0, 48.1, 10), "lon": np.full(10, 2.0)}
    frame = pandas.DataFrame({**rows, "time": np.tile(np.arange(5) * 60.0, 2) + 1.6e9})
    done = sf.protect(frame, person="id", mechanism=name, rng=1)
    record = Certificate.of(done.certificate)
    promise = record.guarantee
    told = [*promise_lines(done.certificate), repr(done), *map(record.words, (*promise.covers, *promise.not_covered))]
    told += map(record.words, record.mechanism.explanations(record.stated))
    assert not [text for text in told if re.search(r"\b(you|your|yours)\b", text, re.IGNORECASE)]
    one = sf.protect(frame.iloc[:5].drop(columns="id"), one_person=True, mechanism=name, rng=1)
    assert Certificate.of(one.certificate).headline == done.certificate["headline"]
