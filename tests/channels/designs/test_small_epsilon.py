"""Below the target, by more than rounding, over twelve decades: measured in 60 digits on the doubles that ship."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from many_digits import geo_of, ldp_of, lip_of

from sfumato.base.errors import InputError
from sfumato.base.numbers.geo import geo_epsilon, geo_epsilon_at_most
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.things.grid import Grid
from sfumato.channels.conversions import lip_constants as c
from sfumato.channels.designs.door import design_channel
from sfumato.channels.designs.exponential import exponential_for_epsilon, exponential_matrix
from sfumato.channels.designs.geo.geo_optimal import optimal_geo_channel
from sfumato.channels.designs.geo.planar import planar_geometric_channel, planar_laplace_channel
from sfumato.channels.designs.lip.closed_forms import binary_channel, resampling_channel, top_k_channel
from sfumato.channels.designs.lip.lip_optimal import optimal_channel, worst_case_channel
from sfumato.channels.designs.numbers import clamped_laplace
from sfumato.channels.designs.task import ChannelTask
from sfumato.channels.frequency.frequency_oracles import RandomizedResponse
from sfumato.channels.measures.discrete import hamming
from sfumato.channels.priors.prior_sets import TVBall
from sfumato.collect.grids.blahut_arimoto import blahut_arimoto
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.grids.tight import tight_channel

DECADES = [10.0**k for k in range(-9, 3)]
P = np.array([0.5, 0.3, 0.15, 0.05])
PLACES = np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 2.0], [2.5, 1.5], [1.0, 1.0]])
FAR = np.hypot(*(PLACES[:, None, :] - PLACES[None, :, :]).transpose(2, 0, 1))


def decimals(formula, *values: float) -> Decimal:
    with localcontext(prec=900):
        return formula(*(Decimal(value) for value in values))


@pytest.mark.parametrize("epsilon", DECADES)
@pytest.mark.parametrize("p", [0.5, 0.3, 1e-3, 1e-9])
def test_conversions_are_on_the_safe_side_of_the_true_number_and_next_to_it(epsilon: float, p: float) -> None:
    one = Decimal(1)
    ratio = decimals(lambda e, q: min(2 * e, (one + (e.exp() - 1) / q).ln()), epsilon, p)
    leaks = decimals(lambda e, q: (q + e.exp() * (1 - q)).ln(), epsilon, p)
    budget = decimals(lambda e, q: ((e.exp() - q) / (1 - q)).ln(), epsilon, p)
    information = decimals(lambda e: e * (e.exp() - 1) / (e.exp() + 1), epsilon)
    for found, true, up in (
        (c.lip_to_ldp(epsilon, p).nats, ratio, True),
        (c.ldp_to_lip(epsilon, p).nats, leaks, True),
        (c.ldp_budget_for_lip(epsilon, p).nats, budget, False),
        (c.lip_to_mutual_information(epsilon).nats, information, True),
    ):
        assert (Decimal(found) >= true) is up or Decimal(found) == true
        assert abs(Decimal(found) - true) <= Decimal("3e-14") * true


@pytest.mark.parametrize("epsilon", DECADES)
def test_two_symbols_are_on_the_safe_side_at_and_around_the_threshold(epsilon: float) -> None:
    tau = c.threshold(epsilon)
    for p in (tau, np.nextafter(tau, 0), np.nextafter(tau, 1), tau * (1 - 1e-9), 0.9 * tau, 1e-3 * tau, 0.5):
        if not 0 < p < 1:
            continue
        with localcontext(prec=900):
            e, q = Decimal(epsilon).exp(), Decimal(float(p))
            true = (e - 1 + q) / q if q * (1 + e) >= 1 else e * (1 - q) / (1 - q * e)
            assert Decimal(c.binary_likelihood_ratio(float(p), epsilon)) >= true
            assert Decimal(c.binary_excess(float(p), epsilon)) <= (true - 1) * (1 + Decimal("1e-14"))


@pytest.mark.parametrize("epsilon", DECADES)
def test_a_bound_of_epsilon_per_metre_is_never_below_the_true_one(epsilon: float) -> None:
    with localcontext(prec=120):
        weights, e = [Decimal(float(w)) for w in P], Decimal(epsilon)
        grown = [[(e * Decimal(float(far))).exp() for far in row] for row in FAR[:4, :4]]
        rows = [sum(w * more for w, more in zip(weights, row, strict=True)) for row in grown]
        total = sum(weights)
        true = max((row / total).ln() for row in rows)
    assert Decimal(c.geo_to_lip(epsilon, P, FAR[:4, :4]).nats) >= true
    made = exponential_matrix(FAR, min(epsilon, 100.0))
    assert Decimal(geo_epsilon_at_most(made, FAR)) >= geo_of(made, FAR)
    assert Decimal(geo_epsilon_at_most(made, FAR)) >= geo_of(made, FAR, normalised=False)
    assert geo_epsilon_at_most(made, FAR) >= geo_epsilon(made, FAR)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-7, 1e-5, 1e-3, 0.1, 1.0, 10.0])
def test_channels_per_metre_keep_their_epsilon_as_drawn_and_as_stored(epsilon: float) -> None:
    grid = Grid.plain(2, 3)
    cells = grid.distance_matrix()
    prior = np.full(5, 0.2)
    made = [
        (exponential_for_epsilon(FAR, epsilon), FAR),
        (exponential_for_epsilon(FAR, epsilon, metric=True), FAR),
        (planar_laplace_channel(grid, epsilon), cells),
        (optimal_geo_channel(prior, FAR, epsilon, unit="cell").value, FAR),
    ]
    if epsilon >= 0.1:
        made.append((planar_geometric_channel(grid, epsilon), cells))
    for channel, distances in made:
        for normalised in (True, False):
            true = geo_of(channel.channel.matrix, distances, normalised=normalised)
            assert true <= Decimal(channel.leakage) <= Decimal(epsilon)


@pytest.mark.parametrize("epsilon", DECADES[:-1])
def test_channels_on_grids_keep_their_epsilon(epsilon: float) -> None:
    """The tight channel was above its promise by up to 1e-10 of it, where the weights nearly equalise Z."""
    for grid in (Grid.plain(1, 4), Grid.plain(2, 3)):
        tight = tight_channel(grid, epsilon=epsilon).value
        iterated = blahut_arimoto(np.full(grid.cells, 1 / grid.cells), grid, epsilon=epsilon, steps=30).value
        for channel in (tight, iterated):
            assert level_of(channel) <= Decimal(epsilon)
            assert level_of(channel) <= Decimal(channel.certain_epsilon())


def level_of(channel: GridChannel) -> Decimal:
    """The exact level of c(y) exp(-beta d(x, y)) / Z(x) for the stored c and beta, in 60 digits."""
    with localcontext(prec=60):
        at = [tuple(Decimal(float(v)) for v in centre) for centre in channel.grid.centres()]
        far = [[((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2).sqrt() for b in at] for a in at]
        beta = Decimal(channel.beta)
        logs = []
        for row in far:
            weights = [Decimal(float(c)) * (-beta * d).exp() for c, d in zip(channel.output_weights, row, strict=True)]
            total = sum(weights)
            logs.append([(w / total).ln() for w in weights if w > 0])
        pairs = [(x, y) for x in range(len(at)) for y in range(len(at)) if x != y]
        return max(max(a - b for a, b in zip(logs[x], logs[y], strict=True)) / far[x][y] for x, y in pairs)


@pytest.mark.parametrize("epsilon", DECADES)
def test_randomized_response_keeps_its_epsilon(epsilon: float) -> None:
    """As drawn on a device, by an exact coin, and as the matrix that ``channel design`` writes."""
    if epsilon > 30:
        return
    ratio = RandomizedResponse(4, epsilon).likelihood_ratio
    with localcontext(prec=60):
        assert (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln() <= Decimal(epsilon)
    shipped = design_channel("randomized-response", ChannelTask(CellPrior(P), hamming(4), epsilon))
    assert ldp_of(shipped.channel.matrix) <= Decimal(epsilon)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-7, 1e-5, 1e-3, 0.1, 1.0, 10.0])
def test_channels_of_information_privacy_keep_their_epsilon_as_drawn_and_as_stored(epsilon: float) -> None:
    two = np.array([0.7, 0.3])
    made = [
        (resampling_channel(P, epsilon), P),
        (binary_channel(0.3, epsilon), two),
        (optimal_channel(P, hamming(4), epsilon).value, P),
        (optimal_channel(P, hamming(4), epsilon, priors=TVBall(P, 0.02)).value, P),
        (top_k_channel(P, epsilon)[0], P),
        (worst_case_channel(P, hamming(4), epsilon).value, P),
    ]
    for designed, prior in made:
        for normalised in (True, False):
            assert max(lip_of(designed.channel.matrix, prior, normalised=normalised)) <= Decimal(epsilon)
    for designed, _ in made[-2:]:
        assert ldp_of(designed.channel.matrix) <= Decimal(epsilon)


def laplace_leakage(values: list[float], prior: list[float], scales: list[float], points: int = 9) -> Decimal:
    """The largest |log lift| at both atoms, at the values and between them, in 60 digits: at most the truth."""
    with localcontext(prec=60):
        x, p, b = ([Decimal(float(v)) for v in part] for part in (values, prior, scales))
        total = sum(p)
        worst = Decimal(0)
        between = [x[i] + (x[i + 1] - x[i]) * k / points for i in range(len(x) - 1) for k in range(points + 1)]
        weights = [[(-abs(y - v) / s).exp() / s for v, s in zip(x, b, strict=True)] for y in between]
        weights += [[(-abs(end - v) / s).exp() for v, s in zip(x, b, strict=True)] for end in (x[0], x[-1])]
        for row in weights:
            mean = sum(w * f for w, f in zip(p, row, strict=True)) / total
            worst = max(worst, *(abs((f / mean).ln()) for f in row))
        return worst


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3, 1.0, 5.0])
@pytest.mark.parametrize("calibration", ["sufficient", "exact"])
def test_clamped_laplace_keeps_its_epsilon(epsilon: float, calibration: clamped_laplace.Calibration) -> None:
    values, prior = [0.0, 1.0, 2.0], [0.433, 0.333, 0.234]
    for made in (
        clamped_laplace.independent(values, prior, epsilon, calibration=calibration),
        clamped_laplace.context_aware(values, prior, epsilon, calibration=calibration),
    ):
        assert laplace_leakage(values, prior, list(made.scales)) <= Decimal(epsilon)
        assert max(made.leakage()) <= epsilon
        if calibration == "exact":
            assert max(made.leakage()) >= epsilon * (1 - 1e-6)


def test_what_drowns_in_rounding_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be told from 0"):
        clamped_laplace.independent([0.0, 1.0], [0.5, 0.5], 1e-17, calibration="exact")
