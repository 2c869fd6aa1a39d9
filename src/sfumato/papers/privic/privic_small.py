"""The small statements of PRIVIC, and its algorithms to the letter: nothing printed wrong here is used by a collection.

[Biswas2023, Sec. 1, 3.2, 3.3 and 5]: Example 1.1, information as questions, Theorem 3.1 (the fixed point of
Blahut-Arimoto), whose distortion is least, and Theorem 5.1. The text of section 5 is what
:mod:`sfumato.collect.loop.simulation` implements. To the letter,

* Algorithm 1 lets people report through the channel of the cycle *before*, C^(t), and estimates with this cycle's;
* Algorithm 2 normalises over d(z, y) where d(x, z) is meant: its rows do not sum to 1;
* eq. (8) lacks a minus in its numerator.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, finite, positive
from sfumato.base.drawing.panels import Panel
from sfumato.base.randomness import randomness
from sfumato.base.things.channel import LEAST_PROBABILITY, Channel, checked_probabilities
from sfumato.base.things.grid import Grid
from sfumato.collect.cities import city
from sfumato.collect.estimation.earth_mover import earth_movers_distance
from sfumato.collect.estimation.joint import ibu
from sfumato.collect.grids.blahut_arimoto import blahut_arimoto
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.grids.sampling import draw_tally
from sfumato.papers import Reproduction, Row
from sfumato.papers.claims import check, near
from sfumato.papers.picture import Picture
from sfumato.papers.privic.privic_chain import channels_of
from sfumato.papers.privic.privic_elastic import elastic_distortions
from sfumato.papers.privic.privic_questions import expected_questions, questions, questions_by_halves
from sfumato.papers.privic.privic_tables import STEPS, published_rows


def algorithm_2_row_sums(prior: npt.ArrayLike, distances: npt.ArrayLike, *, beta: float) -> FloatArray:
    """The row sums of one step of Algorithm 2 as printed, from the uniform channel: they should be 1."""
    d = finite(distances, "The distances", dimensions=2)
    checked_probabilities(prior, d.shape[0])
    weights = np.full(d.shape[1], 1.0 / d.shape[1])  # c(y) of the uniform channel, whatever the prior
    kernel = np.exp(-positive(beta, "beta") * d)
    return np.asarray((weights * kernel / (weights @ kernel)).sum(axis=1))


def equation_8_row_sums(weights: npt.ArrayLike, distances: npt.ArrayLike, *, beta: float) -> FloatArray:
    """The row sums of eq. (8) as printed, exp(+β d) over Σ q exp(-β d): they should be 1."""
    d = finite(distances, "The distances", dimensions=2)
    reported = finite(weights, "The weights", dimensions=1)
    q = checked_probabilities(np.where((reported > 0) & (reported < LEAST_PROBABILITY), 0.0, reported), d.shape[1])
    return np.asarray((q * np.exp(beta * d)).sum(axis=1) / (q * np.exp(-positive(beta, "beta") * d)).sum(axis=1))


def algorithm_1_distances(
    people: IntArray, grid: Grid, *, beta: float, cycles: int, ba_steps: int, ibu_steps: int, seed: int
) -> list[float]:
    """The distance to the truth after every cycle of Algorithm 1 as printed (reports through the channel before)."""
    truth = people / people.sum()
    theta = np.full(grid.cells, 1.0 / grid.cells)
    before = GridChannel(grid, 1e-9, theta)  # C^(0): uniform reports
    source = randomness(seed)
    found = []
    for _ in range(cycles):
        channel = blahut_arimoto(theta, grid, beta=beta, steps=ba_steps, floor=0.0).value
        reports = draw_tally(before, people, rng=source)
        theta = ibu(channel, reports, steps=ibu_steps, start=theta).probabilities
        before = channel
        found.append(earth_movers_distance(theta, truth, grid))
    return found


PAPER = "Biswas2023"


def run(*, quick: bool = False) -> Reproduction:
    """All of them; ``quick`` stops Blahut-Arimoto earlier."""
    place = city("paris")
    grid, prior = place.plain_grid, place.probabilities
    # Example 1.1
    constant = Channel(np.array([[0.0, 1.0, 0.0]] * 3))
    line = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    quality = float(np.mean((constant.matrix * line).sum(axis=1)))
    starts = ((0.2, 0.3, 0.5), (0.6, 0.2, 0.2))
    kept = [ibu(constant, np.array([0, 30, 0]), steps=50, start=start).probabilities for start in starts]
    moved = max(float(np.abs(a - np.array(b)).max()) for a, b in zip(kept, starts, strict=True))
    # Section 3.2
    asked = questions(blahut_arimoto(prior, grid, beta=1.0, steps=8, floor=0.0).value.to_dense(), prior)
    five = np.array([0.35, 0.17, 0.17, 0.16, 0.15])
    by_halves, best = questions_by_halves(five), expected_questions(five)
    # Theorems 3.1 and 5.1
    steps = 3_000 if quick else 20_000
    limit = blahut_arimoto(prior, grid, beta=1.0, steps=steps, floor=0.0)
    matrix = limit.value.to_dense().matrix
    reported = prior @ matrix
    distances = grid.distance_matrix()
    elastic = reported * np.exp(-distances)
    elastic /= elastic.sum(axis=1, keepdims=True)
    off = float(np.abs(elastic - matrix).max())
    two = np.array([[0.0, 1.0], [1.0, 0.0]])
    constant_limit = channels_of(np.array([[0.9, 0.1]]), two, beta=1.0, steps=None)[0]
    whole, ends = (elastic_distortions([0.4, 0.2, 0.4], line, beta=0.5, outputs=o) for o in ((0, 1, 2), (0, 2)))
    observed = int((limit.value.output_weights > 1e-12).sum())
    rank = int(np.linalg.matrix_rank(matrix, tol=1e-9))
    # the algorithms as printed
    cycles, ba_steps, ibu_steps = STEPS["paris"]
    printed = algorithm_1_distances(
        place.people, grid, beta=1.0, cycles=4 if quick else cycles, ba_steps=ba_steps, ibu_steps=ibu_steps, seed=0
    )
    right = [row.emd_mean for row in published_rows("paris", 1.0, 1)][1 : len(printed) + 1]
    sums = algorithm_2_row_sums(prior, distances, beta=1.0)
    eighth = equation_8_row_sums(reported, distances, beta=1.0)
    rows: list[Row] = [
        {"cycle": n + 1, "Algorithm 1 as printed": a, "text of section 5": b}
        for n, (a, b) in enumerate(zip(printed, right, strict=True))
    ]
    claims = (
        near(
            "Example 1.1: reporting b always costs 2/3 on average",
            quality,
            2 / 3,
            tolerance=1e-12,
            whose=f"{PAPER}, Ex. 1.1",
        ),
        check(
            "Example 1.1: and it has no statistical utility (the update stays where it starts)",
            moved < 1e-12,
            whose=f"{PAPER}, Ex. 1.1",
            measured=moved,
        ),
        check(
            "the expected number of questions is approximately H(X), and H(X|Y) after a report (to within one)",
            0 <= asked.before - asked.entropy_bits < 1 and 0 <= asked.after - asked.residual_bits < 1,
            whose=f"{PAPER}, Sec. 3.2",
            measured=(asked.before, asked.entropy_bits, asked.after, asked.residual_bits),
            because="Paris, beta = 1: questions before, H(X), questions after, H(X|Y) in bits",
        ),
        check(
            "splitting the mass as equally as possible at each question is the best strategy",
            by_halves <= best + 1e-9,
            whose=f"{PAPER}, Sec. 3.2, best strategy",
            measured=by_halves,
            expected=best,
            because="expected questions, and those of Huffman's tree, for probabilities .35, .17, .17, .16, .15",
        ),
        near(
            "what a report saves the attacker is I(X; Y) (questions saved against bits)",
            asked.saved,
            asked.information_bits,
            tolerance=1.0,
            relative=False,
            whose=f"{PAPER}, Sec. 3.2",
            because="exact only where probabilities are powers of 1/2",
        ),
        near(
            "the questions after a report are those of the posterior p(x|y): as many as it needs",
            asked.after - asked.residual_bits,
            0.5,
            tolerance=0.5,
            relative=False,
            whose=f"{PAPER}, Sec. 3.2, posterior",
            because="above H(X|Y), in bits",
        ),
        check(
            "among elastic mechanisms BA's has the least distortion (three cells in a line, prior .4 .2 .4, β = .5)",
            whole[0] <= ends[0],
            whose=f"{PAPER}, Sec. 3.3, best QoS",
            measured=whole[0],
            expected=ends[0],
            because=f"BA, and the elastic mechanism on the two ends; they tell {whole[1]:.3f} and {ends[1]:.3f} nats",
        ),
        near(
            "the limit channel is elastic: its rows are proportional to q(y) e^(-β d) (largest difference)",
            off,
            0.0,
            tolerance=5e-3 if quick else 1e-3,
            relative=False,
            whose=f"{PAPER}, Eq. 3, 4, Thm 3.1",
        ),
        check(
            "the limit channel leaves a unique largest likelihood (two cells at distance 1, β = 1, start .9 and .1)",
            bool(np.ptp(constant_limit, axis=0).max() > 1e-12),
            whose=f"{PAPER}, Thm 5.1",
            measured=float(np.ptp(constant_limit, axis=0).max()),
            because="how much its two rows differ: with rows alike every map is a largest likelihood. On Paris its "
            f"rank is {rank} of {grid.cells} ({observed} cells are ever reported)",
        ),
        *(
            check(
                f"{words} as printed makes a channel (rows sum to 1)",
                bool(np.allclose(found, 1, atol=1e-6)),
                whose=f"{PAPER}, {place}",
                recorded="fails",
                measured=(float(found.min()), float(found.max())),
                expected=1.0,
                because=why,
            )
            for words, place, found, why in (
                ("Algorithm 2", "Alg. 2", sums, "least and largest row sum: it normalises over d(z, y), not d(x, z)"),
                ("eq. (8)", "Eq. 8", eighth, "the exponent of its numerator lacks the minus"),
            )
        ),
        check(
            "Algorithm 1 as printed gives the distances of Table 2 (within 10 %)",
            max(abs(a / b - 1) for a, b in zip(printed, right, strict=True)) < 0.1,
            whose=f"{PAPER}, Alg. 1",
            recorded="fails",
            measured=(printed[0], printed[-1]),
            expected=(right[0], right[-1]),
            because="it reports through the channel of the cycle before; the text of section 5 reproduces the tables",
        ),
    )
    lines = {"as printed": np.array(printed), "text of section 5": np.array(right)}
    return Reproduction(
        name="privic-small",
        title="Example 1.1, questions, Theorems 3.1 and 5.1, and the algorithms as printed",
        tables={"distance to the truth (cells), Paris, beta = 1": rows},
        claims=claims,
        picture=Picture([Panel("Algorithm 1", np.arange(1.0, len(printed) + 1), lines, "cycle", "EMD", log_y=True)]),
        notes=(f"Theorems 3.1 and 5.1 after {steps} Blahut-Arimoto steps, certified gap {limit.gap or 0:.1e}.",),
        numbers={"questions_before": asked.before, "questions_after": asked.after},
    )
