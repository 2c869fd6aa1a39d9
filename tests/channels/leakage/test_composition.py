"""Several reports: published worst cases, the refusal to add, and the accountant whose total is the sum."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from lip_channels import random_lip_channel

from sfumato.base.errors import BudgetExceeded, InputError
from sfumato.base.things.channel import Channel
from sfumato.channels.conversions import composition as k
from sfumato.channels.designs.lip.closed_forms import binary_channel, resampling_channel
from sfumato.channels.designs.lip.lip_optimal import optimal_channel
from sfumato.channels.measures import discrete as d
from sfumato.channels.posterior_accountant import PosteriorAdaptive

TABLE = [
    ((0.5, 0.3, 0.2), (0.5, 0.5), 1.810130, 1.185386, 1.185386),
    ((0.5, 0.3, 0.2), (1, 1), 3.781425, 2.658734, 2.658734),
    ((0.5, 0.3, 0.2), (1, 1, 1), 5.777476, 4.522319, 4.522319),
    ((0.4, 0.3, 0.2, 0.1), (0.5, 0.5), 1.909565, 1.212152, 1.208823),
    ((0.25, 0.25, 0.25, 0.25), (1, 1), 3.718405, 2.687858, 2.687858),
    ((0.7, 0.3), (1, 1), 3.465188, 2.658734, 2.658734),
    ((0.9, 0.1), (1, 1), 3.896672, 2.043440, 0.0),
]


@pytest.mark.parametrize(("prior", "epsilons", "theorem", "worst", "actual"), TABLE)
def test_the_published_compositions(
    prior: tuple[float, ...], epsilons: tuple[float, ...], theorem: float, worst: float, actual: float
) -> None:
    assert k.source_theorem_4(epsilons, min(prior)) == pytest.approx(theorem, abs=1e-6)
    assert k.worst_together(epsilons, prior) == pytest.approx(worst, abs=1e-6)
    channel = optimal_channel(prior, d.hamming(len(prior)), epsilons[0]).value.channel
    found = k.together([channel] * len(epsilons), prior).max
    if len(set(prior)) > 1:  # with equal symbols the optimum is not unique, so its second use is not either
        assert found == pytest.approx(actual, abs=1e-6)
    assert found <= k.worst_together(epsilons, prior) + 1e-9 <= k.composed_bound(epsilons, prior) + 2e-9
    assert k.composed_bound(epsilons, prior) <= theorem + 1e-6


def test_the_binary_channel_twice_has_the_published_leakage() -> None:
    channel = binary_channel(0.1, 1).channel
    assert k.together([channel, channel], [0.9, 0.1]).max == pytest.approx(2.043440, abs=1e-6)
    assert k.composed_bound((1, 1), [0.9, 0.1]) < 3.896672  # two symbols: the sharper ratio


def test_adding_is_wrong() -> None:
    rng = np.random.default_rng(0)
    broken = 0
    for _ in range(60):
        p = rng.dirichlet(np.ones(3) * 2)
        first, second = (random_lip_channel(p, 0.7, rng) for _ in range(2))
        together = k.together([first, second], p).max
        assert together <= k.worst_together((0.7, 0.7), p) + 1e-9
        broken += together > d.lip(first, p).max + d.lip(second, p).max + 1e-9
    assert broken > 10


def test_the_same_output_twice_leaks_more_than_twice_by_the_variance_of_its_lift() -> None:
    channel = optimal_channel([0.5, 0.3, 0.2], d.hamming(3), 1).value.channel
    p = np.array([0.5, 0.3, 0.2])
    r = d.lift(channel, p)
    y = int(np.argmin(r.min(axis=0)))
    variance = float(p @ r[:, y] ** 2 - 1)
    assert -math.log((r[:, y] ** 2 / (1 + variance)).min()) == pytest.approx(2.0 + math.log1p(variance), abs=1e-6)


def test_the_printed_product_of_theorem_4_is_wrong() -> None:
    """E4: with P(x') inside the product the expression is not the leakage; P(x') prod LR is."""
    p = np.array([0.5, 0.3, 0.2])
    q = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
    x, y = 1, (0, 0)
    ratio = q[:, y[0]] * q[:, y[1]] / (q[x, y[0]] * q[x, y[1]])
    right, printed = float(p @ ratio), float((p**2) @ ratio)
    exact = float((p @ (q[:, y[0]] * q[:, y[1]])) / (q[x, y[0]] * q[x, y[1]]))
    assert right == pytest.approx(exact, rel=1e-12)
    assert abs(printed - exact) > 0.1


@pytest.mark.says("Jiang2021, Cor. 5", "typo")
def test_the_published_markov_chain() -> None:
    channel = binary_channel(0.4, 0.7).channel
    exact, smallest = k.sequence_leakage([channel] * 3, [0.6, 0.4], [[0.9, 0.1], [0.15, 0.85]])
    assert exact == pytest.approx(2.708602, abs=1e-6)
    assert k.sequence_bound([0.7] * 3, [0.4] * 3, smallest) == pytest.approx(3.781734, abs=1e-6)
    independent, _ = k.sequence_leakage([channel] * 3, [0.6, 0.4], [[0.6, 0.4], [0.6, 0.4]])
    assert independent == pytest.approx(2.1, abs=1e-6)
    assert k.sequence_bound([0.7] * 3, [0.4] * 3, 0.0) >= 3.781734


def exhaust(start: PosteriorAdaptive, prior: np.ndarray, epsilons: tuple[float, ...], seed: int) -> float:
    """Every sequence of reports of an adaptive strategy, by brute force: its largest |ln lift|."""
    n = prior.size
    moves = start.transition
    worst = 0.0

    def channel_for(account: PosteriorAdaptive, step: int) -> Channel:
        rng = np.random.default_rng([seed, step, int(account.predictive[0] * 1e9)])
        floor = np.maximum(account.predictive, 1e-9)
        return Channel(random_lip_channel(floor / floor.sum(), epsilons[step], rng))

    def walk(account: PosteriorAdaptive, step: int, likelihoods: dict[tuple[int, ...], float]) -> None:
        nonlocal worst
        if step == len(epsilons):
            weights = {}
            for path in likelihoods:
                weight = prior[path[0]]
                for a, b in itertools.pairwise(path):
                    weight *= 1.0 if moves is None and a == b else 0.0 if moves is None else moves[a, b]
                weights[path] = weight
            total = sum(weights[path] * value for path, value in likelihoods.items())
            for path, value in likelihoods.items():
                if weights[path] > 0:
                    worst = max(worst, abs(math.log(value / total)))
            assert account.spent <= sum(epsilons) + 1e-9
            return
        channel = channel_for(account, step)
        for y in range(channel.shape[1]):
            if account.predictive @ channel.matrix[:, y] <= 0:
                continue
            longer: dict[tuple[int, ...], float] = {}
            for path, value in likelihoods.items():
                for x in range(n) if step else ():
                    longer[(*path, x)] = value * channel.matrix[x, y]
            if step == 0:
                longer = {(x,): channel.matrix[x, y] for x in range(n)}
            walk(account.report(channel, y), step + 1, longer)

    walk(start, 0, {(): 1.0})
    return worst


@pytest.mark.parametrize("moving", [False, True])
def test_designing_for_the_posterior_never_passes_the_sum(moving: bool) -> None:
    rng = np.random.default_rng(1)
    for seed in range(6):
        p = rng.dirichlet(np.ones(3) * 3)
        moves = rng.dirichlet(np.ones(3) * 2, size=3) if moving else None
        start = PosteriorAdaptive.start(p, budget=1.5, transition=moves)
        worst = exhaust(start, p, (0.6, 0.4, 0.5), seed)
        assert worst <= 1.5 + 1e-7
        assert worst > 0.5


def test_the_accountant_refuses_a_report_beyond_its_budget_before_it_is_drawn() -> None:
    p = np.array([0.5, 0.3, 0.2])
    account = PosteriorAdaptive.start(p, budget=1.2)
    first = resampling_channel(account.predictive, 0.7).channel
    account = account.report(first, 0)
    assert account.left == pytest.approx(0.5, abs=1e-6)
    with pytest.raises(BudgetExceeded):
        account.check(resampling_channel(account.predictive, 0.7).channel)
    account = account.report(resampling_channel(account.predictive, 0.5).channel, 1)
    assert account.spent == pytest.approx(1.2, abs=1e-6)
    assert account.reports == 2
    statement = account.guarantee()
    assert statement.parameters["reports"] == 2
    assert any("stopping" in words for words in statement.assumes)


def test_a_set_of_priors_is_updated_vertex_by_vertex_and_covers_every_mixture() -> None:
    rng = np.random.default_rng(2)
    vertices = rng.dirichlet(np.ones(3) * 3, size=2)
    channels, outputs = [], []
    account = PosteriorAdaptive.start(vertices, budget=1.0)
    for epsilon, output in ((0.5, 0), (0.5, 0)):
        solved = optimal_channel(account.predictives.mean(axis=0), rng.random((3, 3)), epsilon, priors=account.priors)
        channels.append(solved.value.channel)
        outputs.append(min(output, solved.value.channel.shape[1] - 1))
        account = account.report(channels[-1], outputs[-1])
    assert account.spent <= 1.0 + 1e-9
    likelihood = channels[0].matrix[:, outputs[0]] * channels[1].matrix[:, outputs[1]]
    for weight in np.linspace(0, 1, 11):
        p = weight * vertices[0] + (1 - weight) * vertices[1]
        assert np.abs(np.log(likelihood / (p @ likelihood))).max() <= account.spent + 1e-9
    assert "mixture" in account.guarantee().assumes[0]


def test_a_channel_for_the_old_prior_costs_more_than_its_epsilon_once_the_belief_moved() -> None:
    p = np.array([0.5, 0.3, 0.2])
    fixed = optimal_channel(p, d.hamming(3), 1.0).value.channel
    account = PosteriorAdaptive.start(p, budget=10).report(fixed, 2)
    up, low = account.check(fixed)
    assert max(up, low) > 1.01


def test_bad_compositions_are_refused() -> None:
    with pytest.raises(InputError):
        k.product_matrix([])
    with pytest.raises(InputError):
        k.product_matrix([np.eye(2), np.eye(3)])
    with pytest.raises(InputError):
        k.worst_together((1, 1), np.full(10, 0.1))
    with pytest.raises(InputError):
        k.sequence_bound([1], [0.2, 0.2], 0.1)


@pytest.mark.parametrize(
    "epsilons", [(7.3, 7.3), (13.0,), (28.0,), (15.0, 15.0), (30.0,), (12.0, 12.0, 12.0), (300.0,)]
)
def test_the_worst_case_lies_between_actual_channels_and_theorem_4_for_large_epsilons(
    epsilons: tuple[float, ...],
) -> None:
    p = np.array([0.5, 0.3, 0.2])
    worst = k.worst_together(epsilons, p)
    assert max(epsilons) <= worst <= k.composed_bound(epsilons, p)
    if len(epsilons) == 1:
        assert worst == pytest.approx(epsilons[0], abs=1e-9)
    if epsilons[0] <= 8:
        channel = optimal_channel(p, d.hamming(3), epsilons[0]).value.channel
        assert k.together([channel] * len(epsilons), p).max <= worst
