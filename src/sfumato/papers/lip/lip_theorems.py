"""Every statement of the supplement on local information privacy, on examples, with what is printed amiss.

[Jiang2021]; what each word before a claim means is in docs/errata.md. Random channels (a seeded simulation) look for a
violation; a printed statement that fails is shown with the channel that breaks it.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.panels import Panel
from sfumato.base.numbers.gaussian_quantity import hockey_stick
from sfumato.channels.conversions import composition, lip_constants
from sfumato.channels.designs.lip.lip_optimal import optimal_channel
from sfumato.channels.designs.numbers import clamped_laplace
from sfumato.channels.designs.numbers.gaussian_channel import printed_share, smallest_delta
from sfumato.channels.measures import discrete
from sfumato.channels.priors.prior_sets import Polytope, samples_needed
from sfumato.papers import Reproduction
from sfumato.papers.claims import Claim, cannot_check, check, near
from sfumato.papers.picture import Picture

PRIOR = np.array([0.5, 0.3, 0.2])
PAPER = "Jiang2021"


def run(*, quick: bool = False) -> Reproduction:
    """All statements on ``quick`` 50, else 500 random channels."""
    rng = np.random.default_rng(0)
    trials = [_random(rng) for _ in range(50 if quick else 500)]
    optimal = optimal_channel(PRIOR, discrete.hamming(3), 1.0).value.channel
    claims = [
        *_conversion_claims(trials, optimal.matrix),
        *_composition_claims(trials, optimal.matrix),
        *_mismatch_claims(trials),
        *_continuous_claims(),
        *(
            cannot_check(
                name, whose=f"{PAPER}, {name}", because="its proof is not in the supplement, the only text we have"
            )
            for name in ("Thm 5", "Cor. 1, 2, 4")
        ),
    ]
    epsilons = np.linspace(0.1, 3, 30)
    tight = np.array([lip_constants.lip_to_ldp(float(e), 0.2).nats for e in epsilons])
    back = np.array([lip_constants.ldp_to_lip(float(e), 0.2).nats for e in epsilons])
    lines = {"LIP to LDP": tight, "LDP to LIP": back, "twice": 2 * epsilons}
    rows = [
        {"epsilon": float(e), "LIP gives LDP": float(t), "LDP gives LIP": float(b)}
        for e, t, b in zip(epsilons[::6], tight[::6], back[::6], strict=True)
    ]
    return Reproduction(
        name="lip-theorems",
        title="The statements of local information privacy, as printed and as corrected",
        tables={"Proposition 1, smallest probability .2": rows},
        claims=claims,
        picture=Picture([Panel("Proposition 1", epsilons, lines, "epsilon", "nats")]),
        notes=(f"{len(trials)} random channels and priors, seeded.",),
    )


Trial = tuple[FloatArray, FloatArray]


def _random(rng: np.random.Generator) -> Trial:
    size = int(rng.integers(2, 6))
    prior = rng.dirichlet(np.ones(size)) * 0.95 + 0.05 / size
    return rng.dirichlet(np.ones(size) * rng.uniform(0.5, 4), size=size) * 0.9 + 0.1 / size, prior


def _conversion_claims(trials: list[Trial], optimal: FloatArray) -> list[Claim]:
    to_ldp, to_lip, di, info, maximal, post, within = [], [], [], [], [], [], []
    for matrix, prior in trials:
        lip, ldp = discrete.lip(matrix, prior).max, discrete.ldp(matrix)
        to_ldp.append(ldp - lip_constants.lip_to_ldp(lip, float(prior.min())).nats)
        to_lip.append(lip - lip_constants.ldp_to_lip(ldp, float(prior.min())).nats)
        di.append(discrete.differential_identifiability(matrix, prior) - 2 * lip - math.log(prior.max() / prior.min()))
        within.append(float(np.abs(np.log(matrix / (prior @ matrix))).max()) - lip)
        info.append(discrete.mutual_information(matrix, prior) - lip)
        maximal.append(discrete.maximal_leakage(matrix, prior) - lip)
        post.append(
            discrete.lip(matrix @ np.roll(np.eye(len(prior)), 1, axis=0) * 0.7 + 0.3 / len(prior), prior).max - lip
        )
    hand = float(np.abs(np.log(optimal / (PRIOR @ optimal))).max())
    ratio = math.exp(discrete.ldp(optimal))
    over_set = lip_constants.bounded_lip_to_ldp(1.0, Polytope(np.array([PRIOR, [0.6, 0.2, 0.2]]))).nats
    return [
        *(_bound("ε-LIP gives min{2ε, ln((e^ε - 1 + p)/p)}-LDP", to_ldp, place) for place in ("Prop. 1", "Eq. 11")),
        near(
            "and some channel attains it",
            math.log(ratio),
            lip_constants.lip_to_ldp(1.0, 0.2).nats,
            tolerance=1e-6,
            whose=f"{PAPER}, Thm 1",
        ),
        _bound("ε-LDP gives ln(p + e^ε(1 - p))-LIP", to_lip, "Prop. 1"),
        check(
            "the largest likelihood ratio over a set of priors is at most min{e^(2ε), (e^ε - 1 + P)/P} (ε = 1)",
            ratio <= math.exp(over_set) * (1 + 1e-9),
            whose=f"{PAPER}, Thm 2",
            measured=ratio,
            expected=math.exp(over_set),
            because="to the letter 2ε = 2: a ratio beside a logarithm",
        ),
        near(
            "the leakage is the largest log lift, either way",
            discrete.lip(optimal, PRIOR).max,
            hand,
            tolerance=1e-9,
            whose=f"{PAPER}, LIP",
        ),
        _bound("LIP gives differential identifiability of 2ε + ln(p_max/p_min)", di, "Thm 3, DI"),
        _bound("LIP gives mutual information of at most ε", info, "Thm 3, MIP"),
        _bound("every joint probability is within e^±ε of the product (x in X, y in Y)", within, "Eq. 21"),
        _bound("LIP gives maximal leakage of at most ε", maximal, "Thm 3, MIL"),
        _bound("post-processing never raises the leakage", post, "Lemma 1"),
    ]


def _composition_claims(trials: list[Trial], optimal: FloatArray) -> list[Claim]:
    four, sums = [], []
    for matrix, prior in trials:
        lip = discrete.lip(matrix, prior).max
        both = composition.together([matrix, matrix], prior).max
        four.append(both - composition.source_theorem_4([lip, lip], float(prior.min())))
        sums.append(both - 2 * lip)
    twice = composition.together([optimal, optimal], PRIOR).max
    binary = np.array([[0.7, 0.3], [0.3, 0.7]])
    moves = np.array([[0.9, 0.1], [0.15, 0.85]])
    exact, smallest = composition.sequence_leakage([binary] * 3, [0.6, 0.4], moves)
    first, each = np.array([0.6, 0.4]), []
    for _ in range(3):
        each.append((discrete.lip(binary, first).max, float(first.min())))
        first = first @ moves
    five = composition.sequence_bound([e for e, _ in each], [p for _, p in each], smallest)
    return [
        _bound("reports about one symbol leak at most ln(p + e^(Σc)(1 - p))", four, "Thm 4"),
        check(
            "leakages do not add up: the optimal channel at ε = 1, reported twice, leaks more than 2",
            twice > 2 and max(sums) > 0,
            measured=twice,
            because="prior .5, .3, .2; with the prior in each factor, as App. F prints it, "
            f"{_printed_theorem_4(optimal):.2f}",
        ),
        check(
            "one report about each step of a chain",
            exact <= five,
            whose=f"{PAPER}, Cor. 5",
            measured=exact,
            expected=five,
        ),
    ]


def _printed_theorem_4(optimal: FloatArray) -> float:
    """The leakage of two reports of one channel if P(x') stood in each factor of the product, as printed in App. F."""
    worst = 0.0
    for x in range(3):
        others = [other for other in range(3) if other != x]
        for y, z in np.ndindex(optimal.shape[1], optimal.shape[1]):
            ratios = [optimal[o, y] * optimal[o, z] * PRIOR[o] ** 2 / (optimal[x, y] * optimal[x, z]) for o in others]
            worst = max(worst, abs(math.log(PRIOR[x] + sum(ratios))))
    return worst


def _mismatch_claims(trials: list[Trial]) -> list[Claim]:
    rng = np.random.default_rng(1)
    off, mixed = [], []
    for matrix, prior in trials:
        other = 0.7 * prior + 0.3 * rng.dirichlet(np.ones(prior.size))
        change = abs(discrete.lip(matrix, prior).max - discrete.lip(matrix, other).max)
        off.append(change - lip_constants.mismatch_overhead(prior, other)[0])
        least = max(discrete.lip(matrix, prior).max, discrete.lip(matrix, other).max)
        mixed.append(discrete.lip(matrix, 0.5 * prior + 0.5 * other).max - least)
    epsilon, p1, p2 = 2.0, 0.2, 0.2
    ratio = (math.exp(epsilon) - 1 + p1) / p1
    printed = min(p1, p2) * (math.exp(min(epsilon, ratio - epsilon)) - 1)
    holds = lip_constants.largest_useful_variation(epsilon, p1, p2)
    return [
        _bound("the leakage under another prior differs by at most ln(1 + TV/p)", off, "Lemma 3"),
        _bound("what holds for two priors holds for their mixtures", mixed, "Lemma 2"),
        near(
            "over a set of two priors the leakage is the larger of theirs",
            discrete.lip_over_set(matrix, Polytope(np.array([prior, other]))).max,
            least,
            tolerance=1e-9,
            whose=f"{PAPER}, Lemma 2",
        ),
        near(
            "the variation up to which knowing the prior helps, as printed (ε = 2, both smallest .2)",
            printed,
            holds,
            tolerance=1e-6,
            whose=f"{PAPER}, Cor. 6",
            because="a ratio compared with logarithms",
        ),
        check(
            "√(2/n (K - ln β)) bounds the variation of an estimated prior",
            samples_needed(3, 0.2, 0.05, 0.1, method="source") >= samples_needed(3, 0.2, 0.05, 0.1, method="weissman"),
            whose=f"{PAPER}, Cor. 3",
            because="valid, and looser than Weissman's own constant",
        ),
    ]


def _continuous_claims() -> list[Claim]:
    share = printed_share(1.0, 0.05)
    skewed, skewed_3 = (np.array([1 / 3 + s, 1 / 3, 1 / 3 - s]) for s in (0.2, 0.1))
    fits = clamped_laplace.context_aware(np.arange(3.0), skewed, 2.0, calibration="sufficient")
    needed = clamped_laplace.alpha_threshold(skewed, 2.0)
    up, low = fits.leakage()
    e = hockey_stick(0.0, math.sqrt(2), 1.0, 1.0, math.exp(-1))
    identity = _reverse(0.0, 2.0, 0.5, 1.0) - math.e * hockey_stick(0.0, 2.0, 0.5, 1.0, math.exp(-1))
    refused, decided = _conditions_of_theorem_6(300)
    without = np.arange(2.0, 2.4, 0.005)
    most_without = max(b for b in without if clamped_laplace.sufficient(skewed_3, np.full(3, b), 2.0))
    masses = np.linspace(0, 1, 1001)
    upper_38 = np.e * (masses + 0.05) - (share + (1 - share) * masses)
    lower_38 = (1 - share) * masses - np.exp(-1) * (masses - 0.05)
    beta, mean_scale, at_epsilon = _grid_search(skewed_3)
    return [
        *(
            check(
                "truth with probability min{δe^ε, 1 - e^-ε + δe^-ε} keeps (38) for every set (ε = 1, δ = .05)",
                float(min(upper_38.min(), lower_38.min())) >= -1e-12,
                whose=f"{PAPER}, {place}",
                measured=float(min(upper_38.min(), lower_38.min())),
                because="least slack of its two sides over Pr(Y in S_y); the upper grows with it",
            )
            for place in ("Prop. 2", "Prop. 2, monotone")
        ),
        cannot_check(
            "(ε, δ)-LIP has δ inside, as (38), or outside, as App. E",
            whose=f"{PAPER}, Eq. 38",
            because="the definition is in the main paper; with δ outside that share has "
            f"δ = {smallest_delta(share, 1.0):.3f} instead of .05",
        ),
        near(
            "E_γ of two densities and of the reverse", identity, 1 - math.e, tolerance=1e-6, whose=f"{PAPER}, Prop. 3"
        ),
        check(
            "the quadratic always has its roots (σ² = 2 and 1, equal means, γ = 1/e)",
            2 * (2 - 1) * math.log(math.exp(-1) * math.sqrt(2)) >= 0,
            whose=f"{PAPER}, Lemma 4",
            measured=2 * (2 - 1) * math.log(math.exp(-1) * math.sqrt(2)),
            expected=0.0,
            because=f"B is negative; then E_γ = 1 - γ = {e:.3f}",
        ),
        near(
            "the region of two roots: E_γ by its formula and by integration (means 0 and .5, sd 2 and 1, γ = 1)",
            hockey_stick(0.0, 2.0, 0.5, 1.0, 1.0),
            _excess(0.0, 2.0, 0.5, 1.0, 1.0),
            tolerance=1e-5,
            whose=f"{PAPER}, Fig. 1",
        ),
        check("the corrected conditions of Theorem 6 keep ε exactly", max(up, low) <= 2.0, measured=max(up, low)),
        *(
            check(
                "what the conditions with P_min accept keeps ε: the lower one decides (300 random priors)",
                decided == 0,
                whose=f"{PAPER}, {place}",
                measured=decided,
            )
            for place in ("Thm 6, upper", "Thm 6, typo")
        ),
        check(
            "the lower condition with P_min is sufficient, and refuses every α for many priors",
            refused > 100,
            whose=f"{PAPER}, Thm 6, lower",
            measured=refused,
            because="of 300 random priors and ε, at β = ε, plain Laplace noise among what is refused",
        ),
        cannot_check(
            "the grid search finds β close to ε",
            whose=f"{PAPER}, App. L, grid search",
            because=f"what it minimised is not said: the least mean scale is {mean_scale:.3f} at β = {beta:.2f} for "
            f"ε = 2 ({at_epsilon:.3f} at β = ε); at α = 0 β may be up to {most_without:.2f}",
        ),
        check(
            "from a threshold α on the context-aware noise is smaller everywhere; no α that large is allowed",
            bool(
                np.all(needed * skewed + 2.0 >= lip_constants.ldp_budget_for_lip(2.0, float(skewed.min())).nats - 1e-9)
            )
            and (fits.alpha or 0.0) < needed,
            whose=f"{PAPER}, Thm 6, claim",
            measured=fits.alpha,
            expected=needed,
            because="largest α that the conditions allow, and the threshold",
        ),
    ]


def _conditions_of_theorem_6(count: int) -> tuple[int, int]:
    """(priors that the printed lower condition refuses for every α, priors accepted that leak more than ε), seeded."""
    rng = np.random.default_rng(0)
    refused = leaked = 0
    for _ in range(count):
        prior, epsilon = rng.dirichlet(np.ones(int(rng.integers(2, 6)))), rng.uniform(0.1, 4)
        accepted = [
            rates for a in np.linspace(0, 6, 31) if printed_conditions(prior, rates := a * prior + epsilon, epsilon)
        ]
        refused += not accepted
        values = np.arange(float(prior.size))
        leaks = [max(clamped_laplace.exact_leakage(values, prior, np.ptp(values) / rates)) for rates in accepted]
        leaked += any(leak > epsilon + 1e-9 for leak in leaks)
    return refused, leaked


def printed_conditions(prior: FloatArray, rates: FloatArray, epsilon: float) -> bool:
    """Both conditions of Theorem 6 as printed, with P_min first, for rates d(x) = ΔX/b(x)."""
    others = prior[None, :] * ~np.eye(prior.size, dtype=bool) * rates[None, :] / rates[:, None]
    above, below = others.sum(axis=1) * np.exp(rates), (others * np.exp(-rates)[None, :]).sum(axis=1)
    least = float(prior.min())
    return bool(least + above.max() <= math.exp(epsilon) + 1e-12 and least + below.min() >= math.exp(-epsilon) - 1e-12)


def _grid_search(prior: FloatArray, epsilon: float = 2.0) -> tuple[float, float, float]:
    """(β of the least mean scale, that scale, the least at β = ε) under the corrected conditions."""
    found = [
        (float(prior @ (1 / (a * prior + b))), float(b))
        for a in np.linspace(0, 3, 61)
        for b in np.linspace(1, 2.4, 57)
        if clamped_laplace.sufficient(prior, a * prior + b, epsilon)
    ]
    scale, beta = min(found)
    return beta, scale, min(s for s, b in found if abs(b - epsilon) < 1e-9)


def _reverse(mean_1: float, sd_1: float, mean_2: float, sd_2: float) -> float:
    """E_e(N(mean_2) || N(mean_1)), for the identity of Proposition 3."""
    return _excess(mean_2, sd_2, mean_1, sd_1, math.e)


def _excess(mean_1: float, sd_1: float, mean_2: float, sd_2: float, gamma: float) -> float:
    """E_γ(N(mean_1) || N(mean_2)) by integration."""
    y = np.linspace(-40, 40, 400_001)

    def density(mean: float, sd: float) -> FloatArray:
        return np.asarray(np.exp(-((y - mean) ** 2) / (2 * sd * sd)) / (sd * math.sqrt(2 * math.pi)))

    excess = np.maximum(density(mean_1, sd_1) - gamma * density(mean_2, sd_2), 0.0)
    return float(np.sum(excess) * (y[1] - y[0]))


def _bound(words: str, excesses: list[float], place: str) -> Claim:
    worst = max(excesses)
    return check(
        words, worst <= 1e-9, whose=f"{PAPER}, {place}", measured=worst, because="largest excess over the bound, nats"
    )
