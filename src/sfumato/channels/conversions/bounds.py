"""Single bounds from one measure to another, each a formula with its source; :mod:`.routes` chains them.

Every function is monotone, accepts 0 and infinity, and keeps its digits for small arguments (log1p, expm1).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import erfinv, ndtri, ndtri_exp
from scipy.stats import binom

from sfumato.base.arrays import from_zero, inside_one, positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import epsilon_at
from sfumato.base.things.channel import checked_probabilities
from sfumato.channels.priors.excess import excess

MOST_SYMBOLS = 10_000_000
_CUT = 1e-20
_ROUNDING = 1e-9
"""Relative allowance for the binomial tails, added to delta."""
MOST_PEOPLE = 10**12


def renyi_of_ldp(epsilon: float, order: float) -> float:
    """eps-LDP gives D_a <= ln[(sinh(a eps) - sinh((a-1) eps)) / sinh eps] / (a - 1); randomized response attains it.

    With w = e^eps / (1 + e^eps): ln[w e^((a-1) eps) + (1-w) e^(-(a-1) eps)] / (a-1); at order 1 eps tanh(eps / 2).
    """
    if epsilon == 0 or math.isinf(order):
        return epsilon
    if math.isinf(epsilon):
        return math.inf if order >= 1 else order / (1 - order) * math.inf
    if order == 1:
        return epsilon * math.tanh(epsilon / 2)
    power = (order - 1) * epsilon
    heads, tails = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(min(epsilon, 700.0)))
    if abs(power) < 1:  # heads e^power + tails e^-power - 1
        moved = math.tanh(epsilon / 2) * math.sinh(power) + 2 * math.sinh(power / 2) ** 2
        return max(0.0, math.log1p(moved) / (order - 1))
    up, down = math.log(heads) + power, math.log(tails) - power if tails > 0 else -math.inf
    top = max(up, down)
    return max(0.0, (top + math.log(math.exp(up - top) + math.exp(down - top))) / (order - 1))


def approximate_of_ldp(epsilon: float, delta: float) -> float:
    """eps-LDP (or eps-LIP) gives (eps', delta) with eps' = ln(e^eps - delta (1 + e^eps)), at least 0; attained."""
    _checked_delta(delta)
    if math.isinf(epsilon):
        return math.inf if delta < 1 else 0.0
    share = delta * (1 + math.exp(-min(epsilon, 700.0)))
    return max(0.0, epsilon + math.log1p(-share)) if share < 1 else 0.0


def approximate_of_renyi(divergence: float, order: float, delta: float) -> float:
    """(order, D)-Rényi gives eps = D + ln((a-1)/a) - (ln delta + ln a) / (a - 1) [Canonne2020, Prop. 12]."""
    _checked_delta(delta)
    if delta == 0 or math.isinf(divergence):
        return divergence if math.isinf(order) else math.inf
    if math.isinf(order):
        return divergence
    if order <= 1:
        return math.inf
    value = divergence + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
    return max(0.0, value)


def variation_of_approximate(epsilon: float, delta: float) -> float:
    """(eps, delta)-LDP gives total variation (e^eps - 1 + 2 delta) / (e^eps + 1) [Kairouz2016]; attained."""
    _checked_delta(delta)
    if math.isinf(epsilon):
        return 1.0
    return min(1.0, math.tanh(epsilon / 2) + 2 * delta / (1 + math.exp(min(epsilon, 700.0))))


def gaussian_of_ldp(epsilon: float) -> float:
    """eps-LDP gives mu = 2 Phi^-1(e^eps / (1 + e^eps)): the curve's corner; attained at that point."""
    if math.isinf(from_zero(epsilon, "epsilon")):
        return math.inf
    if epsilon > 30:
        return float(-2 * ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon))))
    if epsilon < 1:  # 2 Phi(mu/2) - 1 = tanh(eps/2), and nothing cancels
        return float(2 * math.sqrt(2) * erfinv(math.tanh(epsilon / 2)))
    return float(-2 * ndtri(1 / (1 + math.exp(epsilon))))


def variation_of_gaussian(mu: float) -> float:
    """mu-GDP gives total variation 2 Phi(mu / 2) - 1; attained by two normals."""
    return math.erf(from_zero(mu, "mu") / (2 * math.sqrt(2)))


