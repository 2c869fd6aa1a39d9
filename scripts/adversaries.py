"""Print the table of docs/adversary.md: the adversaries a reader could imagine, and what each gets, computed now.

``python scripts/adversaries.py --write`` renews the page; CI fails where it is stale.
"""

# ruff: noqa: E501
from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from sfumato.base.numbers.odds import mu_of, odds_at, odds_words
from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.known_point import known_point_loss
from sfumato.tracks.adversary.routine import Days, Hours, companions_cost, laps_cost, noise_law, place_cost, route_cost
from sfumato.tracks.adversary.stop_and_go import stopped_loss
from sfumato.tracks.people.door import protect
from sfumato.tracks.priors.classes import DAY, PriorClass
from sfumato.tracks.priors.kernels import Kernel, Matern32, kernel_named
from sfumato.tracks.priors.presets import DEFAULT_PRESET, preset_named

PAGE = Path(__file__).resolve().parents[1] / "docs" / "adversary.md"
START, END = "<!-- computed by scripts/adversaries.py -->", "<!-- end -->"
HOME, WORK = Hours.parse("home=22:00-7:00"), Hours.parse("work=9:00-17:00")
COMMUTE, LOOP = Hours.parse("commute=8:00-8:30"), Hours.parse("loop=7:00-7:40")


def said(odds: float) -> str:
    """Odds for a table: rounded against us, three figures, and an end."""
    return str(odds_words(odds)).replace("more than a million : 1", "> 1 000 000 : 1")


def at_least(ratio: float) -> str:
    """A power of ten below a number that has no bound, and that rounding may move."""
    return f"more than {10 ** math.floor(math.log10(ratio)):,}".replace(",", " ")


def each(values: list[float]) -> str:
    """Several odds in one cell."""
    return " / ".join(said(value) for value in values)


def group_noise_losses(companions: int, shared: float) -> dict[str, float]:
    """Losses, relative to one person's with noise of their own, for k companions whose noise shares ``shared`` = s.

    ``own``: noises of their own. ``group``: nobody's way is known. ``known``: the shared process is known, because one
    other person's way is. All exact: each is the loss through a multiple of the same Γ.
    """
    return {
        "own": float(companions),
        "group": 1.0 / (shared + (1.0 - shared) / companions),
        "known": companions / (1.0 - shared),
    }


def lagged_loss(noise: Kernel, lag_s: float) -> float:
    """The largest loss of one moment, in any direction, of a path whose north is its east of ``lag_s`` before.

    The member RBF 46.8 s, sd .02 of the noise, recorded every 5 s for 25 minutes.
    """
    times = np.arange(0.0, 1500.0, 5.0)
    both = np.concatenate([times, times - lag_s])
    prior = (
        4e-4
        * noise.variance_m2
        * (kernel_named("rbf", length_scale_s=46.8).covariance(both) + 1e-10 * np.eye(both.size))
    )
    seen = np.linalg.inv(prior + np.kron(np.eye(2), noise.covariance(times)))
    found = []
    for moment in range(0, times.size, 10):
        where = [moment, times.size + moment]
        block = prior[np.ix_(where, where)]
        left = block - prior[where] @ seen @ prior[:, where]
        found.append(float(np.linalg.eigvalsh(np.linalg.inv(left) - np.linalg.inv(block))[-1]))
    return max(found)


def largest_known_point_loss(noise: Kernel, members: PriorClass, lag_s: float) -> float:
    """The largest of it on a grid of the class: at least so much, and no bound."""
    scales = np.geomspace(*members.length_scales_s, 5)
    return max(
        known_point_loss(noise, kernel_named(name, length_scale_s=float(scale), sd_m=sd), lag_s)
        for name in members.kernels
        for scale in scales
        for sd in (30.0, 300.0, 3000.0)
    )


