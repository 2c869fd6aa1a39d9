"""The attacks that broke the first edition's sentences, run on whichever version is imported: one JSON object.

    PYTHONPATH=src python scripts/editions.py                         # now
    PYTHONPATH=<version 0.1.0>/src python scripts/editions.py         # recorded in scripts/first_edition.json

Odds are computed here, from the certificate's own numbers by dense algebra: nothing of either version's mathematics
is used but the noise's law. ``tests/docs/test_adversary_page.py`` compares the two.
"""

from __future__ import annotations

import csv
import json
import math
import tempfile
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from typer.testing import CliRunner

import sfumato as sf
from sfumato.base.things.traces import Trace
from sfumato.cli import app
from sfumato.tracks.secret import basic

RADIUS_M, DAY_S = 200.0, 86400.0
SURE = NormalDist().inv_cdf(0.99)


def odds(loss: float) -> float:
    """exp(μ²/2 + μΦ⁻¹(.99)) at 200 m."""
    mu = RADIUS_M * math.sqrt(loss)
    return math.exp(min(mu * mu / 2 + mu * SURE, 700.0))


def covariance(parts: list[dict[str, Any]], times: np.ndarray) -> np.ndarray:
    """The noise of a certificate at any times."""
    lag = np.abs(times[:, None] - times[None])
    out = np.zeros_like(lag)
    for part in parts:
        size = part["sd_m"] ** 2
        if part["kernel"] == "matern32":
            x = math.sqrt(3) * lag / part["length_scale_s"]
            out += size * (1 + x) * np.exp(-x)
        elif part["kernel"] in ("white", "constant"):
            out += size * ((lag == 0) if part["kernel"] == "white" else 1.0)
        else:
            raise ValueError(part["kernel"])
    return out


def hours(first: float, last: float, days: int, every: float) -> np.ndarray:
    """Moments from ``first`` to ``last`` o'clock on so many days."""
    return (DAY_S * np.arange(days)[:, None] + np.arange(3600 * first, 3600 * last, every)).ravel()


def home_beside_work(parts: list[dict[str, Any]], days: int) -> float:
    """A1: home (0-7 o'clock) unknown, work (10-18) known, recorded every hour."""
    home, work = hours(0, 7, days, 3600.0), hours(10, 18, days, 3600.0)
    secret = np.concatenate([np.ones(home.size), np.zeros(work.size)])
    return odds(float(secret @ np.linalg.solve(covariance(parts, np.concatenate([home, work])), secret)))


def commute(parts: list[dict[str, Any]], days: int, sd_m: float = 4000.0) -> float:
    """A2: the same half hour every day, seven points, around what the adversary expects by ``sd_m``."""
    within = np.arange(7) * 300.0
    times = (DAY_S * np.arange(days)[:, None] + within).ravel()
    repeated = np.tile(np.eye(7), (days, 1))
    together = np.linalg.inv(repeated.T @ np.linalg.solve(covariance(parts, times), repeated))
    prior = covariance([{"kernel": "matern32", "sd_m": sd_m, "length_scale_s": 600.0}], within)
    learned = prior @ np.linalg.solve(prior + together, prior)
    return odds(float(np.max(np.diag(learned) / (np.diag(prior - learned) * np.diag(prior)))))


