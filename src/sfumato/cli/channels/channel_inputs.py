"""From the files and options of the channel commands to priors, places, distortions and prior sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.things.cell_files import CellTable, read_cells, read_matrix
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.things.channel import Channel
from sfumato.base.things.grid import Grid, metres_per_degree, plane_deviation
from sfumato.base.units import length_m
from sfumato.channels.files.channel_files import read_channel
from sfumato.channels.measures.discrete import hamming
from sfumato.channels.priors.prior_sets import Box, EveryPrior, Polytope, PriorSet, TVBall, prior_from_counts

PRIOR_HELP = "One probability or count per line (see `channel design --help` for the format)."
GRID_HELP = "ROWSxCOLUMNS: the prior's lines are cells, from north-west."
CELL_SIZE_HELP = "Side of a cell of --grid, for example 500m; else 1."
FLOOR_HELP = "Mix the prior with this share of the uniform one."
JSON_HELP = "Print one JSON object."
WIDTH_HELP = "The picture's width in print, in mm: 84 for one column of most journals, 174 for the page."


def grid_of(shape: str | None, cell_size: str | None) -> Grid | None:
    """``--grid 6x8 --cell-size 500m``: rows x columns, row 0 in the north; without a size the unit is one cell."""
    if shape is None:
        if cell_size is not None:
            raise InputError("--cell-size needs --grid.", "Add --grid ROWSxCOLUMNS.")
        return None
    parts = shape.lower().split("x")
    if len(parts) != 2 or not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise InputError(f"'{shape}' is not a grid.", "Write --grid ROWSxCOLUMNS, for example 6x8.")
    size = 1.0 if cell_size is None else length_m(cell_size)
    return Grid.plain(int(parts[0]), int(parts[1]), size, size, unit="cell" if cell_size is None else "m")


def positions_of(table: CellTable) -> tuple[FloatArray | None, float]:
    """Places in metres, and the largest relative error of the plane they are measured in."""
    if table.x_m is not None and table.y_m is not None:
        return np.column_stack([table.x_m, table.y_m]), 0.0
    if table.lat_deg is None or table.lon_deg is None:
        return None, 0.0
    lat, lon = table.lat_deg, table.lon_deg % 360.0
    if np.abs(lat).max(initial=0.0) > 89.9:
        raise InputError("A cell lies at a pole, where degrees are no places.", "Give x_m and y_m.")
    # The plane is cut open at the largest gap in longitude, wherever that is on the globe.
    around = np.sort(lon)
    gaps = np.diff(around, append=around[:1] + 360.0)
    west = around[(int(np.argmax(gaps)) + 1) % around.size]
    east_deg = (lon - west) % 360.0
    if east_deg.max(initial=0.0) > 180:
        raise InputError("The cells span more than 180 degrees of longitude.", "Give x_m and y_m, or fewer cells.")
    middle = 0.5 * float(lat.min() + lat.max())
    north_m, east_m = metres_per_degree(middle)
    positions = np.column_stack([east_deg * east_m, (lat - middle) * north_m])
    if lat.size > 1_500:  # the extremes decide; all pairs would be many
        rank = np.lexsort((lat, east_deg)), np.lexsort((east_deg, lat))
        ends = np.unique(np.concatenate([part for order in rank for part in (order[:300], order[-300:])]))
    else:
        ends = np.arange(lat.size)
    return positions, plane_deviation(positions[ends], lat[ends], lon[ends])


def counts_or_probabilities(values: FloatArray) -> tuple[FloatArray, bool]:
    """The values as probabilities, and whether they were counts; neither is refused."""
    if values.min() < 0:
        raise InputError("The prior has a negative value.", "Probabilities and counts are at least 0.")
    total = float(values.sum())
    if total <= 0:
        raise InputError("The prior is 0 everywhere.", "Give probabilities or counts.")
    if abs(total - 1) <= 1e-6:
        return values / total, False
    if np.any(values != np.round(values)):
        raise InputError(
            f"The prior sums to {total:.6g}: these are neither probabilities nor counts.",
            "Probabilities sum to 1 (within 1e-6); counts are whole numbers.",
        )
    return values / total, True


def prior_of(
    path: Path, *, grid: Grid | None, floor: float, drop_zeros: bool, keep_zeros: bool = False
) -> tuple[CellPrior, FloatArray | None, float]:
    """The prior of a file with places where it or the grid gives them, the counts if it held counts, and by which
    share a distance between places may be off.
    """
    if not 0 <= floor < 1:
        raise InputError(f"The floor is {floor}.", "It is a share between 0 and 1, for example 0.01.")
    table = read_cells(path)
    probabilities, counted = counts_or_probabilities(table.values)
    positions, error = positions_of(table)
    if error > 0.02:
        raise InputError(
            f"The cells span so much of the earth that distances in one plane are off by {error:.0%}.",
            "Give x_m and y_m in a projection of your choice.",
        )
    labels = table.labels
    if grid is not None:
        if grid.cells != probabilities.size:
            raise InputError(f"The grid has {grid.cells} cells and the prior {probabilities.size}.", "They must match.")
        error = _disagreement(positions, error, grid)
        positions = grid.centres()
        labels = labels or grid.labels()
    prior = CellPrior(probabilities, labels=labels, positions_m=positions)
    counts: FloatArray | None = table.values if counted else None
    if floor:
        prior = prior.with_floor(floor)
    if prior.zeros.size and not keep_zeros:
        if not drop_zeros:
            raise InputError(
                f"{prior.zeros.size} symbol(s) have prior probability 0: nothing can be promised about them.",
                "Give them a share in the file, or leave them out of it; `channel design` and `channel measure` do "
                "either with --floor 0.01 or --drop-zeros.",
            )
        prior, kept = prior.without_zeros()
        counts = None if counts is None else counts[kept]
    return prior, counts, error


def plain_prior(path: Path) -> CellPrior:
    """The prior of a file as it stands; one with zeros is refused."""
    return prior_of(path, grid=None, floor=0.0, drop_zeros=False)[0]


def _disagreement(positions: FloatArray | None, error: float, grid: Grid) -> float:
    """By which share the grid's distances are off, from the file's own places if it has any; refused above 1 %."""
    if positions is None:
        return 0.0
    if grid.unit != "m":
        raise InputError(
            "The prior file has coordinates and --grid has no size to compare them with.",
            "Add --cell-size, for example 500m, or leave --grid out.",
        )
    off = 0.0
    for cell in range(grid.cells):
        there = np.hypot(*(positions - positions[cell]).T)
        here = grid.distances_from(cell)
        apart = here > 0
        off = max(off, float(np.abs(there[apart] / here[apart] - 1).max(initial=0.0)))
    if off > 0.01:
        raise InputError(
            f"The coordinates of the prior file and the --grid disagree: distances differ by up to {off:.0%}.",
            "Cells go row by row from the north-west; check the order, --grid and --cell-size, or leave --grid out.",
        )
    return (1 + off) * (1 + error) - 1


def match_prior(prior: CellPrior, channel: Channel, *, named: bool) -> CellPrior:
    """The prior in the order of the channel's inputs; by label where both have labels, else by position."""
    if prior.size != channel.shape[0]:
        raise InputError(
            f"The prior has {prior.size} symbols and the channel {channel.shape[0]} inputs.",
            "They must match; use the prior the channel was designed for.",
        )
    default = tuple(str(index) for index in range(prior.size))
    if not named or prior.labels == channel.inputs:
        return prior
    if set(prior.labels) != set(channel.inputs):
        if channel.inputs == default:  # a bare matrix has no labels of its own
            return prior
        missing = len(set(channel.inputs) - set(prior.labels))
        raise InputError(
            f"The prior lacks {missing} of the channel's inputs by label.", "Use the same labels, or leave them out."
        )
    order = np.array([prior.labels.index(label) for label in channel.inputs])
    positions = None if prior.positions_m is None else prior.positions_m[order]
    return CellPrior(prior.probabilities[order], labels=channel.inputs, positions_m=positions)


