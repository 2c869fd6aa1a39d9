"""The small client in plain Python draws, checks and tells the same as the other two, with no package installed."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from small_client import CLIENT, unpack_small_client

from sfumato.base.things.grid import Grid
from sfumato.collect.client import exact_draw
from sfumato.collect.client.reveals import reveals

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
BARE = """
import sys
sys.path[:] = [entry for entry in sys.path if "site-packages" not in entry]
sys.path.insert(0, sys.argv[1])
"""


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not CLIENT.exists():
        pytest.skip("not a source checkout: clients/python is missing")
    return unpack_small_client(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def small(folder: Path) -> Iterator[Any]:
    """A function that imports a module of the small client."""
    sys.path.insert(0, str(folder))
    yield lambda name: import_module(f"sfumato_client.{name}")
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] == "sfumato_client"]:
        del sys.modules[name]


def words(text: str) -> list[int]:
    return np.frombuffer(bytes.fromhex(text), dtype=">u8").astype(object).tolist()


CHANNELS = {channel["name"]: channel for channel in golden("reports")["channels"]}


@pytest.mark.parametrize("name", CHANNELS)
def test_every_golden_word_draws_its_cell(small: Any, name: str) -> None:
    channel = CHANNELS[name]
    grid = small("grid").Grid(**channel["grid"])
    for case in channel["cases"]:
        v, k = small("exact_draw").weights(
            grid, channel["output_weights"], case["cell"], beta_per_m=channel["beta_per_m"]
        )
        drawn = [small("exact_draw").cell_from_words(v, k, words(text)) for text, _ in case["draws"]]
        assert drawn == [cell for _, cell in case["draws"]]


@pytest.mark.parametrize("name", CHANNELS)
def test_golden_reveals_are_recomputed(small: Any, name: str) -> None:
    channel = CHANNELS[name]
    told = small("reveals").reveals(
        small("grid").Grid(**channel["grid"]), channel["output_weights"], beta_per_m=channel["beta_per_m"]
    )
    for field, value in channel["reveals"].items():
        assert getattr(told, field) == pytest.approx(value, rel=1e-11)


def test_on_random_channels_every_integer_weight_is_the_numpy_clients(small: Any) -> None:
    rng = np.random.default_rng(15)
    for _ in range(20):
        south, west = float(rng.uniform(-80, 80)), float(rng.uniform(-179, 179))
        shape = (int(rng.integers(1, 12)), int(rng.integers(1, 12)))
        grid = Grid.from_bounds(south, west, south + float(rng.uniform(0.01, 1)), west + 0.3, shape=shape)
        plain = small("grid").Grid(**grid.to_dict())
        c = rng.dirichlet(np.ones(grid.cells)) * 0.99 + 0.01 / grid.cells
        beta, cell = float(10 ** rng.uniform(-5, -2.5)), int(rng.integers(grid.cells))
        theirs = exact_draw.integer_weights(*exact_draw.weights(grid, c, cell, beta_per_m=beta))
        ours = small("exact_draw").integer_weights(
            *small("exact_draw").weights(plain, c.tolist(), cell, beta_per_m=beta)
        )
        assert ours == theirs
        expected, told = (
            reveals(grid, c, beta_per_m=beta),
            small("reveals").reveals(plain, c.tolist(), beta_per_m=beta),
        )
        for field in expected.__dataclass_fields__:
            assert getattr(told, field) == pytest.approx(getattr(expected, field), rel=1e-10)


def test_golden_places_lie_in_the_same_cells(small: Any) -> None:
    for item in golden("places")["grids"]:
        lat, lon, cells = zip(*item["points"], strict=True)
        assert small("grid").Grid(**item["grid"]).locate(lat, lon, snap=True) == list(cells)


def test_golden_offers_are_accepted_and_refused_alike(small: Any) -> None:
    offers, offer = golden("offers"), small("offer")
    accepted = offer.check_offer(offers["good"], caps=offer.Caps(), pinned_key=offers["public_key"])
    offer.check_log(offers["log"], accepted)
    for case in offers["refused"].values():
        with pytest.raises(small("errors").SfumatoError, match=f"(?i){case['word']}"):
            offer.check_offer(case["document"], caps=offer.Caps())
    packed = offer.pack_log_weights(accepted.output_weights)
    memory = {"versions": {"3": accepted.version}, "last_cycle": 3, "log_weights": packed}
    offer.check_against_memory(offer.check_offer(offers["next_cycle"], caps=offer.Caps()), memory, caps=offer.Caps())
    jumped = offer.check_offer(offers["next_cycle_jumped"], caps=offer.Caps())
    with pytest.raises(small("errors").SfumatoError, match="log c moved"):
        offer.check_against_memory(jumped, memory, caps=offer.Caps())


def test_signatures_by_hand_are_those_of_openssl_and_a_changed_bit_is_none(small: Any) -> None:
    by_hand = small("ed25519").is_signature_by_hand
    rng = np.random.default_rng(8032)
    for length in (0, 1, 63, 500):
        key, message = Ed25519PrivateKey.generate(), rng.bytes(length)
        public, signature = key.public_key().public_bytes_raw(), key.sign(message)
        assert by_hand(message, signature=signature, public_key=public)
        assert not by_hand(message + b"x", signature=signature, public_key=public)
        for bit in rng.integers(0, 512, 6):
            changed = bytearray(signature)
            changed[bit // 8] ^= 1 << (bit % 8)
            assert not by_hand(message, signature=bytes(changed), public_key=public)
        order = 2**252 + 27742317777372353535851937790883648493
        larger = (int.from_bytes(signature[32:], "little") + order).to_bytes(32, "little")
        assert not by_hand(message, signature=signature[:32] + larger, public_key=public)
    # Points that are no points, of small order or written in a second way: never accepted where OpenSSL refuses.
    order, field = 2**252 + 27742317777372353535851937790883648493, 2**255 - 19
    for y in (0, 1, 2, field - 1, field, field + 1, 2**255 - 1):
        for sign in (0, 1):
            point = (y | sign << 255).to_bytes(32, "little")
            for s in (0, 1, order):
                signature = point + s.to_bytes(32, "little")
                try:
                    Ed25519PublicKey.from_public_bytes(point).verify(signature, b"m")
                    accepted = True
                except (InvalidSignature, ValueError):
                    accepted = False
                assert accepted or not by_hand(b"m", signature=signature, public_key=point)
    assert not by_hand(b"m", signature=b"\x00" * 63, public_key=public)


def test_the_test_vector_of_rfc_8032_holds(small: Any) -> None:
    public = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
    signature = base64.b16decode(
        "92A009A9F0D4CAB8720E820B5F642540A2B27B5416503F8FB3762223EBDB69DA"
        "085AC1E43E15996E458F3613D0F11D8C387B2EAEB4302AEEB00D291612BB0C00"
    )
    assert small("ed25519").is_signature_by_hand(b"\x72", signature=signature, public_key=public)


def test_it_draws_and_keeps_a_report_with_no_package_installed_and_every_module_from_the_standard_library(
    folder: Path, tmp_path: Path
) -> None:
    code = f"""{BARE}
