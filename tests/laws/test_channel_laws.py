"""Laws that every channel obeys, and every mechanism that makes one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repository import ROOT
from scipy import stats

from sfumato.accountant.compose import Guarantee
from sfumato.base.errors import InputError
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.things.channel import Channel
from sfumato.base.things.grid import Grid
from sfumato.channels.conversions import lip_constants as c
from sfumato.channels.designs.comparison import compare
from sfumato.channels.designs.design_registry import DESIGNS, ChannelDesign
from sfumato.channels.designs.door import compared_rows, design_channel, design_named
from sfumato.channels.designs.lip.lip_optimal import optimal_channel, worst_case_channel
from sfumato.channels.designs.lip.other_goals import most_information
from sfumato.channels.designs.task import ChannelTask, DesignedChannel
from sfumato.channels.measures import discrete as d
from sfumato.channels.priors.prior_sets import Box, TVBall

GRID = Grid.plain(3, 3)
DISTANCES = GRID.distance_matrix()
PRIOR = np.random.default_rng(7).dirichlet(np.ones(9) * 1.5) * 0.9 + 0.1 / 9
PRIOR /= PRIOR.sum()


def rows(draw_seed: int, inputs: int, outputs: int, spread: float) -> np.ndarray:
    return np.random.default_rng(draw_seed).dirichlet(np.ones(outputs) * spread, size=inputs)


channels = st.builds(
    rows, st.integers(0, 2**32), st.integers(2, 5), st.integers(1, 5), st.sampled_from([0.3, 1.0, 5.0])
)


@settings(max_examples=120, deadline=None)
@given(q=channels, seed=st.integers(0, 2**32))
def test_the_order_of_the_notions(q: np.ndarray, seed: int) -> None:
    p = np.random.default_rng(seed).dirichlet(np.ones(q.shape[0]))
    found, ldp = d.lip(q, p), d.ldp(q)
    assert found.max <= ldp + 1e-9
    if 1e-9 < found.max < 600:
        assert ldp <= c.largest_likelihood_ratio(found.max, p).nats + 1e-6 * (1 + ldp)
        assert ldp <= c.lip_to_ldp(found.max, float(p.min())).nats * (1 + 1e-9) + 1e-9
        assert d.mutual_information(q, p) <= found.max * math.tanh(found.max / 2) + 1e-12
    if 1e-9 < ldp < 600:
        assert found.max <= c.ldp_to_lip(ldp, float(p.min())).nats + 1e-9
    assert d.mutual_information(q, p) <= d.maximal_leakage(q, p) + 1e-12
    assert d.maximal_leakage(q, p) <= found.up + 1e-12
    assert 0 <= d.bayes_error(q, p) <= 1 - p.max() + 1e-12


@settings(max_examples=80, deadline=None)
@given(q=channels, seed=st.integers(0, 2**32))
def test_post_processing_and_linkage_never_leak_more(q: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(q.shape[0]))
    after = rng.dirichlet(np.ones(3), size=q.shape[1])
    whole = d.lip(q, p)
    processed = d.lip(q @ after, p)
    assert processed.up <= whole.up + 1e-9
    assert processed.low <= whole.low + 1e-9
    assert d.ldp(q @ after) <= d.ldp(q) + 1e-9
    assert d.mutual_information(q @ after, p) <= d.mutual_information(q, p) + 1e-12
    # Linkage S -> X -> Y, and symmetry of the leakage.
    ps = rng.dirichlet(np.ones(2))
    given_s = rng.dirichlet(np.ones(q.shape[0]), size=2)
    assert d.lip(given_s @ q, ps).max <= d.lip(q, ps @ given_s).max + 1e-9
    m = p @ q
    used = m > 0
    backwards = ((p[:, None] * q)[:, used] / m[used]).T
    assert d.lip(backwards, m[used] / m[used].sum()).max == pytest.approx(whole.max, rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(q=channels, seed=st.integers(0, 2**32), epsilon=st.floats(0.05, 2))
def test_what_holds_for_priors_holds_for_their_mixtures(q: np.ndarray, seed: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    priors = rng.dirichlet(np.ones(q.shape[0]), size=3)
    limit = np.max([d.epsilon_delta(q, p, epsilon) for p in priors], axis=0)
    for weights in rng.dirichlet(np.ones(3), size=4):
        low, up = d.epsilon_delta(q, weights @ priors, epsilon)
        assert low <= limit[0] + 1e-12
        assert up <= limit[1] + 1e-12


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), epsilon=st.floats(0.1, 3))
def test_the_lip_optimum_is_monotone_in_epsilon_and_in_the_set(seed: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(3) * 2) * 0.9 + 0.1 / 3
    cost = rng.random((3, 3))
    free = optimal_channel(p, cost, epsilon).objective
    assert free is not None
    assert optimal_channel(p, cost, 1.3 * epsilon).objective <= free + 1e-8  # type: ignore[operator]
    ball = optimal_channel(p, cost, epsilon, priors=TVBall(p, 0.05)).objective
    box = optimal_channel(p, cost, epsilon, priors=Box(np.maximum(p - 0.02, 0), np.minimum(p + 0.02, 1))).objective
    worst = worst_case_channel(p, cost, epsilon).objective
    assert free - 1e-8 <= box + 2e-8  # type: ignore[operator]
    assert free - 1e-8 <= ball <= worst + 1e-7  # type: ignore[operator]


TASK = ChannelTask(
    prior=CellPrior(PRIOR, labels=GRID.labels(), positions_m=GRID.centres()),
    distortion=DISTANCES,
    epsilon=0.7,
    distortion_name="euclidean",
    grid=GRID,
)
BY_NAME: dict[str, Callable[[], tuple[Channel, Guarantee]]] = {
    design.name: lambda design=design: made_by(design) for design in DESIGNS
}
IN_PYTHON: dict[str, Callable[[], DesignedChannel]] = {
    "asymmetric": lambda: optimal_channel(PRIOR, DISTANCES, 1.0, epsilon_low=2.0).value,
    "robust": lambda: optimal_channel(PRIOR, DISTANCES, 1.0, priors=TVBall(PRIOR, 0.02)).value,
    "most-information": lambda: most_information(PRIOR, 0.5).designed,
}


def made_by(design: ChannelDesign) -> tuple[Channel, Guarantee]:
    made = design_channel(design.name, TASK)
    assert (made.gap is None) == (made.status == "exact")
    assert made.channel.inputs == GRID.labels()
    assert made.channel.distortion_name == "euclidean"
    return made.channel, made.guarantee


def keeps(channel: Channel, promise: Guarantee) -> bool:
    """Whether the shipped matrix keeps what the guarantee says, measured anew; an unknown notion keeps nothing."""
    match promise.notion:
        case "geo-indistinguishability":
            return d.geo_epsilon(channel, DISTANCES) <= promise.parameters["epsilon_per_cell"]
        case "local information privacy":
            up, low = promise.parameters["epsilon_up_nats"], promise.parameters["epsilon_low_nats"]
            every = promise.assumes[0].endswith("every prior of 9 symbols")
            found = d.lip(channel, PRIOR)
            return found.up <= up and found.low <= low and (not every or d.ldp(channel) <= up)
    return False


@pytest.mark.parametrize("name", [*BY_NAME, *IN_PYTHON])
def test_every_mechanism_keeps_its_promise_on_the_matrix_it_ships_and_samples_it(name: str) -> None:
    if name in BY_NAME:
        channel, promise = BY_NAME[name]()
    else:
        made = IN_PYTHON[name]()
        channel, promise = made.channel, made.guarantee
    assert keeps(channel, promise)
    assert not keeps(Channel(np.eye(9)), promise)
    if name in ("ldp-optimal", "top-k", "randomized-response"):
        assert d.ldp(channel) <= 0.7
    np.testing.assert_allclose(channel.matrix.sum(axis=1), 1, atol=1e-13)
    drawn = channel.sample(np.full(20_000, 4), rng=9)
    counts, row = np.bincount(drawn, minlength=channel.shape[1]), channel.row(4)
    common = row * 20_000 >= 5
    expected = np.append(row[common], row[~common].sum()) * 20_000
    observed = np.append(counts[common], counts[~common].sum())
    keep = expected > 0
    assert observed[~keep].sum() == 0
    if keep.sum() > 1:  # a channel that always says the same is drawn exactly
        assert stats.chisquare(observed[keep], expected[keep] * observed.sum() / expected[keep].sum()).pvalue > 1e-4


def test_names_are_unique_and_an_unknown_one_is_refused_at_every_door() -> None:
    assert len({row.name for row in DESIGNS}) == len(DESIGNS)
    assert len(set(compared_rows())) == len(compared_rows())
    for door in (
        lambda: design_named("magic"),
        lambda: design_channel("magic", TASK),
        lambda: compare(PRIOR, DISTANCES, [1.0], mechanisms=["magic"]),
        lambda: compare(PRIOR, DISTANCES, [1.0], mechanisms=["top-k"]),
    ):
        with pytest.raises(InputError, match="no mechanism"):
            door()


def test_what_needs_a_grid_says_so() -> None:
    for design in DESIGNS:
        if design.needs_grid:
            with pytest.raises(InputError, match="needs --grid"):
                design_channel(design.name, replace(TASK, grid=None))


def test_the_documentation_names_every_design() -> None:
    page = (ROOT / "docs" / "channel.md").read_text("utf-8")
    table = page[page.index("| `--mechanism` |") :]
    rows = [line for line in table[: table.index("\n\n")].splitlines() if line.startswith("| `")][1:]
    named = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])}
    assert named == {row.name for row in DESIGNS}
