"""Laws that every registered mechanism for traces obeys: it does what it states, and claims no less than it gives away.

The list is the registry's own, so none can be forgotten; what a mechanism needs beside a size is read off its class.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pytest

import sfumato as sf
from sfumato.accountant.compose import Losses
from sfumato.base.errors import InputError, NotCertified, VerificationFailed
from sfumato.base.things.frames import differences_m
from sfumato.base.things.traces import Trace
from sfumato.pages.report import render
from sfumato.tracks.adversary.audit import audit
from sfumato.tracks.certificates.build import Terms, certificate_body, released_of
from sfumato.tracks.certificates.document import Certificate, with_seal
from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.losses.gaussian_loss import basic_losses
from sfumato.tracks.noise.independent import IndependentNoise
from sfumato.tracks.noise.interface import ContinuingNoise, TraceMechanism
from sfumato.tracks.noise.multiscale.ladder import shipped_ladder
from sfumato.tracks.noise.multiscale.noise import MultiscaleNoise
from sfumato.tracks.noise.prior_shaped import PriorShapedNoise
from sfumato.tracks.noise.registry import MECHANISMS, all_mechanisms, mechanism_from_dict
from sfumato.tracks.people.door import protect_fleet
from sfumato.tracks.people.noise import choose, protect_by
from sfumato.tracks.plan import Plan
from sfumato.tracks.priors.classes import DAY
from sfumato.tracks.priors.kernels import RBF, Matern32, Periodic, White
from sfumato.tracks.trace_entries import entry_from_certificate

NOISE_M = 150.0
SEEDED = "seeded generator (simulation)"
DRAWS = 3000
PRIOR = Matern32(66.0, 120.0) + White(1.0)


def ride() -> Trace:
    """Eight points, two of them at one time."""
    times = 1.7e9 + np.array([0.0, 5.0, 5.0, 40.0, 100.0, 400.0, 430.0, 900.0])
    return Trace(48.5 + 1e-4 * np.arange(8), 2.5 + 1e-4 * np.sin(np.arange(8)), times)


def plan_for(name: str) -> Plan:
    """The plain plan of a registered mechanism: 150 m of noise and what it cannot do without."""
    needs = all_mechanisms()[name].needs
    return Plan(
        mechanism=name,
        noise_m=NOISE_M,
        prior="preset" if "prior" in needs else None,
        secrets="3" if "secrets" in needs else None,
        round_to_m=50.0 if "round_to_m" in needs else None,
    )


@lru_cache
def mechanism_of(name: str) -> TraceMechanism:
    return choose(plan_for(name), [ride()]).mechanism


VARIANTS = {  # beside the plain ones: other kernels, and noise that continues
    "continuing": MultiscaleNoise(shipped_ladder("day"), NOISE_M, DAY, key=b"a" * 32),
    "shaped by an RBF": PriorShapedNoise(RBF(60.0, 10.0) + White(0.1), NOISE_M),
    "shaped by a product": PriorShapedNoise(Periodic(600.0, 1.0, 5.0) * RBF(60.0), NOISE_M),
}
CASES = [*MECHANISMS, *VARIANTS]


def case(name: str) -> TraceMechanism:
    return VARIANTS[name] if name in VARIANTS else mechanism_of(name)


SEED = 1


def moved_m(mechanism: TraceMechanism, count: int = DRAWS, rng: int | None = SEED) -> np.ndarray:
    """(count, n, 2): metres by which released positions lie off the true ones, in independent releases."""
    trace, found = ride(), []
    draw = None if rng is None else np.random.default_rng(rng)
    for _ in range(count):
        if isinstance(mechanism, ContinuingNoise) and mechanism.continuing:
            mechanism = mechanism.with_key(os.urandom(32) if draw is None else draw.bytes(32))
        lat, lon = mechanism.release(trace, draw)
        found.append(differences_m(trace.lat_deg, trace.lon_deg, lat, lon))
    return np.stack(found)


def check_covariance(mechanism: TraceMechanism) -> None:
    """The law: what is released has the covariance that is certified, entry by entry, per coordinate."""
    kernel = mechanism.kernel()
    if kernel is None:
        assert mechanism.law() is None
        assert mechanism.noise_m is None
        return
    stated = kernel.covariance(ride().times_s)
    distinct = kernel.covariance(np.unique(ride().times_s))
    assert mechanism.noise_m == pytest.approx(math.sqrt(float(np.mean(np.diag(distinct)))))
    draws = moved_m(mechanism)
    heavy = 1.0 if mechanism.gaussian else 2.0  # a heavier tail: the variance of a square is larger
    error = heavy * np.sqrt((stated**2 + np.outer(stated.diagonal(), stated.diagonal())) / len(draws))
    for axis in range(2):
        found = draws[:, :, axis].T @ draws[:, :, axis] / len(draws)
        assert (np.abs(found - stated) <= 5 * error + 0.05).all(), "what is released is not what is certified"
    across = draws[:, :, 0].T @ draws[:, :, 1] / len(draws)
    apart = heavy * np.sqrt(np.outer(stated.diagonal(), stated.diagonal()) / len(draws))
    assert (np.abs(across) <= 5 * apart + 0.05).all(), "east tells north, which is not what is certified"
    unseeded = moved_m(mechanism, 200, rng=None)
    ratio = float((unseeded**2).mean(axis=(0, 2)).sum() / stated.trace())
    assert 0.4 < ratio < 1.6, "without a seed, what is released is not what is certified"


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_is_released_has_the_covariance_that_is_certified(name: str) -> None:
    check_covariance(case(name))


@dataclass(frozen=True, slots=True, eq=False)
class Liar(IndependentNoise):
    """Certifies noise and draws none."""

    def draw(self, times_s: np.ndarray, rng: object = None) -> np.ndarray:
        return np.zeros((len(times_s), 2))


def test_a_mechanism_that_certifies_noise_and_draws_none_fails_the_law() -> None:
    with pytest.raises(AssertionError, match="not what is certified"):
        check_covariance(Liar(NOISE_M, DAY))


class Copying(IndependentNoise):
    """Draws the right noise once and adds it to both coordinates."""

    def draw(self, times_s: np.ndarray, rng: object = None) -> np.ndarray:
        drawn = super().draw(times_s, rng)  # type: ignore[arg-type]
        return np.column_stack([drawn[:, 0], drawn[:, 0]])


class QuietUnlessWatched(IndependentNoise):
    """Draws the right noise in a simulation and none in earnest."""

    def draw(self, times_s: np.ndarray, rng: object = None) -> np.ndarray:
        drawn = super().draw(times_s, rng)  # type: ignore[arg-type]
        return drawn if rng is not None else np.zeros_like(drawn)


@pytest.mark.slow
def test_noise_copied_to_both_coordinates_or_drawn_only_in_simulations_fails_the_law() -> None:
    with pytest.raises(AssertionError, match="east tells north"):
        check_covariance(Copying(NOISE_M, DAY))
    with pytest.raises(AssertionError, match="without a seed"):
        check_covariance(QuietUnlessWatched(NOISE_M, DAY))


def test_a_registered_mechanism_that_draws_nothing_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IndependentNoise, "draw", Liar.draw)
    plan, table = plan_for("independent"), ride().to_table()
    for door in (
        lambda: sf.protect(ride(), mechanism="independent", noise_m=NOISE_M),
        lambda: protect_by(plan, ride(), rng=3),
        lambda: protect_fleet(plan, [("a", ride()), ("b", ride())]),
        lambda: protect_table(table, plan),
    ):
        with pytest.raises(NotCertified, match="states 150 m of noise per coordinate and drew none"):
            door()


def test_a_promise_without_a_law_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IndependentNoise, "kernel", lambda _: None)
    monkeypatch.setattr(IndependentNoise, "losses", lambda *_: Losses(None, None, None, None, 1e-6, "basis"))
    with pytest.raises(NotCertified, match="a size of noise without its law"):
        protect_by(plan_for("independent"), ride())
    monkeypatch.setattr(IndependentNoise, "noise_m", None)
    monkeypatch.setattr(IndependentNoise, "is_own", lambda *_: True)
    terms = Terms(IndependentNoise(NOISE_M, DAY), plan_for("independent").target, 1.0, SEEDED, True)
    with pytest.raises(NotCertified, match="states no law of its noise, and promises all the same"):
        certificate_body(terms, released_of([(None, ride())]))


def test_a_mechanism_that_does_not_say_what_it_leaves_open_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IndependentNoise, "not_covered", lambda *_: ())
    with pytest.raises(NotCertified, match="what it does not cover"):
        protect_by(plan_for("independent"), ride())


@pytest.mark.parametrize("name", CASES)
def test_equal_times_are_moved_alike(name: str) -> None:
    draws = moved_m(case(name), 3)
    if case(name).kernel() is not None:
        np.testing.assert_allclose(draws[:, 1], draws[:, 2], atol=0.05)


@pytest.mark.parametrize("name", CASES)
def test_every_mechanism_comes_back_from_its_description(name: str) -> None:
    mechanism = case(name)
    again = mechanism_from_dict(mechanism.parameters())
    assert type(again) is type(mechanism)
    assert again.parameters() == mechanism.parameters()
    assert again.law() == mechanism.law()
    times = [ride().times_s]
    assert again.losses(times).basis == mechanism.losses(times).basis
    for missing in set(mechanism.parameters()) - {"noise_m"}:
        broken = {key: value for key, value in mechanism.parameters().items() if key != missing}
        with pytest.raises(InputError):
            mechanism_from_dict(broken)


@pytest.mark.parametrize("name", CASES)
def test_no_mechanism_claims_less_than_the_floor_or_than_its_exact_loss(name: str) -> None:
    losses = case(name).losses([ride().times_s])
    if losses.worst_loss is None:
        assert losses.warnings  # no bound, so it says why
        return
    assert losses.floor_loss is not None
    assert losses.worst_loss >= losses.floor_loss * (1 - 1e-12)
    if losses.loss_at_times is not None:
        assert losses.loss_at_times <= losses.worst_loss * (1 + 1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_exact_loss_under_a_prior_it_holds_for_is_within_the_claim(name: str) -> None:
    mechanism = case(name)
    claimed = mechanism.losses([ride().times_s]).basis
    kernel = mechanism.kernel()
    if claimed is None or kernel is None:
        assert mechanism.holds_for() is None
        assert mechanism.holds_over() is None  # no Gaussian loss, so nothing is said about Gaussian priors
        return
    times = np.unique(ride().times_s)
    prior = mechanism.holds_for() or PRIOR
    losses = basic_losses(prior.covariance(times), kernel.covariance(times))
    if "secrets" in mechanism.takes:
        losses = losses[3 - 1 : 3]  # of the one secret; two points share a time before it
    assert float(losses.max()) <= claimed * (1 + 1e-6)


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_is_certified_verified_audited_and_reported_in_its_own_words(name: str) -> None:
    done = protect_by(plan_for(name), ride())
    document = done.certificate
    assert sf.verify(document, release=done.release).checks
    assert document["plan"]["mechanism"] == name
    promise = document["guarantee"]
    assert promise["not_covered"]
    found = done.audit()
    page = render(release=done.release, certificate=document, original=done.original, audit=found)
    assert done.terms.mechanism.name in page
    if case(name).kernel() is None:  # nothing is promised, and everything says so
        assert document["noise"] is None
        assert document["rms_noise_m"] is None
        assert promise["covers"] == []
        assert all(document[field] is None for field in ("epsilon", "mu", "odds_99", "odds_per_point", "worst_loss"))
        assert found.interval_68_m is None
        assert "promises nothing" in found.verdict
    else:
        assert promise["covers"]
        assert found.interval_68_m is not None


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_plan_quoted_in_a_certificate_makes_the_same_mechanism_again(name: str) -> None:
    done = protect_by(plan_for(name), ride())
    quoted = Plan.from_dict(done.certificate["plan"])
    if "secrets" in all_mechanisms()[name].needs:
        quoted = replace(quoted, secrets="3")  # secrets are never quoted
    again = choose(quoted, [ride()]).mechanism.parameters()
    assert again == done.certificate["parameters"]


def test_what_is_not_registered_is_refused_at_every_door() -> None:
    done = protect_by(plan_for("independent"), ride())
    liar = replace(done.terms, mechanism=Liar(NOISE_M, DAY))
    with pytest.raises(InputError, match="not the registered mechanism"):
        certificate_body(liar, released_of([(None, done.release)]))
    with pytest.raises(InputError, match="no mechanism 'magic'"):
        sf.protect(ride(), mechanism="magic")
    strange = done.certificate
    strange["mechanism"] = "magic"
    strange["parameters"]["name"] = "magic"
    with pytest.raises(VerificationFailed, match="no mechanism 'magic'"):
        sf.verify(with_seal(strange), release=done.release)
    with pytest.raises(InputError, match="no mechanism 'magic'"):
        audit(done.original, done.release, strange)
    with pytest.raises(InputError, match="no mechanism 'magic'"):
        render(release=done.release, certificate=strange)
    with pytest.raises(InputError, match="no mechanism 'magic'"):
        entry_from_certificate(strange, process="p")
    for door in (
        lambda: protect_table(ride().to_table(), Plan(mechanism="magic")),
        lambda: protect_fleet(Plan(mechanism="magic"), [("a", ride())]),
    ):
        with pytest.raises(InputError, match="no mechanism 'magic'"):
            door()
    with pytest.raises(InputError, match="not the registered mechanism"):  # a record made by hand is no way around
        replace(Certificate.of(done.certificate), mechanism=Liar(NOISE_M, DAY))


def test_the_ledger_believes_the_mechanism_and_not_the_certificate() -> None:
    cheap = protect_by(plan_for("multiscale"), ride()).certificate
    assert entry_from_certificate(cheap, process="p")["loss_per_m2"] == cheap["worst_loss"]
    with pytest.raises(InputError, match="not that of its mechanism"):
        entry_from_certificate({**cheap, "worst_loss": cheap["worst_loss"] / 10}, process="p")
    with pytest.raises(InputError, match="two mechanisms"):
        entry_from_certificate({**cheap, "mechanism": "mixed"}, process="p")
    with pytest.raises(InputError, match="does not describe its mechanism"):
        entry_from_certificate({"worst_loss": 1e-9}, process="p")


def test_an_incomplete_mechanism_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MECHANISMS, "half", "sfumato.tracks.noise.interface:AdditiveNoise")
    with pytest.raises(InputError, match="incomplete"):
        sf.protect(ride(), mechanism="half")
    monkeypatch.setitem(MECHANISMS, "half", "sfumato.tracks.noise.independent:IndependentNoise")
    with pytest.raises(InputError, match="incomplete"):  # another name than its own
        sf.protect(ride(), mechanism="half")


def test_a_mechanism_that_does_not_keep_the_wish_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IndependentNoise, "meets", lambda *_: False)
    with pytest.raises(NotCertified, match="does not fulfil"):
        sf.protect(ride(), mechanism="independent")