def approximate_of_gaussian(mu: float, delta: float) -> float:
    """The eps of mu-GDP at delta: the profile [Dong2022, Cor. 2.13] inverted, rounded up."""
    _checked_delta(delta)
    if mu == 0 or delta == 1:
        return 0.0
    return math.inf if delta == 0 else epsilon_at(delta, mu)


def maximal_leakage_of_ldp(epsilon: float, symbols: int) -> float:
    """eps-LDP over n symbols gives ln(n e^eps / (e^eps + n - 1)); randomized response attains it."""
    n = _whole(symbols, "symbols")
    if math.isinf(from_zero(epsilon, "epsilon")):
        return math.log(n)
    return min(epsilon, math.log(n), max(0.0, -math.log1p((n - 1) / n * math.expm1(-epsilon))))


def capacity_of_ldp(epsilon: float, symbols: int) -> float:
    """The largest capacity of an eps-LDP channel over n symbols: subsets of k, at the best k [Kairouz2016].

    max_k [k e ln(n e / s) + (n-k) ln(n / s)] / s, s = k e + n - k, e = e^eps. Proof: revealing which permutation of
    the symbols was applied keeps LDP and averages any prior to the uniform one; then staircase patterns are extremal.
    """
    n = _whole(symbols, "symbols")
    if n > MOST_SYMBOLS:
        raise InputError(f"{n} subset sizes are too many to compare.", f"Give at most {MOST_SYMBOLS} symbols.")
    if from_zero(epsilon, "epsilon") > 700:
        return math.log(n)
    share = np.arange(1, n, dtype=np.float64) / n
    more = math.expm1(epsilon)
    # lifts 1 + u with mean 1: the information is the mean of (1+u) ln(1+u) - u, and no term is negative
    high, low = (1 - share) * more / (1 + share * more), -share * more / (1 + share * more)
    values = share * excess(high) + (1 - share) * excess(low)
    return max(0.0, float(values.max(initial=0.0)))


def vulnerability_of_ldp(epsilon: float, prior: npt.ArrayLike) -> float:
    """The best guess after an eps-LDP report: max_k e^eps / (e^eps + k - 1) sum of the k likeliest [Ghazi2021]."""
    p = np.sort(checked_probabilities(prior))[::-1]
    if from_zero(epsilon, "epsilon") > 700:
        return 1.0
    k = np.arange(1, p.size + 1)
    return float(min(1.0, (np.cumsum(p) / (1 + (k - 1) * math.exp(-epsilon))).max()))


def lip_of_rise(up: float, smallest: float) -> float:
    """Beliefs rise at most by e^u: then they fall at most to (1 - e^u (1 - p)) / p; infinite from u = -ln(1 - p) on."""
    p, up = _probability(smallest), from_zero(up, "The rise")
    left = 1 - math.exp(min(up, 700.0)) * (1 - p)
    if left <= 0 or math.isinf(up):
        return math.inf
    return max(up, -math.log1p(-math.expm1(up) * (1 - p) / p))


def lip_of_fall(low: float, smallest: float) -> float:
    """Beliefs fall at most by e^-l: then they rise at most to (1 - e^-l (1 - p)) / p."""
    p, low = _probability(smallest), from_zero(low, "The fall")
    return max(low, math.log1p(-math.expm1(-low) * (1 - p) / p))


def vulnerability_of_information(information: float, prior: npt.ArrayLike) -> float:
    """Fano: H(X) - I <= h(e) + e ln(n - 1) for the error e of any guess; 1 minus the least such e."""
    p = checked_probabilities(prior)
    p = p[p > 0]
    n = p.size
    if n == 1:
        return 1.0
    left = float(-(p * np.log(p)).sum()) - information
    low, high = 0.0, 1 - 1 / n
    if left <= 0 or math.isinf(information):
        return 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        room = -middle * math.log(middle) - (1 - middle) * math.log1p(-middle) + middle * math.log(n - 1)
        low, high = (middle, high) if room < left else (low, middle)
    return min(1.0, max(1 - low, float(p.max())))


