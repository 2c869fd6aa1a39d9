"""What a published map gives away: upper limits that hold against simulated maps, after any coarsening, at any n."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.grid_channel import GridChannel, uniform_channel
from sfumato.collect.grids.tight import tight_channel
from sfumato.collect.loop.map_odds import expected_gain, map_odds, odds_of_pair

TOWN = Grid(rows=11, columns=15, cell_height=500.0, cell_width=500.0, unit="m")


def town() -> tuple[GridChannel, np.ndarray]:
    """A town and its suburb on 11 x 15 cells, and the tight channel of 2 per km."""
    place = np.stack(np.divmod(np.arange(TOWN.cells), TOWN.columns), axis=1)
    shares = np.exp(-((place - [5, 6]) ** 2).sum(1) / 12) + 0.3 * np.exp(-((place - [2, 12]) ** 2).sum(1) / 3) + 1e-3
    return tight_channel(TOWN, epsilon=0.002).value, shares / shares.sum()


def ratios(rows: np.ndarray, reported: np.ndarray, pair: tuple[int, int], people: int, maps: int, seed: int) -> tuple:
    """Likelihood ratios of simulated tallies in which one person is at the first place, and those tallies."""
    rng = np.random.default_rng(seed)
    here, there = pair
    tally = rng.multinomial(people - 1, reported, size=maps)
    tally[np.arange(maps), rng.choice(reported.size, p=rows[here] / rows[here].sum(), size=maps)] += 1
    return (tally @ (rows[here] / reported)) / (tally @ (rows[there] / reported)), tally


def simulated_odds(ratio: np.ndarray, seldom: float = 0.01) -> float:
    """The largest odds that some coarsening passes so often: of the event that holds the largest ratios."""
    largest = np.sort(ratio)[::-1][: round(seldom * ratio.size)]
    return 1.0 / float(np.mean(1.0 / largest))


def pairs_of(rows: np.ndarray, reported: np.ndarray) -> dict[str, tuple[int, int]]:
    """Ordered pairs 1 km apart: the one that the map tells apart best, and one in the middle."""
    beside = [(x, x + 2) for x in range(TOWN.cells) if x % 15 < 13]
    ahead = beside + [(x, x + 30) for x in range(TOWN.cells - 30)]
    pairs = [*ahead, *((b, a) for a, b in ahead)]

    def told(pair: tuple[int, int]) -> tuple[float, float]:
        """Odds are as long both ways in the middle; in the tail they are longer one way than the other."""
        apart = (rows[pair[0]] - rows[pair[1]]) / reported
        return round(float(reported @ apart**2), 9), -float(reported @ apart**3)

    pairs.sort(key=told)
    return {"worst": pairs[-1], "middle": pairs[len(pairs) // 2]}


@pytest.mark.parametrize("people", [300, 3_000, 30_000])
@pytest.mark.parametrize("which", ["worst", "middle"])
def test_the_limit_is_above_what_simulated_maps_reach_and_not_far(people: int, which: str) -> None:
    channel, shares = town()
    rows = channel.to_dense().matrix
    reported = shares @ rows
    here, there = pairs_of(rows, reported)[which]
    reached = simulated_odds(ratios(rows, reported, (here, there), people, 20_000, seed=people)[0])
    limit = odds_of_pair(rows[here], rows[there], reported, people, local=math.exp(2.0))
    # 200 maps in the tail: its own standard error is at most 3 % here.
    assert 0.97 * reached < limit < 1.12 * reached


def test_the_gaussian_formula_is_no_limit_where_ours_is() -> None:
    channel, shares = town()
    rows = channel.to_dense().matrix
    reported = shares @ rows
    pair = pairs_of(rows, reported)["worst"]
    spread = math.sqrt(float(((rows[pair[0]] - rows[pair[1]]) ** 2 / reported).sum()) / 3_000)
    formula = 0.01 / float(ndtr(ndtri(0.01) - spread))
    reached = simulated_odds(ratios(rows, reported, pair, 3_000, 40_000, seed=5)[0])
    assert formula < reached < odds_of_pair(rows[pair[0]], rows[pair[1]], reported, 3_000, local=math.exp(2.0))


@pytest.mark.slow
def test_coarser_maps_never_pass_the_limit_more_often() -> None:
    """Sums over blocks, single blocks, rounded counts: the odds of what is seen, from two sets of simulated maps."""
    channel, shares = town()
    rows = channel.to_dense().matrix
    reported = shares @ rows
    here, there = pairs_of(rows, reported)["worst"]
    limit = odds_of_pair(rows[here], rows[there], reported, 1_000, local=math.exp(2.0))
    at_here, at_there = (ratios(rows, reported, pair, 1_000, 40_000, 3)[1] for pair in ((here, there), (there, here)))
    row, column = np.divmod(np.arange(TOWN.cells), TOWN.columns)
    near_here = np.hypot(row - row[here], column - column[here]) < np.hypot(row - row[there], column - column[there])
    for seen in (
        lambda tally: tally[:, near_here].sum(1) // 10,
        lambda tally: tally[:, here],
        lambda tally: tally[:, here] // 3,
    ):
        values = np.arange(max(seen(at_here).max(), seen(at_there).max()) + 2)
        one, other = (np.bincount(seen(tally), minlength=values.size) / len(tally) for tally in (at_here, at_there))
        passed = one > 1.1 * limit * np.maximum(other, 1 / 40_000)
        assert one[passed].sum() <= 0.012


def test_the_expected_gain_is_that_of_all_outcomes_and_never_less() -> None:
    """Brute force over every multiset of few people: an upper limit within 3 %."""
    chances = np.array([0.5, 0.3, 0.15, 0.05])
    gains = np.array([-1.0, 0.2, 1.5, 6.0]) - 0.2
    exact = sum(
        max(0.0, float(np.mean(gains[list(drawn)]))) * float(np.prod(chances[list(drawn)]))
        for drawn in product(range(4), repeat=7)
    )
    found = expected_gain(gains, chances, 7)
    assert exact <= found <= 1.03 * exact


def test_a_place_with_nobody_around_gains_nothing() -> None:
    """Where few others can have made a report, the map keeps only the local promise; nothing is ever above it."""
    channel, shares = town()
    lonely = shares.copy()
    lonely[:45] = 1e-7
    lonely /= lonely.sum()
    found = map_odds(channel, lonely, 3_000)
    rows = channel.to_dense().matrix
    alone, among = (odds_of_pair(rows[0], rows[2], q @ rows, 3_000, local=found.local) for q in (lonely, shares))
    assert alone > 1.2 * among
    assert alone > 1.7 * found.average
    assert found.average <= found.worst <= found.local == pytest.approx(math.exp(2.0), rel=1e-6)


def test_more_people_give_one_away_less() -> None:
    channel, shares = town()
    found = [map_odds(channel, shares, people) for people in (1, 50, 1_000, 30_000, 1_000_000)]
    assert all(one.average >= other.average and one.worst >= other.worst for one, other in pairwise(found))
    assert found[0].worst == found[0].local
    assert found[-1].average < 1.02


def test_large_maps_and_single_cells_keep_the_local_promise() -> None:
    wide = Grid(rows=60, columns=60, cell_height=500.0, cell_width=500.0, unit="m")
    found = map_odds(uniform_channel(wide, 0.001), np.full(wide.cells, 1 / wide.cells), 10_000)
    assert found.average == found.worst == found.local
    one = Grid(rows=1, columns=1, cell_height=500.0, cell_width=500.0, unit="m")
    assert map_odds(uniform_channel(one, 0.001), [1.0], 10).local == 1.0
    with pytest.raises(InputError):
        map_odds(uniform_channel(one, 0.001), [1.0], 0)


@pytest.mark.parametrize(("edges", "cell", "per_m"), [((-85.4, 14.04, -4.61, 146.35), 128_267.0, 0.002),
                                                      ((-90.0, -178.43, 90.0, -180.0), 591_563.0, 20.0)])  # fmt: skip
def test_odds_beyond_any_number_are_those_of_the_local_promise(edges: tuple, cell: float, per_m: float) -> None:
    """Cells as wide as a country, as a plan may ask for: no overflow, and never above exp(epsilon d)."""
    vast = Grid.from_bounds(*edges, cell_size_m=cell)
    channel = tight_channel(vast, epsilon=per_m / vast.ground_stretch).value
    found = map_odds(channel, np.full(vast.cells, 1 / vast.cells), 9)
    assert 1 <= found.average <= found.worst <= found.local


def test_cells_wider_than_a_kilometre_are_told_for_neighbours() -> None:
    broad = Grid(rows=4, columns=4, cell_height=3000.0, cell_width=3000.0, unit="m")
    found = map_odds(tight_channel(broad, epsilon=0.002).value, np.full(16, 1 / 16), 500)
    assert found.distance_m == 3000.0
    assert 1 < found.average <= found.local == pytest.approx(math.exp(6.0), rel=1e-6)


def test_a_map_narrower_than_a_kilometre_is_not_said_to_give_nothing_away() -> None:
    """Who lives in the middle has nobody a kilometre away in it, and is told from the edge all the same."""
    small = Grid(rows=4, columns=4, cell_height=200.0, cell_width=200.0, unit="m")
    channel = tight_channel(small, epsilon=0.004).value
    found = map_odds(channel, np.full(16, 1 / 16), 50)
    rows = channel.to_dense().matrix
    middle = odds_of_pair(rows[5], rows[15], rows.mean(axis=0), 50, local=math.exp(0.004 * math.hypot(400, 400)))
    assert 1.05 < middle <= found.worst
    assert found.average > 1.05


def test_the_distance_that_is_said_is_the_distance_that_was_taken() -> None:
    """Of cells of 400 m none are a kilometre apart: 894 m are not told for a kilometre."""
    town = Grid(rows=8, columns=8, cell_height=400.0, cell_width=400.0, unit="m")
    found = map_odds(tight_channel(town, epsilon=0.002).value, np.full(64, 1 / 64), 300)
    assert found.distance_m == pytest.approx(400 * math.sqrt(5))
    assert found.local == pytest.approx(math.exp(0.8 * math.sqrt(5)), rel=1e-6)
    again = map_odds(tight_channel(town, epsilon=0.002).value, np.full(64, 1 / 64), 300, within_m=found.distance_m)
    assert again == found, "as verify recomputes it"