def two_noises(folder: Path) -> float:
    """A3: metres between alice's noise from a table of one and from a table of two, same state, same moments."""
    rows = [f"{{who}},{1.7e9 + 60 * i:.0f},48.2,16.37" for i in range(5)]
    released = []
    for name, people in (("two", ("alice", "bob")), ("one", ("Alice",))):
        table, out = folder / f"{name}.csv", folder / f"{name}.out.csv"
        table.write_text("\n".join(["user_id,time,lat,lon", *(r.format(who=w) for w in people for r in rows)]) + "\n")
        asked = ["protect", str(table), "-o", str(out), "--state", str(folder / "state.json")]
        # The first edition knows no --ids and keeps them.
        if 0 not in (CliRunner().invoke(app, [*asked, *ids]).exit_code for ids in (["--ids", "keep"], [])):
            return math.nan
        with out.open(newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        released.append(np.array([float(line["lat"]) for line in lines if line.get("id", "alice").lower() == "alice"]))
    return float(np.max(np.abs(released[0] - released[1])) * 111_195)


def stay_stated_and_true() -> tuple[float, float]:
    """B6: odds of one place at ten protected of 60 points, as stated, and by regression on the other points."""
    times = np.arange(60) * 10.0
    chosen = list(range(25, 35))
    done = sf.protect(Trace(np.full(60, 48.2), np.full(60, 16.37), times), secrets=[basic(i) for i in chosen])
    document = done.certificate
    try:
        from sfumato.tracks.noise.registry import mechanism_from_dict

        noise = np.asarray(mechanism_from_dict(document["parameters"]).covariance_m2())  # type: ignore[attr-defined]
    except ImportError:
        from sfumato.mechanisms.secret_noise import SecretNoise  # type: ignore[import-not-found]

        noise = np.asarray(SecretNoise.from_dict(document["parameters"]).covariance_m2())
    described = document["prior"]
    path = covariance(described.get("parts", [described]), times)
    other = [i for i in range(60) if i not in chosen]
    inner = np.linalg.inv(path[np.ix_(chosen, chosen)])
    follows, strays = np.ones(60), np.zeros((60, 60))
    follows[other] = path[np.ix_(other, chosen)] @ inner @ np.ones(10)
    strays[np.ix_(other, other)] = (
        path[np.ix_(other, other)] - path[np.ix_(other, chosen)] @ inner @ path[np.ix_(chosen, other)]
    )
    return float(document["stay_odds_99"]), odds(float(follows @ np.linalg.solve(noise + strays, follows)))


def exit_of_verify(folder: Path, *options: str) -> int:
    """C13: what ``verify`` answers about a release made with these options."""
    source, out, paper = folder / "ride.csv", folder / "shared.csv", folder / "shared.json"
    lines = [f"{1.7e9 + 5 * i:.0f},{48.2 + 1e-4 * i:.6f},16.37" for i in range(400)]
    source.write_text("\n".join(["time,lat,lon", *lines]) + "\n")
    out.unlink(missing_ok=True)
    paper.unlink(missing_ok=True)
    CliRunner().invoke(app, ["protect", str(source), "-o", str(out), "--certificate", str(paper), *options])
    return CliRunner().invoke(app, ["verify", str(paper), "--release", str(out)]).exit_code


def brownian() -> str:
    """B10: what the audit says of Brownian motion, which no member of the class is."""
    rng = np.random.default_rng(3)
    path = np.cumsum(rng.normal(0, 30, (500, 2)), axis=0) / 111_195
    trace = Trace(48.2 + path[:, 0], 16.37 + path[:, 1], 1.7e9 + 10.0 * np.arange(500))
    found = sf.protect(trace, rng=1).audit().to_dict()
    return "; ".join(found.get("moves_otherwise", ())) or ("in class" if found["in_class"] else "outside the class")


def attacks() -> dict[str, Any]:
    """Every attack's outcome with this version."""
    trace = Trace(np.full(480, 48.2), np.full(480, 16.37), 60.0 * np.arange(480))
    default = sf.protect(trace).certificate
    parts, said = default["noise"]["parts"], " ".join(default["guarantee"]["not_covered"])
    shaped = sf.protect(trace, mechanism="prior-shaped", prior="preset")
    page = shaped.certificate
    cov = covariance(page["noise"].get("parts", [page["noise"]]), trace.times_s)
    try:
        sf.protect(trace, noise_m=150.0, snap_m=300.0)
        snapped = "accepted"
    except Exception as error:
        snapped = "refused" if "coarse" in str(error) else repr(error)
    stated, true = stay_stated_and_true()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        apart = two_noises(folder)
        verified = [exit_of_verify(folder, *o) for o in (["--seed", "7"], ["--noise", "5m"], [])]
    return {
        "noise_m": default["rms_noise_m"],
        "promised": [default["odds_99"], default["stay_odds_99"]],
        "A1 home, work known, 5 / 20 / 60 days": [home_beside_work(parts, days) for days in (5, 20, 60)],
        "A1 named as not covered": "regular place" in said,
        "A2 the same commute, 10 / 20 / 250 days": [commute(parts, days) for days in (10, 20, 250)],
        "A2 a loop in a known park, 1 / 10 days": [commute(parts, days, 300.0) for days in (1, 10)],
        "A2 named as not covered": "routine" in said,
        "A3 metres between two noises of one person": apart,
        "A5 named as not covered": "travel together" in said,
        "B6 stated / true": [stated, true],
        "B7 8 h at one place under prior-shaped noise": odds(float(np.linalg.solve(cov, np.ones(480)).sum())),
        "B7 stated": page["stay_odds_99"] if page["stay_loss"] is None else odds(page["stay_loss"]),
        "B8 says 13.3 times the floor": "13.3" in said,
        "B9 a grid of twice the noise": snapped,
        "B10 Brownian motion": brownian(),
        "C13 exit of verify: seeded / 5 m / true": verified,
    }


if __name__ == "__main__":
    print(json.dumps(attacks(), indent=1, ensure_ascii=False))