def vulnerability_of_variation(variation: float, prior: npt.ArrayLike) -> float:
    """Bayes risk falls at most by the factor 1 - TV [Chatzikokolakis2023]: V <= 1 - (1 - TV)(1 - max p)."""
    p = checked_probabilities(prior)
    return min(1.0, 1 - (1 - min(1.0, variation)) * (1 - float(p.max())))


def guesses_of_vulnerability(vulnerability: float) -> float:
    """E[guesses] >= (1 + 1 / V) / 2: with probability at most V for each, the first 1/V are all needed."""
    if vulnerability <= 0:
        return math.inf
    return (1 + 1 / min(1.0, vulnerability)) / 2


def _checked_delta(delta: float) -> None:
    if not 0 <= delta <= 1:
        raise InputError(f"delta is {delta}.", "It lies between 0 and 1.")


def _whole(count: int, what: str, most: float = math.inf) -> int:
    if isinstance(count, bool) or int(count) != count or not 1 <= count <= most:
        raise InputError(f"There are {count} {what}.", "Give a whole number of at least 1.")
    return int(count)


def _probability(p: float) -> float:
    if not 0 < p <= 1:
        raise InputError(f"The smallest prior probability is {p}.", "It lies in (0, 1].")
    return float(p)


def shuffled_delta(local_epsilon: float, people: int, epsilon: float) -> float:
    """An upper bound on the delta of (epsilon, delta)-DP of n shuffled reports; 0 from the local epsilon on.

    People report with an eps0-LDP randomizer and somebody trusted forgets who sent what. delta(eps) is at most the
    hockey-stick divergence between (A + D, C - A + 1 - D) and (A + 1 - D, C - A + D), where C ~ Bin(n - 1, e^-eps0),
    A ~ Bin(C, 1/2), D ~ Bern(e^eps0 / (1 + e^eps0)) [Feldman2021, Thm 3.2]: computed here, not its closed form. Given
    C = c the likelihood ratio grows with A, so each term is two binomial tails. Tails of C cut off are added.
    """
    eps0 = positive(local_epsilon, "local_epsilon", at_most=100.0)
    n = _whole(people, "people", MOST_PEOPLE)
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise InputError(f"epsilon is {epsilon}.", "It must be a finite number of at least 0.")
    if epsilon >= eps0:
        return 0.0
    clone = math.exp(-eps0)
    low, high = int(binom.ppf(_CUT, n - 1, clone)), int(binom.isf(_CUT, n - 1, clone))
    width = high - low + 1
    step = max(1, width // 4_000)
    c = np.arange(max(0, low), high + step, step)  # every c, or groups of them at their worst (smallest) member
    upto = binom.cdf(np.minimum(c + step - 1, n - 1), n - 1, clone)
    weight = np.diff(upto, prepend=float(binom.cdf(c[0] - 1, n - 1, clone)) if c[0] > 0 else 0.0)
    # w - e^eps (1 - w) and e^eps w - (1 - w), w = e^eps0 / (1 + e^eps0), without cancellation
    more = -math.expm1(epsilon - eps0) / (1 + math.exp(-eps0))
    less = math.exp(epsilon) * -math.expm1(-eps0 - epsilon) / (1 + math.exp(-eps0))
    start = np.floor(less * (c + 1) / (more + less)) + 1
    first = more * binom.sf(start - 2, c, 0.5)
    second = less * binom.sf(start - 1, c, 0.5)
    each = np.maximum(first - second, 0.0) + _ROUNDING * first
    return min(1.0, float(weight @ each) + 2 * _CUT + 1e-15 * float(np.asarray(first).max(initial=0.0)))


def shuffled_epsilon(local_epsilon: float, people: int, delta: float) -> float:
    """The smallest epsilon (to 1e-6, rounded up) with ``shuffled_delta <= delta``; never above the local epsilon."""
    eps0 = positive(local_epsilon, "local_epsilon", at_most=100.0)
    inside_one(delta, "delta")
    low, high = 0.0, eps0
    if shuffled_delta(eps0, people, 0.0) <= delta:
        return 0.0
    while high - low > 1e-6 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if shuffled_delta(eps0, people, middle) > delta else (low, middle)
    return high