def design_distortion(name: str, prior: CellPrior) -> FloatArray:
    """``hamming``, ``euclidean`` or a file, for a design whose outputs are the inputs (or the file's columns)."""
    if name == "hamming":
        return hamming(prior.size)
    if name == "euclidean":
        return prior.distances_m()
    matrix = read_matrix(name)
    if matrix.shape[0] != prior.size:
        raise InputError(f"The distortion has {matrix.shape[0]} rows for {prior.size} symbols.", "One row per symbol.")
    if matrix.min() < 0:
        raise InputError("The distortion has negative entries.", "Distortions are at least 0.")
    return matrix


def measured_distortion(name: str | None, channel: Channel, prior: CellPrior) -> tuple[FloatArray, str]:
    """What ``measure`` uses: --distortion, else what the channel records, else Hamming by label."""
    if name is None and channel.distortion is not None:
        return channel.distortion, channel.distortion_name or "recorded in the channel"
    if name in (None, "hamming"):
        where = np.array(channel.inputs)[:, None] == np.array(channel.outputs)[None, :]
        return 1.0 - where, "hamming"
    if name == "euclidean":
        positions = prior.positions_m if prior.positions_m is not None else channel.positions_m
        if positions is None:
            raise InputError(
                "There are no coordinates for the euclidean distortion.",
                "Add columns lat and lon, or x_m and y_m, to the prior file.",
            )
        unknown = [label for label in channel.outputs if label not in channel.inputs]
        if unknown:
            raise InputError(f"{len(unknown)} output(s) are not inputs and have no place.", "Give a distortion file.")
        at = positions[[channel.inputs.index(label) for label in channel.outputs]]
        return np.hypot(*(positions[:, None, :] - at[None, :, :]).transpose(2, 0, 1)), "euclidean"
    assert name is not None
    matrix = read_matrix(name)
    if matrix.shape != channel.shape:
        raise InputError(f"The distortion is {matrix.shape} and the channel {channel.shape}.", "They must match.")
    if matrix.min() < 0:
        raise InputError("The distortion has negative entries.", "Distortions are at least 0.")
    return matrix, name


