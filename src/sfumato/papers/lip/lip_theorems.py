"""Every statement of the supplement on local information privacy, as printed and as corrected, on examples.

[Jiang2021]; the errata E1 to E20 are in docs/errata.md. Random channels (a seeded simulation) look for a violation; a
printed statement that fails is shown with the channel that breaks it.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.panels import Panel
from sfumato.base.numbers.gaussian_quantity import delta_at, hockey_stick
from sfumato.channels.conversions import composition, lip_constants
from sfumato.channels.designs.lip.lip_optimal import optimal_channel
from sfumato.channels.designs.numbers import clamped_laplace
from sfumato.channels.designs.numbers.gaussian_channel import printed_share, smallest_delta
from sfumato.channels.measures import discrete
from sfumato.channels.priors.prior_sets import samples_needed
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
            for name in ("Theorem 5", "Corollary 1", "Corollary 2", "Corollary 4")
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
    to_ldp, to_lip, di, info, maximal, post = [], [], [], [], [], []
    for matrix, prior in trials:
        lip, ldp = discrete.lip(matrix, prior).max, discrete.ldp(matrix)
        to_ldp.append(ldp - lip_constants.lip_to_ldp(lip, float(prior.min())).nats)
        to_lip.append(lip - lip_constants.ldp_to_lip(ldp, float(prior.min())).nats)
        di.append(discrete.differential_identifiability(matrix, prior) - 2 * lip - math.log(prior.max() / prior.min()))
        info.append(discrete.mutual_information(matrix, prior) - lip)
        maximal.append(discrete.maximal_leakage(matrix, prior) - lip)
        post.append(
            discrete.lip(matrix @ np.roll(np.eye(len(prior)), 1, axis=0) * 0.7 + 0.3 / len(prior), prior).max - lip
        )
    ratio = math.exp(discrete.ldp(optimal))
    return [
        _bound("ε-LIP gives min{2ε, ln((e^ε - 1 + p)/p)}-LDP", to_ldp, "Prop. 1 and Thm 1"),
        near("and some channel attains it", math.log(ratio), lip_constants.lip_to_ldp(1.0, 0.2).nats, tolerance=1e-6),
        _bound("ε-LDP gives ln(p + e^ε(1 - p))-LIP", to_lip, "Thm 1"),
        check(
            "the largest likelihood ratio is at most min{2ε, (e^ε - 1 + P)/P}, as printed",
            ratio <= min(2.0, (math.e - 1 + 0.2) / 0.2),
            whose=f"{PAPER}, Thm 2",
            recorded="fails",
            measured=ratio,
            expected=2.0,
            because="a ratio compared with a logarithm: e^(2ε) is meant (E2)",
        ),
        _bound("LIP gives differential identifiability of 2ε + ln(p_max/p_min)", di, "Thm 3"),
        _bound("LIP gives mutual information of at most ε", info, "Thm 3"),
        _bound("LIP gives maximal leakage of at most ε", maximal, "Thm 3"),
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
        _bound("reports about one symbol leak at most ln(p + e^(Σc)(1 - p))", four, "Thm 4, with P(x') outside (E4)"),
        check(
            "leakages do not add up: the optimal channel at ε = 1, reported twice, leaks more than 2",
            twice > 2 and max(sums) > 0,
            measured=twice,
        ),
        check(
            "one report about each step of a chain",
            exact <= five,
            whose=f"{PAPER}, Cor. 5",
            measured=exact,
            expected=five,
        ),
    ]


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
            "the variation up to which knowing the prior helps, as printed (ε = 2, both smallest .2)",
            printed,
            holds,
            tolerance=1e-6,
            whose=f"{PAPER}, Cor. 6",
            recorded="fails",
            because="a ratio compared with logarithms (E15)",
        ),
        check(
            "√(2/n (K - ln β)) bounds the variation of an estimated prior",
            samples_needed(3, 0.2, 0.05, 0.1, method="source") >= samples_needed(3, 0.2, 0.05, 0.1, method="weissman"),
            whose=f"{PAPER}, Cor. 3",
            because="valid, and looser than Weissman's own constant (E16)",
        ),
    ]


def _continuous_claims() -> list[Claim]:
    share = printed_share(1.0, 0.05)
    skewed = np.array([1 / 3 + 0.2, 1 / 3, 1 / 3 - 0.2])
    fits = clamped_laplace.context_aware(np.arange(3.0), skewed, 2.0, calibration="sufficient")
    needed = clamped_laplace.alpha_threshold(skewed, 2.0)
    up, low = fits.leakage()
    e = hockey_stick(0.0, math.sqrt(2), 1.0, 1.0, math.exp(-1))
    far = [delta_at(x, prior_variance=1.0, noise_variance=4.0, epsilon=1.0)[0] for x in (0.0, 2.0, 6.0, 20.0)]
    lower = np.array([1 / 3 + 0.2, 1 / 3, 1 / 3 - 0.2])  # the skewness .4 of Figure 3, at ε = 1
    printed_lower = float((lower.min() + (1 - lower) * math.exp(-1)).min())
    identity = _reverse(0.0, 2.0, 0.5, 1.0) - math.e * hockey_stick(0.0, 2.0, 0.5, 1.0, math.exp(-1))
    return [
        check(
            "truth with probability min{δe^ε, 1 - e^-ε + δe^-ε} keeps (ε, δ) (ε = 1, δ = .05)",
            smallest_delta(share, 1.0) <= 0.05,
            whose=f"{PAPER}, Prop. 2",
            recorded="fails",
            measured=smallest_delta(share, 1.0),
            expected=0.05,
            because=f"its share {share:.4f} publishes the value itself so often (E6)",
        ),
        near(
            "E_γ of two densities and of the reverse", identity, 1 - math.e, tolerance=1e-6, whose=f"{PAPER}, Prop. 3"
        ),
        near(
            "E_γ of two Gaussians where the quadratic has no root is 1 - γ",
            e,
            1 - math.exp(-1),
            tolerance=1e-9,
            because="the case Lemma 4 leaves out (E18)",
        ),
        check(
            "Gaussian noise keeps some (ε, δ) for every set of values",
            far[-1] < 0.99,
            whose=f"{PAPER}, Sec. on Gaussian noise",
            recorded="fails",
            measured=tuple(far),
            because="δ at 0, 2, 6 and 20 standard deviations: it tends to 1 (E19)",
        ),
        check(
            "the corrected conditions of Theorem 6 keep ε exactly",
            max(up, low) <= 2.0,
            measured=max(up, low),
            expected=2.0,
        ),
        check(
            "the printed lower condition admits plain Laplace noise (α = 0), which is ε-LIP",
            printed_lower >= math.exp(-1) and clamped_laplace.sufficient(lower, np.ones(3), 1.0),
            whose=f"{PAPER}, Thm 6",
            recorded="fails",
            measured=printed_lower,
            expected=math.exp(-1),
            because="its left side at ε = 1 with P_min first must reach e^-ε; P(x) is meant (E9)",
        ),
        check(
            "above a threshold α the context-aware noise is smaller everywhere, and that α is feasible",
            (fits.alpha or 0.0) >= needed,
            whose=f"{PAPER}, Thm 6",
            recorded="fails",
            measured=fits.alpha,
            expected=needed,
            because="largest feasible α against the threshold: vacuous except for the uniform prior (E13)",
        ),
    ]


def _reverse(mean_1: float, sd_1: float, mean_2: float, sd_2: float) -> float:
    """E_e(N(mean_2) || N(mean_1)) by integration, for the identity of Proposition 3."""
    y = np.linspace(-40, 40, 400_001)

    def density(mean: float, sd: float) -> FloatArray:
        return np.asarray(np.exp(-((y - mean) ** 2) / (2 * sd * sd)) / (sd * math.sqrt(2 * math.pi)))

    excess = np.maximum(density(mean_2, sd_2) - math.e * density(mean_1, sd_1), 0.0)
    return float(np.sum(excess) * (y[1] - y[0]))


def _bound(words: str, excesses: list[float], place: str) -> Claim:
    worst = max(excesses)
    return check(
        words, worst <= 1e-9, whose=f"{PAPER}, {place}", measured=worst, because="largest excess over the bound, nats"
    )
