"""Write the golden files that the Python and JavaScript clients both reproduce: python tests/golden/make_golden.py

The words at the *borders* between two outcomes are the hardest: U is the smallest number that draws a cell, and U - 1
draws the one before, so a weight that differs in its last bit anywhere would draw another cell.
"""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sfumato.base.randomness import randomness
from sfumato.base.things.frames import displace, snap
from sfumato.base.things.grid import Grid
from sfumato.collect.client.blind_tickets import KIND
from sfumato.collect.client.exact_draw import WORDS_PER_REPORT, cell_from_words, integer_weights, probabilities, weights
from sfumato.collect.client.public_log import head_words
from sfumato.collect.client.reveals import reveals
from sfumato.collect.client.wire import canonical_json, channel_version, epoch_turn, log_entry, to_base64url
from sfumato.collect.grids.tight import tight_channel
from sfumato.tracks.live.live_trace import advance, displacement, live_budget, normals_needed, shipped_loss
from sfumato.tracks.noise.multiscale.ladder import shipped_ladder

HERE = Path(__file__).resolve().parent
RFC = json.loads((HERE / "rfc9474.json").read_text())


def _hex_words(number: int) -> str:
    return number.to_bytes(8 * WORDS_PER_REPORT, "big").hex()


def words_of(text: str) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Hex text as 64-bit words, the first one the most significant."""
    return np.frombuffer(bytes.fromhex(text), dtype=">u8").astype(np.uint64)


def _channel(name: str, grid: Grid, beta: float, c: np.ndarray[Any, Any], cells: list[int]) -> dict[str, Any]:
    entropy = randomness(20240611)
    cases = []
    for x in cells:
        v, k = weights(grid, c, x, beta_per_m=beta)
        cumulative = list(accumulate(integer_weights(v, k)))
        numbers = [0, (1 << 1280) - 1]
        numbers += [int.from_bytes(entropy.words(20).tobytes(), "big") for _ in range(20)]
        for y in sorted({0, 1, grid.cells // 2, grid.cells - 2, x}):
            if 0 <= y < grid.cells - 1:  # the smallest U that draws the cell after y, and the one before it
                border = -(-(cumulative[y] << 1280) // cumulative[-1])
                numbers += [border, border - 1]
        p = probabilities(v, k)
        shown = sorted(
            {*range(min(12, grid.cells)), *range(0, grid.cells, max(1, grid.cells // 12)), grid.cells - 1, x}
        )
        cases.append(
            {
                "cell": x,
                "draws": [[_hex_words(n), cell_from_words(v, k, words_of(_hex_words(n)))] for n in numbers],
                "probabilities": {str(y): float(p[y]) for y in shown},
            }
        )
    told = reveals(grid, c, beta_per_m=beta)
    return {
        "name": name, "grid": grid.to_dict(), "beta_per_m": beta, "output_weights": c.tolist(), "cases": cases,
        "reveals": {
            "epsilon_per_km": told.epsilon_per_km, "two_beta_per_km": told.two_beta_per_km,
            "two_cell_success": told.two_cell_success, "two_cell_within_m": told.two_cell_within_m,
            "exact": told.exact, "two_cell_exact": told.two_cell_exact,
        },
    }  # fmt: skip


def channels() -> list[dict[str, Any]]:
    """Five channels: tiny, a city with a skewed c, a strip with the steepest kernel, one oblong, one far north."""
    rng = np.random.default_rng(5)
    tiny = Grid.from_bounds(48.85, 2.34, 48.86, 2.36, shape=(2, 3))
    city = Grid.from_bounds(48.8286, 2.2855, 48.8798, 2.3909, shape=(11, 15))
    strip = Grid.from_bounds(0.0, 10.0, 0.09, 15.0, shape=(1, 60))
    oblong = Grid.from_bounds(-33.95, 151.1, -33.8, 151.3, shape=(5, 13))
    skewed = 0.99 * rng.dirichlet(np.full(city.cells, 0.2)) + 0.01 / city.cells
    steep = 699.9 / ((strip.columns - 1) * strip.cell_width)
    return [
        _channel("tiny", tiny, 0.0013, np.full(6, 1 / 6), [0, 4]),
        _channel("city", city, 0.0021, skewed / skewed.sum(), [0, 52, 93, 164]),
        _channel("strip", strip, steep, np.full(60, 1 / 60), [0, 59]),
        _channel("north", Grid.from_bounds(76.0, 10.0, 79.0, 20.0, shape=(4, 5)), 0.0002, np.full(20, 0.05), [3]),
        _channel("oblong", oblong, 0.0005, rng.dirichlet(np.full(oblong.cells, 2.0)), [7, 64]),
    ]


def places() -> dict[str, Any]:
    """Where points fall, on edges and outside (snapped), also on a grid over the date line."""
    found = []
    for grid in (
        Grid.from_bounds(48.8286, 2.2855, 48.8798, 2.3909, shape=(11, 15)),
        Grid.from_bounds(-17.0, 179.5, -16.0, -179.5, shape=(10, 10)),
    ):
        rng = np.random.default_rng(8)
        lat = rng.uniform(-1, 2, 60) * grid.rows * grid.cell_height_deg + (
            grid.north_deg - grid.rows * grid.cell_height_deg
        )
        lon = rng.uniform(-1, 2, 60) * grid.columns * grid.cell_width_deg + grid.west_deg
        lat = np.concatenate([lat, [grid.north_deg, grid.north_deg - grid.rows * grid.cell_height_deg, 0, 89, -89]])
        lon = np.concatenate([lon, [grid.west_deg, grid.west_deg + grid.columns * grid.cell_width_deg, 0, 180, -180]])
        cells = grid.locate(lat, lon, snap=True)
        found.append(
            {"grid": grid.to_dict(), "points": list(zip(lat.tolist(), lon.tolist(), cells.tolist(), strict=True))}
        )
    return {"grids": found}


def normals() -> dict[str, Any]:
    """Words and their standard normals, the extreme ones included."""
    words = [0, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, 1 << 12, 1 << 40, (1 << 61), (1 << 64) - (1 << 30)]
    words += randomness(3).words(200).tolist()
    given = randomness_of(words)
    return {"draws": [[f"{word:016x}", float(value)] for word, value in zip(words, given, strict=True)]}


def randomness_of(words: list[int]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Standard normals of these words, through the same two steps as :mod:`sfumato.base.randomness`."""
    from scipy.special import ndtri

    from sfumato.base.randomness import uniforms_from_words

    return np.asarray(ndtri(uniforms_from_words(np.array(words, dtype=np.uint64))))


