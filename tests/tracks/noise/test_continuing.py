"""Noise that continues: one process per person, whatever the order of releases, and a state only its owner reads."""

from __future__ import annotations

import json
import math
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato.tracks.certificates.state as noise_state
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.state import NoiseState, create_state, load_state, person_key, state_text
from sfumato.tracks.losses.gaussian_loss import basic_losses
from sfumato.tracks.noise.multiscale.continuing import continuing_path, keyed_words, milliseconds
from sfumato.tracks.noise.multiscale.ladder import Ladder, noise_covariance, shipped_ladder
from sfumato.tracks.noise.multiscale.universal_bound import restart_multiplier, universal_bound
from sfumato.tracks.people.door import protect, protect_fleet
from sfumato.tracks.plan import Plan
from sfumato.tracks.priors.classes import DAY
from sfumato.tracks.priors.kernels import RBF, Matern32

LADDER = Ladder(np.array([12.0, 300.0, 25000.0]), np.array([0.4, 0.3, 0.3]), 0.05, 0.1)


@pytest.mark.slow
def test_three_shuffled_releases_have_the_joint_covariance_of_one_process() -> None:
    start = 1.7e9
    first = start + np.array([100.0, 110.0, 400.0])  # released first
    second = start + np.array([0.0, 50.0, 100.0])  # earlier, and overlapping at 100 s
    third = start + np.array([105.0, 111.037, 86400.0])  # in between, and a day later
    times = np.concatenate([first, second, third])
    rng = np.random.default_rng(2)
    count = 6_000
    draws = np.empty((count, times.size, 2))
    for i in range(count):
        key = rng.bytes(32)
        draws[i] = np.concatenate([continuing_path(LADDER, part, key) for part in (first, second, third)])
    designed = noise_covariance(LADDER, times)
    for axis in range(2):
        found = draws[:, :, axis].T @ draws[:, :, axis] / count
        error = np.sqrt((designed**2 + np.outer(designed.diagonal(), designed.diagonal())) / count)
        assert (np.abs(found - designed) < 5 * error).all()
    assert np.array_equal(draws[:, 0], draws[:, 5])  # the time both releases hold keeps its noise
    assert np.abs(draws[:, :, 0].T @ draws[:, :, 1] / count).max() < 5 / math.sqrt(count)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 10**8), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_noise_at_a_time_never_depends_on_what_else_is_released(offsets: list[int], order: object) -> None:
    key = b"k" * 32
    times = 1.6e9 + np.array(offsets) / 1000.0
    together = continuing_path(LADDER, times, key)
    assert np.isfinite(together).all()
    alone = np.concatenate([continuing_path(LADDER, times[i : i + 1], key) for i in range(times.size)])
    assert np.array_equal(together, alone)


def test_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    import sfumato.tracks.noise.multiscale.continuing as module

    times = 1.7e9 + np.arange(500) * 0.7
    whole = continuing_path(LADDER, times, b"x" * 32)
    monkeypatch.setattr(module, "_CHUNK", 13)
    assert np.array_equal(continuing_path(LADDER, times, b"x" * 32), whole)


def test_a_long_continuing_path_has_the_designed_correlations_at_every_lag() -> None:
    short = Ladder(np.array([3.0, 20.0]), np.array([0.5, 0.5]), 0.1, 0.0)
    path = continuing_path(short, 1.7e9 + np.arange(200_000) * 1.0, b"q" * 32)
    from sfumato.tracks.noise.multiscale.ladder import correlation

    for lag in (0, 1, 2, 7, 20, 60):
        found = float((path[: len(path) - lag] * path[lag:]).mean())
        assert found == pytest.approx(float(correlation(short, np.array([float(lag)]))[0]), abs=0.02)


def test_any_number_of_continuing_releases_stays_within_one_bound_where_redrawn_ones_do_not() -> None:
    ladder = shipped_ladder("day")
    bound = universal_bound(ladder, DAY).worst_loss
    pieces = [np.arange(0.0, 300.0, 10.0) + shift for shift in (0.0, 2.0, 5.0, 8.0)]
    times = np.concatenate(pieces)
    prior = Matern32(300.0, 1.0).covariance(times)
    joint = noise_covariance(ladder, times, 100.0**2)
    redrawn = joint.copy()
    which = np.repeat(np.arange(4), 30)
    redrawn[which[:, None] != which[None, :]] = 0.0
    assert basic_losses(prior, joint).max() * 100.0**2 <= bound
    assert bound < basic_losses(prior, redrawn).max() * 100.0**2 <= 4 * bound


def test_the_slowest_scales_are_smooth_and_finite_at_neighbouring_milliseconds() -> None:
    ladder = shipped_ladder("year", white_share=0.0)
    times = 1.7e9 + np.arange(64) / 1000.0
    for key in (b"a" * 32, b"b" * 32):
        path = continuing_path(ladder, times, key)
        assert np.isfinite(path).all()
        # The shortest scale moves by about sqrt(3) / 11.67 s: a thousandth of that in a millisecond.
        assert np.abs(np.diff(path, axis=0)).max() < 1e-3
        assert np.abs(np.diff(path, n=2, axis=0)).max() < 5e-5


