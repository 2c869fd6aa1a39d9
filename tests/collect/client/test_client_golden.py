"""Python and JavaScript draw the same reports, the same normals and the same live noise from the same words."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.base.errors import SfumatoError
from sfumato.base.randomness import Randomness, uniforms_from_words
from sfumato.base.things.frames import displace, snap
from sfumato.base.things.grid import Grid
from sfumato.collect.client import exact_draw
from sfumato.collect.client.offer import Caps, check_against_memory, check_log, check_offer, pack_log_weights
from sfumato.collect.client.reveals import reveals
from sfumato.collect.client.wire import epoch_turn
from sfumato.tracks.live import live_trace as live
from sfumato.tracks.noise.multiscale.ladder import Ladder, sample_path, shipped_ladder

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
JS = Path(__file__).resolve().parents[3] / "clients" / "js"


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def words(text: str) -> np.ndarray:
    return np.frombuffer(bytes.fromhex(text), dtype=">u8").astype(np.uint64)


CHANNELS = {channel["name"]: channel for channel in golden("reports")["channels"]}


@pytest.mark.parametrize("name", CHANNELS)
def test_every_golden_word_draws_its_cell_also_at_the_borders_between_cells(name: str) -> None:
    channel = CHANNELS[name]
    grid, c = Grid.from_dict(channel["grid"]), np.array(channel["output_weights"])
    for case in channel["cases"]:
        v, k = exact_draw.weights(grid, c, case["cell"], beta_per_m=channel["beta_per_m"])
        drawn = [exact_draw.cell_from_words(v, k, words(text)) for text, _ in case["draws"]]
        assert drawn == [cell for _, cell in case["draws"]]
        assert len(set(drawn)) > 3 or grid.cells < 8


@pytest.mark.parametrize("name", CHANNELS)
def test_golden_probabilities_are_those_of_the_formula_in_logarithms(name: str) -> None:
    channel = CHANNELS[name]
    grid, c = Grid.from_dict(channel["grid"]), np.array(channel["output_weights"])
    for case in channel["cases"]:
        logits = np.log(c) - channel["beta_per_m"] * grid.distances_from(case["cell"])
        logits -= logits.max()
        formula = np.exp(logits) / np.exp(logits).sum()
        for y, p in case["probabilities"].items():
            assert p == pytest.approx(formula[int(y)], rel=1e-12)


@pytest.mark.parametrize("name", CHANNELS)
def test_golden_reveals_are_recomputed(name: str) -> None:
    channel = CHANNELS[name]
    grid, c = Grid.from_dict(channel["grid"]), np.array(channel["output_weights"])
    told = reveals(grid, c, beta_per_m=channel["beta_per_m"])
    for field, value in channel["reveals"].items():
        assert getattr(told, field) == pytest.approx(value, rel=1e-11)


def test_golden_turns_in_an_epoch() -> None:
    for item in golden("turns")["turns"]:
        secret = bytes.fromhex(item["secret"])
        assert epoch_turn(item["campaign"], item["epoch"], secret, item["epoch_cycles"]) == item["turn"]


def test_golden_normals_and_places() -> None:
    from scipy.special import ndtri

    for word, value in golden("normals")["draws"]:
        assert float(ndtri(uniforms_from_words(words(word)))[0]) == pytest.approx(value, rel=1e-12)
    for item in golden("places")["grids"]:
        lat, lon, cells = zip(*item["points"], strict=True)
        assert Grid.from_dict(item["grid"]).locate(lat, lon, snap=True).tolist() == list(cells)


def test_the_golden_live_trace_is_the_path_that_the_library_itself_draws_from_these_words() -> None:
    value = golden("multiscale")
    ladder, rows = Ladder.from_dict(value["ladder"]), value["rows"]
    assert ladder.to_dict() == shipped_ladder("day").to_dict()
    given = iter([word for row in rows for word in row["words"]])
    source = Randomness(
        lambda n: words("".join(next(given) for _ in range(n))).copy(), simulation=True, source="golden"
    )
    path = 250 * sample_path(ladder, np.array([row["time_s"] for row in rows]), source)
    np.testing.assert_allclose(path, [row["east_north_m"] for row in rows], rtol=0, atol=1e-7)
    state: dict[str, Any] | None = None
    for row in rows:
        from scipy.special import ndtri

        normals = ndtri(uniforms_from_words(words("".join(row["words"]))))
        state = live.advance(ladder, state, row["time_s"], normals)
        moved = live.displacement(ladder, state, noise_m=250.0)
        np.testing.assert_allclose(moved, row["east_north_m"], rtol=0, atol=1e-9)
        lat, lon = snap(*displace([row["lat"]], [row["lon"]], [moved]))
        np.testing.assert_allclose([lat[0], lon[0]], row["released"], rtol=0, atol=1e-7)


OFFERS = golden("offers")


def test_the_golden_channel_is_accepted_and_its_log_checks_out() -> None:
    offer = check_offer(OFFERS["good"], caps=Caps(), pinned_key=OFFERS["public_key"])
    assert (offer.cycle, offer.epoch) == (3, "3")
    check_log(OFFERS["log"], offer)
    with pytest.raises(SfumatoError, match="exactly this channel version"):
        check_log(OFFERS["log"][:2], offer)
    forged = [dict(entry) for entry in OFFERS["log"]]
    forged[1]["version"] = "33" * 32
    with pytest.raises(SfumatoError, match="does not match its hash"):
        check_log(forged, offer)
    twice = [*OFFERS["log"], {**OFFERS["log"][2], "index": 3}]
    with pytest.raises(SfumatoError, match="chain is broken"):
        check_log(twice, offer)


@pytest.mark.parametrize("name", OFFERS["refused"])
def test_a_channel_that_breaks_a_limit_is_refused_with_its_reason(name: str) -> None:
    case = OFFERS["refused"][name]
    with pytest.raises(SfumatoError, match=f"(?i){case['word']}"):
        check_offer(case["document"], caps=Caps())


def test_a_second_version_in_a_cycle_and_a_jump_between_cycles_are_refused() -> None:
    offer = check_offer(OFFERS["good"], caps=Caps())
    memory = {"versions": {"3": offer.version}, "last_cycle": 3, "log_weights": pack_log_weights(offer.output_weights)}

    def check(name: str) -> None:
        check_against_memory(check_offer(OFFERS[name], caps=Caps()), memory, caps=Caps())

    check("good")
    check("next_cycle")
    with pytest.raises(SfumatoError, match="two channel versions"):
        check("second_version")
    with pytest.raises(SfumatoError, match="log c moved"):
        check("next_cycle_jumped")


def test_javascript_reproduces_the_golden_files_and_keeps_its_promises() -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed: the JavaScript client was not tested")
    if not (JS / "dist" / "golden.js").exists():
        pytest.skip("clients/js is not built: run `make web` to test the JavaScript client too")
    newest = max(path.stat().st_mtime for path in (JS / "src").rglob("*.ts"))
    assert (JS / "dist" / "golden.js").stat().st_mtime >= newest, "clients/js/dist is older than its source: `make web`"
    run = subprocess.run(["node", "--test", "test/"], cwd=JS, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout[-4000:]
    assert "# fail 0" in run.stdout
