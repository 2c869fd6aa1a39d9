"""The published noise on a real track, certified by its exact loss."""

import json

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.tracks.losses.gaussian_loss import loss_matrix
from sfumato.tracks.noise.chosen_secrets import SecretNoise
from sfumato.tracks.noise.published_secrets import PublishedNoise
from sfumato.tracks.plan import Target
from sfumato.tracks.priors.kernels import Matern32, White
from sfumato.tracks.secret import basic, compound

PRIOR = Matern32(66.0, 120.0) + White(1.0)
TIMES = np.arange(60) * 20.0
TARGET = Target(radius_m=200.0, odds=5.0)


def test_one_moment_keeps_the_wish_exactly_and_needs_more_noise_than_the_optimum():
    published = PublishedNoise.for_secrets(TIMES, [basic(20)], PRIOR, TARGET)
    exact = float(loss_matrix(PRIOR.covariance(TIMES), published.covariance_m2(), [20])[0, 0])
    allowed = (TARGET.mu / 200.0) ** 2
    assert 0.99 * allowed < exact <= allowed
    assert published.noise_m > SecretNoise.for_secrets(TIMES, [basic(20)], PRIOR, TARGET).noise_m


def test_several_secrets_are_multiple_secrets_and_a_group_is_sdp_a():
    pytest.importorskip("cvxpy")
    short = TIMES[:14]
    for secrets in ([basic(3), basic(9)], [compound([6, 7])]):
        made = PublishedNoise.for_secrets(short, secrets, PRIOR, TARGET)
        assert np.max(made.secret_losses()) <= (TARGET.mu / 200.0) ** 2
        again = PublishedNoise.from_dict(json.loads(json.dumps(made.parameters())))
        np.testing.assert_allclose(again.covariance_m2(), made.covariance_m2(), rtol=1e-12)


def test_what_the_programs_cannot_do_is_refused_with_their_sizes():
    with pytest.raises(InputError, match="they can do 120 and 60"):
        PublishedNoise.for_secrets(np.arange(200) * 20.0, [basic(3), basic(9)], PRIOR, TARGET)