@pytest.mark.parametrize("gap_scales", [1.0, 2.0, 3.0, 5.0])
def test_restarting_after_a_silent_gap_costs_at_most_the_stated_multiple(gap_scales: float) -> None:
    ladder = Ladder(np.array([3.0, 20.0]), np.array([0.5, 0.5]), 0.0, 0.0)
    gap = gap_scales * 20.0
    piece = np.arange(0.0, 60.0, 1.0)
    times = np.concatenate([piece, 59.0 + gap + piece, 2 * (59.0 + gap) + piece])
    which = np.repeat(np.arange(3), piece.size)
    joint = noise_covariance(ladder, times)
    restarted = np.where(which[:, None] == which[None, :], joint, 0.0)
    for kernel in (Matern32(40.0, 0.1), RBF(60.0, 0.1), RBF(400.0, 0.1)):
        prior = kernel.covariance(times)
        ratio = (basic_losses(prior, restarted) / basic_losses(prior, joint)).max()
        assert ratio <= restart_multiplier(gap, 20.0) * (1 + 1e-6)


def test_people_of_one_state_have_unrelated_noise() -> None:
    key = b"z" * 32
    assert person_key(key, "a") != person_key(key, "b")
    times = 1.7e9 + np.arange(20_000) * 40.0
    one, other = (continuing_path(LADDER, times, person_key(key, name)) for name in "ab")
    short = Ladder(np.array([5.0]), np.array([1.0]), 0.0, 0.0)
    one, other = (continuing_path(short, times, person_key(key, name)) for name in "ab")
    assert abs(np.corrcoef(one[:, 0], other[:, 0])[0, 1]) < 0.04


def test_words_are_distinct_for_every_time_and_counter() -> None:
    words = keyed_words(b"0" * 32, np.arange(-500, 500), 0, 26)
    assert np.unique(words).size == words.size
    with pytest.raises(InputError):
        keyed_words(b"short", np.arange(3), 0, 2)


def test_times_beyond_the_tree_are_refused() -> None:
    with pytest.raises(InputError, match="1834"):
        milliseconds(np.array([5e9]))


def test_the_state_is_private_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "alice.json"
    state = NoiseState.fresh(150.0, LADDER.to_dict())
    create_state(path, state)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = load_state(path)
    assert again.key == state.key
    assert again.noise_m == 150.0
    assert not again.simulation
    assert "key" not in repr(again).replace("its key not shown", "")
    path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        load_state(path)
    assert list(tmp_path.iterdir()) == [path]  # nothing is left beside it


def test_a_passphrase_hides_the_key(tmp_path: Path) -> None:
    path = tmp_path / "alice.json"
    state = NoiseState.fresh(150.0, LADDER.to_dict())
    create_state(path, state, passphrase="correct horse")
    text = path.read_text()
    assert json.loads(state_text(state))["state"]["key"] not in text
    assert load_state(path, passphrase="correct horse").key == state.key
    for wrong in ("battery staple", None):
        with pytest.raises(InputError):
            load_state(path, passphrase=wrong)
    outer = json.loads(text)
    outer["encrypted"]["data"] = outer["encrypted"]["data"][:-8] + "AAAAAAA="
    path.write_text(json.dumps(outer))
    with pytest.raises(InputError):
        load_state(path, passphrase="correct horse")


def test_an_edited_state_is_refused(tmp_path: Path) -> None:
    """Another size would reveal the trace; ``simulation`` switched off would let a seed pass for the real thing."""
    path = tmp_path / "alice.json"
    create_state(path, NoiseState.fresh(150.0, LADDER.to_dict(), 7))
    outer = json.loads(path.read_text())
    assert load_state(path).simulation
    for change in ({"simulation": False}, {"noise_m": 15.0}, {"prior_class": "week"}, {"check": "00"}, {"more": 1}):
        path.write_text(json.dumps({**outer, "state": {**outer["state"], **change}}))
        with pytest.raises(InputError, match="was changed"):
            load_state(path)


def test_an_existing_state_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "alice.json"
    create_state(path, NoiseState.fresh(1.0, LADDER.to_dict()))
    before = path.read_bytes()
    with pytest.raises(InputError, match="appeared meanwhile"):
        create_state(path, NoiseState.fresh(1.0, LADDER.to_dict()))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"sfumato_state": 1}', '{"sfumato_state": 1, "state": {"key": "x"}}']
)
def test_damaged_states_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(InputError):
        load_state(path)


def ride(count: int = 12) -> Trace:
    return Trace(48.5 + np.arange(count) * 1e-4, np.full(count, 2.5), 1.7e9 + np.arange(count) * 10.0)


