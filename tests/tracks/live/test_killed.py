"""What outlives kill -9 of bridge and broker, and what the best attackers learn from a month of stream."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from sfumato.tracks.adversary.repetition import stay_attack
from sfumato.tracks.live.chain import Chain
from sfumato.tracks.losses.exact_losses import largest_loss
from sfumato.tracks.priors.classes import prior_class_named

FAULTS = Path(__file__).resolve().parents[2] / "faults"


@pytest.mark.slow
@pytest.mark.service
def test_killed_again_and_again_nothing_acknowledged_is_lost_and_nothing_is_sent_with_other_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``SFUMATO_LIVE_KILLS=50`` for the whole of it."""
    pytest.importorskip("paho.mqtt")
    monkeypatch.syspath_prepend(str(FAULTS))
    import kill_live
    from live_harness import broker_process

    if broker_process(tmp_path) is None:
        pytest.skip("mosquitto is not installed")
    found = kill_live.kill_under_load(tmp_path, int(os.environ.get("SFUMATO_LIVE_KILLS", "4")))
    assert found["acknowledged by HTTP"] > 20
    assert found["bytes searched"] > 1000
    for never in ("lost", "not sent on", "sent with other noise", "exact in a blurred stream"):
        assert found[never] == 0, found


@pytest.mark.slow
def test_a_month_of_stream_stays_within_the_certificate_against_the_exact_posterior_and_for_a_stay() -> None:
    noise = Chain((900.0,)).mechanism(900.0)
    kernel, bound = noise.kernel(), noise.bound()
    times = 600.0 * np.arange(30 * 144)
    exact = largest_loss(times, kernel, prior_class_named("year"))
    assert exact is not None
    assert exact * 900.0**2 <= bound.worst_loss
    stay = stay_attack(times, kernel)
    assert stay.loss_over_floor <= max(bound.worst_loss, bound.stay_loss or 0.0)
