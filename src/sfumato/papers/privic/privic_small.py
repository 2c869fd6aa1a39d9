"""The small statements of PRIVIC: Example 1.1, the reading of information as questions, Theorems 3.1 and 5.1.

[Biswas2023, Sec. 1, 3.2, 3.3 and 5]. Theorem 3.1 is the fixed point of Blahut-Arimoto; Theorem 5.1, a unique largest
likelihood, needs every cell to be observed, and the limit channel observes few. The algorithms as printed are here too.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.drawing.panels import Panel, svg
from sfumato.base.things.channel import Channel
from sfumato.channels.measures.questions import questions
from sfumato.collect.cities import city
from sfumato.collect.estimation.joint import ibu
from sfumato.collect.grids.blahut_arimoto import blahut_arimoto
from sfumato.papers import Reproduction, Row
from sfumato.papers.claims import check, near
from sfumato.papers.privic.printed import algorithm_1_distances, algorithm_2_row_sums, equation_8_row_sums
from sfumato.papers.privic.privic_tables import STEPS, published_rows

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
    # Theorems 3.1 and 5.1
    steps = 3_000 if quick else 20_000
    limit = blahut_arimoto(prior, grid, beta=1.0, steps=steps, floor=0.0)
    matrix = limit.value.to_dense().matrix
    reported = prior @ matrix
    centres = grid.centres()
    distances = np.hypot(*(centres[:, None] - centres[None]).transpose(2, 0, 1))
    elastic = reported * np.exp(-distances)
    elastic /= elastic.sum(axis=1, keepdims=True)
    off = float(np.abs(elastic - matrix).max())
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
            "the limit channel is elastic: its rows are proportional to q(y) e^(-β d) (largest difference)",
            off,
            0.0,
            tolerance=5e-3 if quick else 1e-3,
            relative=False,
            whose=f"{PAPER}, Thm 3.1",
        ),
        check(
            "the limit channel leaves a unique largest likelihood (rank of the channel = cells)",
            rank == grid.cells,
            whose=f"{PAPER}, Thm 5.1",
            recorded="fails",
            measured=(float(rank), float(observed)),
            expected=grid.cells,
            because="rank, and cells ever reported: most outputs have weight 0 in the limit",
        ),
        check(
            "Algorithm 2 as printed makes a channel (rows sum to 1)",
            bool(np.allclose(sums, 1, atol=1e-6)),
            whose=f"{PAPER}, Alg. 2",
            recorded="fails",
            measured=(float(sums.min()), float(sums.max())),
            expected=1.0,
            because="least and largest row sum: it normalises over d(z, y) where d(x, z) is meant",
        ),
        check(
            "eq. (8) as printed makes a channel (rows sum to 1)",
            bool(np.allclose(eighth, 1, atol=1e-6)),
            whose=f"{PAPER}, eq. 8",
            recorded="fails",
            measured=(float(eighth.min()), float(eighth.max())),
            expected=1.0,
            because="the exponent of its numerator lacks the minus",
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
        picture_svg=svg(
            [Panel("Algorithm 1", np.arange(1.0, len(printed) + 1), lines, "cycle", "EMD", log_y=True)], columns=1
        ),
        notes=(f"Theorems 3.1 and 5.1 after {steps} Blahut-Arimoto steps, certified gap {limit.gap or 0:.1e}.",),
        numbers={"questions_before": asked.before, "questions_after": asked.after},
    )
