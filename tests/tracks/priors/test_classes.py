"""Prior classes and presets: who is a member, and why not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers.prior_members import random_member

from sfumato.base.errors import InputError
from sfumato.tracks.priors.classes import DAY, PRIOR_CLASSES, PriorClass, prior_class_named
from sfumato.tracks.priors.fit_prior import fit
from sfumato.tracks.priors.kernels import RBF, Constant, Matern12, Matern32, Periodic, White
from sfumato.tracks.priors.presets import DEFAULT_PRESET, PRESETS, preset_named
from sfumato.tracks.priors.statespace import sample


def test_every_random_member_is_a_member() -> None:
    for members in PRIOR_CLASSES.values():
        for seed in range(200):
            assert members.contains(random_member(members, seed))
        assert not members.contains(Matern32(1e-3))
        assert not members.contains(Matern32(1e12))


def test_random_members_use_every_kernel_and_the_whole_range() -> None:
    drawn = [random_member(DAY, seed).to_dict() for seed in range(400)]
    mains = [item["parts"][0] if item["kernel"] == "sum" else item for item in drawn]
    assert {main["kernel"] for main in mains} == set(DAY.kernels)
    scales = [main["length_scale_s"] for main in mains]
    assert min(scales) < 15
    assert max(scales) > 15_000


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (Matern32(5, 100), "length scale"),
        (Matern32(30_000, 100), "length scale"),
        (Matern12(60, 100), "kernel"),
        (Matern32(60, 100) + White(11), "nugget"),
        (Matern32(60, 100) + Matern32(70, 1), "one kernel"),
        (Periodic(86400, 1, 100), "one kernel"),
    ],
)
def test_who_is_outside_is_told_why(kernel: object, why: str) -> None:
    reasons = DAY.reasons_outside(kernel)  # type: ignore[arg-type]
    assert reasons
    assert any(why in reason for reason in reasons)


def test_members_may_have_any_sd_a_small_nugget_and_an_offset() -> None:
    for sd in (1e-3, 1.0, 1e7):
        assert DAY.contains(Matern32(10, sd) + White(0.1 * sd) + Constant(1e9))
        assert DAY.contains(RBF(21600, sd))
    assert not PriorClass(offset=False).contains(Matern32(60, 10) + Constant(1))
    assert not PriorClass(sd_m=(30, math.inf)).contains(Matern32(60, 10))


def test_a_fitted_prior_can_be_asked() -> None:
    times = np.arange(300.0) * 5
    fitted = fit(times, sample(times, Matern32(66, 123) + White(1), rng=0))
    assert DAY.contains(fitted)


def test_a_class_comes_back_from_json_with_its_unbounded_sd() -> None:
    for members in (*PRIOR_CLASSES.values(), PriorClass(("rbf",), (1, 2), (3, 4), 0.5, False)):
        assert PriorClass.from_dict(members.to_dict()) == members
    assert DAY.to_dict()["sd_m"] == [0.0, None]


@pytest.mark.parametrize(
    "make",
    [
        lambda: PriorClass(kernels=("matern12",)),
        lambda: PriorClass(kernels=()),
        lambda: PriorClass(length_scales_s=(0, 1)),
        lambda: PriorClass(length_scales_s=(2, 1)),
        lambda: PriorClass(sd_m=(5, 1)),
        lambda: PriorClass(nugget_share=2),
        lambda: PriorClass.from_dict({"kernels": ["rbf"]}),
        lambda: prior_class_named("decade"),
        lambda: preset_named("martian"),
    ],
)
def test_impossible_classes_are_refused(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]


def test_every_preset_is_in_the_default_class_and_says_where_it_comes_from() -> None:
    assert DEFAULT_PRESET in PRESETS
    for preset in PRESETS.values():
        assert DAY.contains(preset.prior)
        assert "GeoLife" in preset.provenance
        assert "evidence_geolife.py" in preset.provenance