def test_the_same_state_at_two_sizes_is_refused_because_it_would_reveal_the_trace(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    protect(ride(), noise_m=100.0, state=path)
    with pytest.raises(InputError, match="Two sizes"):
        protect(ride(), noise_m=200.0, state=path)
    with pytest.raises(InputError, match="shares"):
        protect(ride(), noise_m=100.0, state=path, white_share=0.2)
    with pytest.raises(InputError, match="seed"):
        protect(ride(), noise_m=100.0, state=path, rng=1)
    with pytest.raises(InputError, match="multiscale"):
        protect(ride(), noise_m=100.0, state=tmp_path / "t.json", mechanism="independent")
    assert not (tmp_path / "t.json").exists()


def test_a_state_keeps_its_ladder_and_is_certified_with_it(tmp_path: Path) -> None:
    """A ladder that a later version ships never changes a process that has begun."""
    path = tmp_path / "s.json"
    create_state(path, NoiseState.fresh(100.0, LADDER.to_dict()))
    done = protect(ride(), noise_m=100.0, state=path)
    assert done.certificate["parameters"]["ladder"] == LADDER.to_dict()
    assert done.certificate["loss_over_floor"] == pytest.approx(universal_bound(LADDER, DAY).worst_loss)


def test_a_state_of_one_class_is_refused_for_another_with_advice_that_can_be_followed(tmp_path: Path) -> None:
    """The day's ladder promises next to nothing for a week: odds of 20 000, where 5 were asked for."""
    path = tmp_path / "s.json"
    protect(ride(), state=path)
    for wish in ({}, {"noise_m": 709.08}):
        with pytest.raises(InputError, match="prior class: day, not week") as caught:
            protect(ride(), state=path, prior_class="week", **wish)
        assert "--class day" in str(caught.value)
        assert "--noise" not in str(caught.value)
    week = tmp_path / "w.json"
    first, second = (protect(ride(), state=week, prior_class="week") for _ in range(2))
    assert load_state(week).prior_class == "week"
    assert first.certificate["odds_99"] <= 5.0
    assert np.array_equal(first.release.lat_deg, second.release.lat_deg)


def test_the_advice_for_another_wish_says_what_the_states_own_noise_gives(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    protect(ride(), state=path)
    with pytest.raises(InputError, match=r"--noise 709.08m \(which gives odds of 5 : 1 at 200 m, not 3\)"):
        protect(ride(), odds=3.0, state=path)
    with pytest.raises(InputError, match=r"which gives epsilon 0.935, not 0.5"):
        protect(ride(), epsilon=0.5, state=path)


def test_a_passphrase_for_a_state_that_is_not_encrypted_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    protect(ride(), noise_m=100.0, state=path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="not encrypted"):
        protect(ride(), noise_m=100.0, state=path, passphrase="correct horse")
    assert path.read_bytes() == before


def test_releases_with_one_state_agree_where_they_overlap(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    whole = protect(ride(), noise_m=100.0, state=path)
    part = protect(Trace(ride().lat_deg[4:8], ride().lon_deg[4:8], ride().times_s[4:8]), noise_m=100.0, state=path)
    assert np.array_equal(part.release.lat_deg, whole.release.lat_deg[4:8])
    assert whole.certificate["releases"]["mode"] == "continuing"
    assert whole.certificate["worst_loss"] == part.certificate["worst_loss"]


def test_a_crash_after_the_state_loses_nothing(tmp_path: Path) -> None:
    """Killed between the state and the release: the next run continues with the same noise."""
    path = tmp_path / "s.json"
    script = (
        "import os, numpy as np\n"
        "from sfumato.tracks.certificates.state import NoiseState, create_state\n"
        "from sfumato.tracks.noise.multiscale.ladder import shipped_ladder\n"
        f"create_state({str(path)!r}, NoiseState.fresh(100.0, shipped_ladder('day').to_dict()))\n"
        "os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    first, second = (protect(ride(), noise_m=100.0, state=path) for _ in range(2))
    assert np.array_equal(first.release.lat_deg, second.release.lat_deg)


def test_a_failed_write_of_the_state_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(InputError, match="No space"):
        noise_state.create_state(tmp_path / "s.json", NoiseState.fresh(1.0, LADDER.to_dict()))
    assert list(tmp_path.iterdir()) == []


def test_what_is_printed_of_a_release_holds_neither_key_nor_place(tmp_path: Path) -> None:
    """Others read notebooks and logs; the key undoes the noise of every release of its state."""
    trace = Trace(np.full(20, 48.1234567), np.full(20, 2.7654321), 1.7e9 + 60.0 * np.arange(20))
    done = protect(trace, noise_m=300, state=tmp_path / "alice.json")
    fleet = protect_fleet(Plan(noise_m=300), [("a", trace), ("b", trace)], state=tmp_path / "fleet.json")
    assert done.state is not None
    assert fleet.state is not None
    for value in (done, done.terms, done.terms.mechanism, done.state, fleet, fleet.terms, done.audit()):
        for key in (done.state.key, fleet.state.key):
            assert repr(key)[2:14] not in repr(value)
            assert key.hex() not in repr(value)
        assert "48.12" not in repr(value)
    assert repr(done).startswith("<Protected, 20 points. ")
    assert repr(fleet).startswith("<ProtectedFleet, 2 people, 40 points. ")
