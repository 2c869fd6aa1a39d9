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


@pytest.fixture(autouse=True)
def with_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """kill_live can be imported."""
    pytest.importorskip("paho.mqtt")
    monkeypatch.syspath_prepend(str(FAULTS))


@pytest.mark.slow
@pytest.mark.service
def test_killed_again_and_again_nothing_acknowledged_is_lost_and_nothing_is_sent_with_other_noise(
    tmp_path: Path,
) -> None:
    """``SFUMATO_LIVE_KILLS=50`` for the whole of it."""
    import kill_live
    from live_harness import broker_process

    if broker_process(tmp_path) is None:
        pytest.skip("mosquitto is not installed")
    found = kill_live.kill_under_load(tmp_path, int(os.environ.get("SFUMATO_LIVE_KILLS", "4")))
    assert found["acknowledged by HTTP"] > 20
    assert found["bytes searched"] > 1000
    assert int(str(found["acknowledged by the bridge"])) > 20
    zeros = (
        "lost",
        "lost though the bridge acknowledged it",
        "neither sent on nor queued",
        "sent with other noise",
        "a whole coordinate in a blurred stream",
    )
    for never in (*zeros, "of the same moment"):
        assert found[never] == 0, found
    assert not found["queued"], found
    assert found["odds of so many by chance"] > 1e-4, found


def test_the_search_finds_a_true_position_whole_or_shortened_and_says_what_chance_explains() -> None:
    import kill_live

    true = {"me": {100 + at: (48.86 + at / 1e4 + 1.23456e-8, 2.36 + 2.3456e-8) for at in range(50)}}
    lat, lon = true["me"][107]
    away = f'{{"lat": {lat + 3e-5}, "lon": {lon}, "tst": 7}}'.encode()
    clean = kill_live.searched([away.replace(f"{lon}".encode(), b"2.3712")], true)
    assert (clean["pairs within 1e-5 degrees"], clean["a whole coordinate in a blurred stream"]) == (0, 0)
    assert clean["expected by chance"] == round(50 * (2e-5 / 0.02) ** 2, 4)
    assert kill_live.searched([away], true)["a whole coordinate in a blurred stream"] == 1
    for text in (f"/?lat={lat:.7f}&lon={lon:.7f}&timestamp=107", f"/?lat={lat:.5f}&lon={lon:.5f}&timestamp=107"):
        found = kill_live.searched([text.encode()], true)
        assert found["of the same moment"] == 1
        assert float(str(found["odds of so many by chance"])) < 1e-4


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