def table() -> str:
    """The table, from the default certificate (200 m, 5 : 1, class day) and the functions that compute the rest."""
    trace = Trace([48.0], [2.0], [0.0])
    document, turning = protect(trace).certificate, protect(trace, turning=True).certificate
    noise, radius = noise_law(document)
    floor, promised = document["floor_loss"], said(document["odds_99"])
    prior = preset_named(DEFAULT_PRESET).prior

    def odds(loss: float) -> float:
        return odds_at(mu_of(loss, radius))

    def home(days: int, *, separate: bool = False, known: bool = True) -> float:
        seen = [WORK] if known else []
        return place_cost(Days(noise, radius, known=seen, days=days, every_s=600.0, separate=separate), HOME).odds_99

    still = Trace([48.0] * 480, [2.0] * 480, [60.0 * i for i in range(480)])
    shaped = protect(still, mechanism="prior-shaped", prior="preset").certificate
    point = [known_point_loss(noise, prior, lag) for lag in (10.0, 60.0, 600.0)]
    worst = [largest_known_point_loss(noise, DAY, lag) for lag in (10.0, 60.0)]
    shared = group_noise_losses(20, 0.5)
    rows = [
        ("knows how you move (any member of the class), your average path, and the mechanism", f"covered: {promised}", f"covered: {promised}"),
        ("sees a year of your releases with one state, no routine in them", f"covered: {promised}", f"covered: {said(home(250, known=False))} after 250 nights"),
        ("sees 2 / 10 releases of the same days with redrawn noise (no state, no `--redraws`)", f"costs {each([odds(k * document['worst_loss']) for k in (2, 10)])}", f"costs {each([odds(k * document['stay_loss']) for k in (2, 10)])}"),
        ("knows your workplace and looks for your home, 5 / 20 / 60 days", "–", f"costs {each([home(days) for days in (5, 20, 60)])}; withhold it"),
        ("sees the same commute on 10 / 20 / 250 days, anywhere in town", f"{each([route_cost(Days(noise, radius, days=d), COMMUTE).odds_99 for d in (10, 20, 250)])}", "–"),
        ("the same, 5 / 20 / 60 days, and knows your workplace", f"costs {each([route_cost(Days(noise, radius, known=[WORK], days=d), COMMUTE).odds_99 for d in (5, 20, 60)])}", "–"),
        ("sees the same jogging loop on 1 / 10 / 60 days and knows the park (300 m)", f"costs {each([route_cost(Days(noise, radius, days=d), LOOP, prior=Matern32(300.0, 300.0)).odds_99 for d in (1, 10, 60)])}", "–"),
        ("rides the same bus: 2 / 5 / 20 companions, all released", f"costs {each([companions_cost(document, k).odds_99 for k in (2, 5, 20)])}", "the same"),
        ("knows that you stop for 5 min / 1 h / 8 h somewhere near a known way", f"costs {each([odds(stopped_loss(noise, t)) for t in (300.0, 3600.0, 28800.0)])}", "–"),
        ("knows one true point 10 s / 60 s / 10 min away, and that you move like the preset prior", f"costs {each([odds(loss) for loss in point])} ({', '.join(f'{loss / floor:.1f}' for loss in point)} × the floor)", "known"),
        ("the same 10 s / 60 s, and that you move as smoothly as the class allows", f"costs {each([odds(loss) for loss in worst])} ({', '.join(at_least(loss / floor) for loss in worst)} × the floor)", "known"),
        ("believes that you move like somebody else", "not covered; the 99 in 100 are for paths that move as believed (measured below)", "–"),
        ("knows the road, or has a menu of routes and places", "not covered", "not covered"),
        (
            "lays a fleet's releases on one another and so learns the roads",
            "not covered: the constant part of a long release's noise can be told",
            "the same",
        ),
        ("holds a second file of the same days, protected with another state", f"costs {said(odds(2 * document['worst_loss']))}", f"costs {said(odds(2 * document['stay_loss']))}"),
        ("asks about either place, not only in favour of where you were", f"covered: {said(document['odds_99_either_way'])}", "the same"),
        ("coarsens the release first, and picks an event of 1 in 100", f"covered: {said(document['odds_99_after_coarsening'])}", "the same"),
        ("picks the moment after seeing the release", f"not covered; at each moment (ε, δ) = ({document['epsilon']:.3g}, {document['delta_at_epsilon']:.2g}), so N δ over N moments", "the same"),
        ("knows that you tend to turn one way round, a little (ρ = .5) / always (ρ = 1)", f"costs {each([odds(f * document['worst_loss']) for f in (1.25, 2.0)])}; covered with `--turning` ({turning['rms_noise_m']:.0f} m)", "covered: it does not turn"),
        ("knows that you go round and round in 5-minute laps, in step for 15 minutes", f"costs {said(laps_cost(document, 300.0).odds_99)}", "–"),
        ("knows that your north is your east of 150 / 300 / 600 s before (zigzags, streets in a grid)", f"not covered; for one member of the class {each([odds(lagged_loss(noise, lag)) for lag in (150.0, 300.0, 600.0)])}, over the class without limit", "–"),
        ("asks about several moments together (direction, speed, shape)", "not covered", "–"),
        ("holds the state, the seed or the private report", "everything", "everything"),
        ("faces `prior-shaped` noise instead, and you stayed 8 h at one place", "covered only if you move exactly like that prior", f"costs {said(shaped['stay_odds_99'] or 1e99)}"),
    ]  # fmt: skip
    lines = ["| an adversary who | a moment of your path | one place you stay at |", "|---|---|---|"]
    lines += [f"| {who} | {moment} | {place} |" for who, moment, place in rows]
    lines.append("")
    lines.append(
        f"Noise {document['rms_noise_m']:.0f} m per coordinate, worst loss {document['loss_over_floor']:.2f} × the floor. Sharing half of the noise "
        f"among a fleet would make 20 companions {shared['group']:.1f} looks instead of {shared['own']:.0f}, and {shared['known']:.0f} once one other way is known."
    )
    return "\n".join(lines)


def renewed(page: str) -> str:
    """The page with its table computed again."""
    before, rest = page.split(START)
    return f"{before}{START}\n\n{table()}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew docs/adversary.md")
    if parser.parse_args().write:
        PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table())