import json
from sfumato_client.offer import Caps, check_offer
from sfumato_client import Device, Participant
offers = json.load(open(sys.argv[2]))
offer = check_offer(offers["good"], caps=Caps())
person = Participant("http://127.0.0.1:1", "golden", device=Device(sys.argv[3]))
first = person.prepare(48.85, 2.34, offer=offer)
assert person.prepare(48.87, 2.30, offer=offer).cell == first.cell
assert 0 <= first.cell < offer.grid.cells
outside = sorted({{name.split(".")[0] for name in sys.modules}} - sys.stdlib_module_names - {{"__main__"}})
print(json.dumps(outside))
"""
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(folder), str(GOLDEN / "offers.json"), str(tmp_path / "d.json")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == ["sfumato_client"]


def test_every_copied_module_names_nothing_of_the_large_package(folder: Path) -> None:
    files = sorted((folder / "sfumato_client").glob("*.py"))
    assert len(files) >= 15
    for path in files:
        text = path.read_text()
        assert "import numpy" not in text, path.name
        assert "from sfumato." not in text, path.name
        assert "import sfumato." not in text, path.name


@pytest.mark.parametrize("attack", golden("offers")["changed"])
def test_the_small_client_refuses_a_campaign_that_is_no_longer_what_it_joined(small: Any, attack: str) -> None:
    offers, offer = golden("offers"), small("offer")
    joined = offer.check_offer(offers["good"], caps=offer.Caps())
    memory = {"versions": {"3": joined.version}, "reports": {}, "agreed": offer.terms(joined)}
    offer.check_against_memory(offer.check_offer(offers["next_cycle"], caps=offer.Caps()), memory, caps=offer.Caps())
    tried = offers["changed"][attack]
    later = offer.check_offer(tried["document"], caps=offer.Caps())
    with pytest.raises(offer.TermsChanged, match=f"{tried['field']} was"):
        offer.check_against_memory(later, memory, caps=offer.Caps())