def multiscale() -> dict[str, Any]:
    """A live trace with small, large, repeated and huge steps: noise in metres and released places."""
    ladder, entropy = shipped_ladder("day"), randomness(11)
    steps = [0, 1, 1, 1, 0, 0.001, 5, 60, 0.25, 3600, 86400, 1, 1e7, 2]
    times = (1_790_000_000 + np.cumsum(steps)).tolist()
    lat = np.linspace(48.99, 49.01, len(times)).tolist()
    lon = np.linspace(2.3, 3.1, len(times)).tolist()
    state: dict[str, Any] | None = None
    rows = []
    for time_s, a, b in zip(times, lat, lon, strict=True):
        words = entropy.words(normals_needed(ladder, state, time_s)).tolist()
        state = advance(ladder, state, time_s, randomness_of(words))
        moved = displacement(ladder, state, noise_m=250.0)
        out = snap(*displace([a], [b], [moved]))
        rows.append(
            {
                "time_s": time_s, "words": [f"{w:016x}" for w in words], "lat": a, "lon": b,
                "east_north_m": list(moved), "released": [float(out[0][0]), float(out[1][0])],
            }
        )  # fmt: skip
    budget = live_budget(shipped_loss(), noise_m=250.0)
    return {
        "noise_m": 250.0, "ladder": ladder.to_dict(), "rows": rows,
        "budget": {"mu_per_km": budget.mu_per_km, "epsilon_per_km": budget.epsilon_per_km, "delta": budget.delta},
    }  # fmt: skip