def prior_set_of(text: str | None, prior: CellPrior, counts: FloatArray | None, beta: float) -> PriorSet | None:
    """``--priors known | all | tv:0.05 | polytope:FILE | box:FILE | clopper-pearson | weissman`` as a set."""
    if text in (None, "known"):
        return None
    if text == "all":
        return EveryPrior(prior.size)
    assert text is not None
    if text.startswith("tv:"):
        try:
            radius = float(text[3:])
        except ValueError as error:
            raise InputError(f"'{text}' has no radius.", "Write tv:0.05.") from error
        return TVBall(prior.probabilities, radius)
    kind, _, file = text.partition(":")
    if kind in ("polytope", "box") and file:
        return _set_of_rows(kind, read_matrix(file), prior.size)
    if text in ("clopper-pearson", "weissman"):
        if counts is None:
            raise InputError(f"--priors {text} needs counts.", "Give a prior file of whole-number counts.")
        return prior_from_counts(counts, beta=beta, method="weissman" if text == "weissman" else "clopper-pearson")
    raise InputError(
        f"There is no prior set '{text}'.",
        "Use known, all, tv:RADIUS, polytope:FILE, box:FILE, clopper-pearson or weissman.",
    )


def _set_of_rows(kind: str, rows: FloatArray, symbols: int) -> PriorSet:
    if rows.shape[1] != symbols:
        raise InputError(f"The {kind} has {rows.shape[1]} columns for {symbols} symbols.", "One column per symbol.")
    if kind == "polytope":
        return Polytope(rows)
    if rows.shape[0] != 2:
        raise InputError(
            f"The box has {rows.shape[0]} rows.", "The first row holds lower bounds, the second upper ones."
        )
    return Box(rows[0], rows[1])


def first_weights(path: Path, prior: FloatArray) -> FloatArray:
    """The output weights Σ p(x) C(y|x) of a first channel, or the weights themselves where the file has one row."""
    matrix = read_matrix(path) if path.suffix.lower() == ".csv" else read_channel(path).matrix
    if 1 in matrix.shape and matrix.shape[0] != prior.size:
        return np.asarray(matrix.reshape(-1))
    if matrix.shape == (prior.size, 1):
        return np.asarray(matrix[:, 0])
    if matrix.shape[0] != prior.size:
        raise InputError(f"The first channel has {matrix.shape[0]} rows for {prior.size} symbols.", "They must match.")
    return np.asarray(prior @ (matrix / matrix.sum(axis=1, keepdims=True)))
