"""The notions of privacy this package measures, by the names its tables and JSON use, each in one line of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sfumato.base.errors import InputError

Group = Literal["every prior", "one prior", "a guess", "the average", "graded by distance", "a trusted mixer"]


@dataclass(frozen=True, slots=True)
class Notion:
    """``key`` as in JSON, a name, what it bounds, for whom, and the unit; ``parameter`` names what fixes it further."""

    key: str
    name: str
    bounds: str
    group: Group
    unit: str = "nats"
    parameter: str = ""
    larger_is_worse: bool = True


_ALL = (
    Notion("ldp", "local differential privacy", "how much better any input explains a report than any other",
           "every prior"),
    Notion("approximate_ldp", "(ε, δ)-LDP", "the same, except with probability δ", "every prior", parameter="delta"),
    Notion("renyi_ldp", "Rényi LDP", "the Rényi divergence between the reports of two inputs", "every prior",
           parameter="order"),
    Notion("gaussian_ldp", "Gaussian LDP (f-LDP)", "telling two inputs apart, as hard as two normals μ apart",
           "every prior", unit="standard deviations"),
    Notion("total_variation", "total variation", "the advantage in telling two inputs apart", "every prior",
           unit="probability"),
    Notion("alpha_beta_leakage", "maximal (α, β)-leakage", "between maximal leakage and LDP, by two orders",
           "every prior", parameter="order, second_order"),
    Notion("geo_epsilon_per_m", "geo-indistinguishability", "LDP per metre: near places look alike",
           "graded by distance", unit="nats per metre"),
    Notion("lip", "local information privacy", "how far a report moves the belief in any symbol", "one prior"),
    Notion("pointwise_maximal_leakage", "pointwise maximal leakage", "how far a report raises a belief (LIP, up)",
           "one prior"),
    Notion("lip_low", "pointwise maximal cost", "how far a report lowers a belief (LIP, low)", "one prior"),
    Notion("lip_delta", "(ε, δ)-LIP", "LIP, except with probability δ", "one prior", parameter="delta"),
    Notion("di", "differential identifiability", "how unequal the belief in two symbols may become", "one prior"),
    Notion("maximal_leakage", "maximal leakage", "the gain in guessing any function of the symbol, on average",
           "the average"),
    Notion("maximal_alpha_leakage", "maximal α-leakage", "the same for an adversary of order α", "the average",
           parameter="order"),
    Notion("capacity", "Shannon capacity", "what reports tell on average, whatever the prior", "the average"),
    Notion("sibson_information", "Sibson's information", "what reports tell, of order α", "the average",
           parameter="order"),
    Notion("alpha_leakage", "α-leakage", "the gain of an adversary of order α about the symbol", "the average",
           parameter="order"),
    Notion("mutual_information_nats", "mutual information", "what reports tell on average", "the average"),
    Notion("g_leakage", "g-leakage, any gain of at least 0", "the factor by which reports help any adversary",
           "a guess"),
    Notion("min_entropy_leakage", "min-entropy leakage", "the factor by which reports help one guess", "a guess"),
    Notion("bayes_vulnerability", "Bayes vulnerability", "how often the best guess is right (1 - Bayes risk)",
           "a guess", unit="probability"),
    Notion("guessing_entropy", "guessing entropy", "how many guesses it takes on average", "a guess", unit="guesses",
           larger_is_worse=False),
    Notion("shuffled_epsilon", "central (ε, δ)-DP of shuffled reports", "one person's part in all reports",
           "a trusted mixer", parameter="delta, people"),
)  # fmt: skip

NOTIONS: dict[str, Notion] = {notion.key: notion for notion in _ALL}


def notion(key: str) -> Notion:
    """The notion of that key."""
    if key not in NOTIONS:
        raise InputError(f"There is no notion '{key}'.", f"Use one of: {', '.join(NOTIONS)}.")
    return NOTIONS[key]
