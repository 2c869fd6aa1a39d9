"""Figure 2 of PRIVIC: does Blahut-Arimoto hide an isolated place in the crowd, where planar Laplace leaves it?

[Biswas2023, Sec. 3.3]. LAP is planar Laplace noise, as the paper says, rounded and clamped to the grid: at ε = 2β its
exact ε is 2β to .02 %, and that of Blahut-Arimoto a few per cent less. The island is :func:`.privic_elastic.island`, in
both readings of "around". What a report of either costs in trips to the nearest place of interest stands beside.
"""

from __future__ import annotations

from sfumato.channels.designs.geo.planar import planar_laplace_matrix
from sfumato.channels.measures.discrete import geo_epsilon
from sfumato.collect.cities import city
from sfumato.collect.grids.blahut_arimoto import blahut_arimoto
from sfumato.papers import Reproduction, Row
from sfumato.papers.claims import cannot_check, check, near
from sfumato.papers.picture import CellMap, Picture
from sfumato.papers.privic.privic_elastic import STRONG, VULNERABLE, Elasticity, elasticity, island, travel_distance

BETAS = (0.2, 0.6, 0.8, 1.0)
PAPER = "Biswas2023"
_BA_STEPS = 10


def run(*, quick: bool = False) -> Reproduction:
    """Both islands and both places at the paper's four levels."""
    grid = city("paris").plain_grid
    distances = grid.distance_matrix()
    rows: list[Row] = []
    panels = []
    seen: dict[tuple[int, float, str], tuple[Elasticity, Elasticity]] = {}
    levels: dict[float, tuple[float, float]] = {}
    trips: dict[float, tuple[float, float]] = {}
    for reach in (1, 2):
        prior = island(reach=reach)
        for beta in BETAS:
            found = blahut_arimoto(prior, grid, beta=beta, steps=_BA_STEPS, floor=0.0).value
            elastic, laplace = found.to_dense().matrix, planar_laplace_matrix(grid, 2 * beta)
            laplace = laplace / laplace.sum(axis=1, keepdims=True)
            label = f"{2 * reach + 1} x {2 * reach + 1} ({100 * prior[VULNERABLE]:.1f} %)"
            for place, cell in (("vulnerable", VULNERABLE), ("strong", STRONG)):
                both = elasticity(elastic, grid, cell, prior), elasticity(laplace, grid, cell, prior)
                seen[reach, beta, place] = both
                row: dict[str, object] = {"emptied": label, "epsilon": 2 * beta, "place": place}
                for name, one in zip(("BA", "LAP"), both, strict=True):
                    row[f"{name}: stays"] = round(one.stays, 3)
                    row[f"{name}: displacement"] = round(one.displacement, 2)
                    row[f"{name}: crowd"] = round(one.crowd, 4)
                rows.append(row)
            if reach == 1:
                levels[beta] = found.epsilon().upper, geo_epsilon(laplace, distances)
                pair = (elastic[VULNERABLE], laplace[VULNERABLE])
                trips[beta] = tuple(
                    travel_distance(one, grid, VULNERABLE, prior, draws=50 if quick else 200) for one in pair
                )  # type: ignore[assignment]
            for name, matrix in (("BA", elastic), ("LAP", laplace)):
                panels.append(CellMap(f"{name}, {label}, ε {2 * beta:g}", matrix[VULNERABLE].reshape(grid.shape)))
    small, big = (seen[reach, 0.8, "vulnerable"] for reach in (1, 2))
    strong = seen[1, 0.8, "strong"]
    claims = (
        check(
            "ε = 1.6: BA hides the island in the crowd, LAP leaves it around itself (nearest cells emptied)",
            small[0].displacement > 2 * small[1].displacement and small[0].crowd > 3 * small[1].crowd,
            whose=f"{PAPER}, Fig. 2a",
            measured=(small[0].displacement, small[1].displacement),
            because=f"mean displacement in cells, BA and LAP; BA reports the island itself with {small[0].stays:.3f}",
        ),
        check(
            "an island of 8.4 % (5 x 5 cells emptied) is not hidden: BA reports it itself",
            big[0].stays > 0.8 and big[0].displacement < big[1].displacement,
            measured=(big[0].stays, big[0].displacement, big[1].displacement),
        ),
        check(
            "LAP tuned by 2β has the level of BA (within 6 %)",
            all(abs(ba / lap - 1) < 0.06 and abs(lap / (2 * beta) - 1) < 1e-3 for beta, (ba, lap) in levels.items()),
            whose=f"{PAPER}, Sec. 3.3, tuning",
            expected=tuple(lap for _, lap in levels.values()),
            measured=tuple(ba for ba, _ in levels.values()),
            because="exact ε of BA, and of planar Laplace rounded and clamped to the grid",
        ),
        check(
            "the levels listed begin at .4: the least ε drawn here, too",
            min(2 * beta for beta in BETAS) == 0.4,
            whose=f"{PAPER}, Sec. 3.3, ε = 0.2",
            measured=2 * min(BETAS),
        ),
        check(
            "strong place: BA and LAP behave similarly (within a quarter of a cell at ε = 1.6)",
            abs(strong[0].displacement - strong[1].displacement) < 0.25,
            whose=f"{PAPER}, Fig. 2b",
            measured=(strong[0].displacement, strong[1].displacement),
        ),
        cannot_check(
            "from either report the nearest place of interest is about as far",
            whose=f"{PAPER}, Sec. 3.3, POI",
            because="how similar, and where such places are, is not said: with 40 drawn like the people "
            + ", ".join(f"{ba:.2f} and {lap:.2f} cells at ε = {2 * beta:g}" for beta, (ba, lap) in trips.items()),
        ),
        near("big island: mean displacement with BA", big[0].displacement, 0.47, tolerance=0.02, relative=False),
    )
    return Reproduction(
        "privic-figure-2",
        "Figure 2: elastic behaviour around an island in Paris",
        {"elasticity": rows},
        claims,
        Picture(panels, "Where the vulnerable place is reported", columns=4),
        (
            "LAP is planar Laplace noise from a cell's centre, clamped to the rectangle and snapped to a cell.",
            "Elasticity follows the island's mass: it is camouflage for the few, not a guarantee for the isolated.",
        ),
    )
