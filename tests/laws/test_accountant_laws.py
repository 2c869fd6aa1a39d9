"""Laws of composition: what the accountant says is what the product channel gives away, and what the loop reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.accountant import compose
from sfumato.accountant.compose import RULES, Guarantee, Reporting, composition, rule_for, together, trace_release
from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.base.things.traces import Trace
from sfumato.channels.conversions.composition import product_matrix
from sfumato.channels.designs.geo.planar import planar_laplace_channel
from sfumato.channels.designs.lip.closed_forms import resampling_channel
from sfumato.channels.measures.discrete import geo_epsilon
from sfumato.collect.grids.grid_channel import GridChannel, uniform_channel
from sfumato.collect.loop import Rules, close_cycle, rhythm
from sfumato.collect.loop.rhythm import spending
from sfumato.collect.loop.simulation import Protocol, simulate_round
from sfumato.tracks import trace_entries as trace_losses

GRID = Grid.plain(2, 3)


def channels(seed: int, count: int) -> list[GridChannel]:
    rng = np.random.default_rng(seed)
    return [GridChannel(GRID, rng.uniform(0.2, 2.0), rng.dirichlet(np.ones(6)) * 0.99 + 0.01 / 6) for _ in range(count)]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 3))
def test_reports_of_one_place_cost_what_their_product_channel_gives_away(seed: int, count: int) -> None:
    through = channels(seed, count)
    product = product_matrix([channel.to_dense() for channel in through])
    together = spending(through, reporting="every-cycle")
    assert together.level.exact
    assert together.level.upper == pytest.approx(geo_epsilon(product, GRID.distance_matrix()), abs=1e-9)
    assert together.guarantee.parameters["epsilon_per_cell"] == together.level.upper
    assert together.guarantee.parameters["reports"] == count


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 4))
def test_the_total_is_never_above_the_rule_of_the_notion_and_never_below_the_dearest_report(
    seed: int, count: int
) -> None:
    through = channels(seed, count)
    statements = [channel.guarantee() for channel in through]
    epsilons = [statement.parameters["epsilon_per_cell"] for statement in statements]
    added = composition(statements, reporting="every-cycle").parameters["epsilon_per_cell"]
    assert added == pytest.approx(sum(epsilons))
    exact = spending(through, reporting="every-cycle").level.upper
    assert max(epsilons) - 1e-12 <= exact <= added + 1e-12
    once = spending(through, reporting="once")
    assert once.level.upper == once.guarantee.parameters["epsilon_per_cell"] == max(epsilons)


@pytest.mark.parametrize("reporting", ["once", "every-cycle"])
def test_the_loop_and_the_simulation_report_what_the_accountant_says(reporting: str) -> None:
    through = channels(3, 3)
    counts = np.arange(1, 7) * 100
    closed = close_cycle(
        [(channel, counts) for channel in through],
        Rules(beta=1.0, reporting=reporting),
        with_intervals=False,
        with_influence=False,
    )
    total = spending(through, reporting=reporting)
    assert closed.spent == total.level
    assert closed.guarantee.to_dict() == total.guarantee.to_dict()
    cycles = list(simulate_round(counts, GRID, Protocol(beta=1.0, cycles=3, reporting=reporting), seed=0))
    used = [cycle.channel for cycle in cycles if cycle.channel is not None]
    assert cycles[-1].spent_epsilon == spending(used, reporting=reporting).level.upper


def test_an_unknown_notion_is_refused() -> None:
    known = {"geo-indistinguishability", "conditional inferential privacy", "user-level differential privacy"}
    assert set(RULES) == known
    prior = np.array([0.5, 0.3, 0.2])
    for statement in (Guarantee("k-anonymity", {"k": 5}), resampling_channel(prior, 1.0).guarantee):
        with pytest.raises(InputError, match="no composition rule"):
            composition([statement, statement], reporting="every-cycle")
    with pytest.raises(InputError, match="no composition rule"):
        rule_for("")


def test_what_has_no_total_is_refused() -> None:
    one = uniform_channel(GRID, 1.0).guarantee()
    metres = planar_laplace_channel(Grid.plain(2, 3, 100.0, 100.0, unit="m"), 0.01).guarantee
    with pytest.raises(InputError, match="per cell and per m"):
        composition([one, metres], reporting="every-cycle")
    with pytest.raises(InputError, match="different notions"):
        composition([one, Guarantee("k-anonymity", {"k": 5})], reporting="once")
    with pytest.raises(InputError, match="does not say its epsilon"):
        composition([Guarantee("geo-indistinguishability", {})], reporting="once")
    with pytest.raises(InputError, match="no guarantee"):
        spending([], reporting="once")
    with pytest.raises(InputError, match="reporting is 'often'"):
        composition([one], reporting="often")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="different grids"):
        spending([uniform_channel(GRID, 1.0), uniform_channel(Grid.plain(2, 2), 1.0)], reporting="once")


def test_both_journeys_make_totals_by_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports through grid channels, announced releases of a trace and a ledger's entries: all by ``composition``."""
    asked: list[str] = []

    def watched(guarantees: Sequence[Guarantee], *, reporting: Reporting) -> Guarantee:
        asked.append(guarantees[0].notion)
        return composition(guarantees, reporting=reporting)

    for module in (compose, rhythm, trace_losses):
        monkeypatch.setattr(module, "composition", watched)
    done = sf.protect(Trace([48.0, 48.1], [2.0, 2.1], [0.0, 60.0]), redraws=3, rng=1)
    assert asked
    assert set(asked) == {"conditional inferential privacy"}
    asked.clear()
    entry = trace_losses.entry_from_certificate(done.certificate, process="a")
    assert asked
    asked.clear()
    assert trace_losses.total_loss([entry, {**entry, "process": "b"}]) == pytest.approx(2 * entry["loss_per_m2"])
    assert asked == ["conditional inferential privacy"]
    asked.clear()
    spending(channels(1, 2), reporting="every-cycle")
    assert set(asked) == {"geo-indistinguishability"}


def test_releases_of_traces_add_by_process_and_never_across_shapes() -> None:
    def total(*releases: Guarantee) -> float:
        return float(composition(releases, reporting="every-cycle").parameters["loss_per_m2"])

    a, b = trace_release(2.0, process="a", shape="s"), trace_release(3.0, process="b", shape="s")
    assert total(a, a, a) == 2.0
    assert total(a, b) == 5.0
    assert total(a, trace_release(1.0, process="a", shape="s")) == 2.0
    assert together(4)(2.0) == total(trace_release(2.0, redraws=4)) == 8.0
    with pytest.raises(InputError, match="differently shaped"):
        total(a, trace_release(1.0, process="c", shape="other"))
    with pytest.raises(InputError, match="below zero"):
        total(a, trace_release(-1.0, process="c", shape="s"))
    with pytest.raises(InputError, match="different notions"):
        total(a, channels(1, 1)[0].guarantee())
    with pytest.raises(InputError, match="does not say the loss"):
        total(Guarantee(notion="conditional inferential privacy", parameters={"loss_per_m2": 1.0}))