def offers() -> dict[str, Any]:
    """A signed channel and log that pass, and variations that must be refused, each with a word of the reason."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))  # a test key: public on purpose
    public = to_base64url(key.public_key().public_bytes_raw())
    grid = Grid.from_bounds(48.8286, 2.2855, 48.8798, 2.3909, shape=(4, 5))
    c = np.random.default_rng(2).dirichlet(np.full(20, 3.0))
    c = 0.99 * c / c.sum() + 0.01 / 20
    plain = {
        "campaign": "golden", "cycle": 3, "grid": grid.to_dict(), "beta_per_m": 0.001, "floor": 0.01,
        "output_weights": c.tolist(), "reporting": "every-cycle",
    }  # fmt: skip

    def signed(**changes: Any) -> dict[str, Any]:
        return published(canonical_json({**plain, **changes}))

    def published(payload: bytes) -> dict[str, Any]:
        return {
            "payload": payload.decode(), "version": channel_version(payload),
            "signature": to_base64url(key.sign(payload)), "public_key": public,
        }  # fmt: skip

    good = signed()
    concentrated = np.full(20, 0.002)
    concentrated[7] = 1 - 19 * 0.002
    two = np.full(20, 0.001)
    two[[3, 11]] = (1 - 18 * 0.001) / 2
    below = c.copy()
    below[0], below[1] = 1e-4, below[1] + below[0] - 1e-4
    lying = {**grid.to_dict(), "cell_height": grid.cell_height * 3}
    wide = Grid.from_bounds(40.0, -5.0, 50.0, 9.0, shape=(4, 5)).to_dict()
    small = Grid.from_bounds(48.85, 2.34, 48.851, 2.341, shape=(4, 5)).to_dict()
    other = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
    refused = {
        "another signer": ({**good, "signature": to_base64url(other.sign(good["payload"].encode()))}, "signature"),
        "a changed text": ({**good, "payload": good["payload"].replace('"cycle":3', '"cycle":4')}, "version"),
        "beta past the cap": (signed(beta_per_m=0.0101), "beta is"),
        "beta zero": (signed(beta_per_m=0), "beta"),
        "c below the floor": (signed(output_weights=below.tolist()), "floor"),
        "no floor": (signed(floor=0.0001), "floor"),
        "c not normalised": (signed(output_weights=(c * 1.001).tolist()), "sums"),
        "one weight missing": (signed(output_weights=c[:-1].tolist()), "weight per cell"),
        "all on one cell": (signed(output_weights=concentrated.tolist()), "one cell"),
        "all on two cells": (signed(output_weights=two.tolist()), "concentrated"),
        "metres that do not fit the degrees": (signed(grid=lying), "degrees"),
        "a grid too wide": (signed(grid=wide), "across"),
        "cells too small": (signed(grid=small), "wide"),
        "an unknown field": (signed(latitude=1.0), "unknown"),
        "an unknown policy": (signed(reporting="always"), "policy"),
        "cycle zero": (signed(cycle=0), "cycle"),
        "a cell count past the cap": (signed(grid={**grid.to_dict(), "rows": 400, "columns": 400}), "cells"),
        "text for a number": (signed(beta_per_m="0.001"), "number"),
        "half a text": (published(b'{"beta_per_m":'), "object"),
    }

    def logged(
        *versions: str, before: tuple[str, str] = ("11" * 32, "22" * 32), good: str = good["version"]
    ) -> list[dict[str, Any]]:
        log: list[dict[str, Any]] = []
        for index, version in enumerate([*before, good, *versions]):
            previous = log[-1]["entry"] if log else "0" * 64
            entry = log_entry(campaign="golden", index=index, cycle=index + 1, version=version, previous=previous)
            log.append(
                {
                    "index": index, "campaign": "golden", "cycle": index + 1, "version": version, "previous": previous,
                    "entry": entry, "signature": to_base64url(key.sign(entry.encode())),
                }
            )  # fmt: skip
        return log

    # What a server may try once a device has joined: each signed, logged and within every cap of a device.
    assert grid.north_deg is not None
    assert grid.cell_height_deg is not None
    moved = {**grid.to_dict(), "north_deg": grid.north_deg - grid.cell_height_deg / 2}
    elsewhere = Grid.from_bounds(37.7228, -122.5153, 37.7946, -122.3789, shape=(4, 5)).to_dict()
    narrow = Grid.from_bounds(48.85, 2.34, 48.8506, 2.3565, shape=(1, 20)).to_dict()
    even = tight_channel(grid, epsilon=0.001).value.output_weights.tolist()
    tried: dict[str, tuple[str, dict[str, Any]]] = {
        "moved by half a cell": ("north_deg", {"grid": moved}),
        "in another city": ("cell_height", {"grid": elsewhere}),
        "of one row of narrow cells": ("rows", {"grid": narrow}),
        "at almost five times the level": ("beta_per_m", {"beta_per_m": 0.00495}),
        "with another floor": ("floor", {"floor": 0.005}),
        "with another promise": ("promise", {"output_weights": even}),
        "that asks in another rhythm": ("reporting", {"reporting": "once"}),
    }
    changed = {}
    for name, (field, changes) in tried.items():
        document = signed(cycle=4, **changes)
        changed[name] = {"document": document, "log": logged(document["version"]), "field": field}
    jumped = c.copy()
    jumped[0] *= 0.1

    # Rounds with blind tickets: the key is that of the RFC's vectors, so that every test can sign with it.
    modulus = int(RFC["vectors"][0]["n"], 16).to_bytes(512)
    told = {"kind": KIND, "key": to_base64url(modulus), "opened_at_s": 1_000_000, "round_s": 86_400}
    alone = {
        **told,
        "key": to_base64url(modulus[:-2] + b"\xff\xff"),
    }  # for one person alone
    rounds = {name: signed(tickets=one) for name, one in {"good": told, "alone": alone}.items()}

    def attempt(field: str, log_of: str, document: dict[str, Any]) -> dict[str, Any]:
        return {"document": document, "field": field, "log": logged(document["version"], good=log_of)}

    blind = {
        **rounds, "log": logged(good=rounds["good"]["version"]), "alone_log": logged(good=rounds["alone"]["version"]),
        "next": attempt("", rounds["good"]["version"], signed(cycle=4, tickets=alone)),
        "changed": {
            "with tickets that can be linked": attempt("tickets", rounds["good"]["version"], signed(cycle=4)),
            "in shorter rounds": attempt(
                "round_s", rounds["good"]["version"], signed(cycle=4, tickets={**told, "round_s": 60})
            ),
        },
        "joined_linkable": attempt("tickets", good["version"], signed(cycle=4, tickets=told)),
        "refused": {
            name: {"document": signed(tickets={**told, **change}), "word": word}
            for name, (change, word) in {
                "a small key": ({"key": to_base64url(modulus[:128])}, "2048"),
                "an even key": ({"key": to_base64url(modulus[:-1] + b"\0")}, "2048"),
                "another kind of ticket": ({"kind": "RSABSSA-SHA384-PSS-Deterministic"}, "kind of ticket"),
                "a round without length": ({"round_s": 0}, "whole seconds"),
                "a round of centuries": ({"round_s": 2**40}, "longer than a year"),
                "a field too many": ({"for": "you"}, "unknown fields"),
            }.items()
        },
    }  # fmt: skip
    return {
        "blind": blind,
        "public_key": public, "good": good, "log": logged(), "changed": changed,
        "other_log": logged(before=("33" * 32, "22" * 32)), "next_log": logged(signed(cycle=4)["version"]),
        "other_next_log": logged(signed(cycle=4)["version"], before=("33" * 32, "22" * 32)),
        "head_words": head_words(logged()[-1]["entry"]),
        "refused": {name: {"document": document, "word": word} for name, (document, word) in refused.items()},
        "second_version": signed(floor=0.009), "next_cycle": signed(cycle=4),
        "next_cycle_jumped": signed(cycle=4, output_weights=(jumped / jumped.sum()).tolist(), floor=0.001),
    }  # fmt: skip


def turns() -> list[dict[str, Any]]:
    """Whose turn it is in an epoch."""
    asked = [("town", 1, 2), ("town", 2, 2), ("bicycles", 1, 49), ("bicycles", 2, 49), ("bicycles", 40, 365)]
    found = []
    for number, (campaign, which, cycles) in enumerate([*asked, ("a", 7, 1_000_003)]):
        secret, epoch = bytes((31 * number + 7 * place) % 256 for place in range(32)), f"epoch {which}"
        turn = epoch_turn(campaign, epoch, secret, cycles)
        found.append(
            {"campaign": campaign, "epoch": epoch, "secret": secret.hex(), "epoch_cycles": cycles, "turn": turn}
        )
    return found


def main() -> None:
    """Write every file."""
    for name, value in {
        "reports": {"channels": channels()},
        "places": places(),
        "normals": normals(),
        "multiscale": multiscale(),
        "offers": offers(),
        "turns": {"turns": turns()},
    }.items():
        (HERE / f"{name}.json").write_text(json.dumps(value, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
