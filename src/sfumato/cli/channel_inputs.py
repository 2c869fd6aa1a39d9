"""From the files and options of the channel commands to priors, places, distortions and prior sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.channel import Channel
from sfumato.errors import InputError
from sfumato.grid import Grid, metres_per_degree
from sfumato.io.cells import CellTable, read_cells, read_matrix
from sfumato.priors.cells import CellPrior
from sfumato.priors.sets import PriorSet, Simplex, TVBall, prior_from_counts


def grid_of(shape: str | None, cell_size: str | None) -> Grid | None:
    """``--grid 6x8 --cell-size 500m``: rows x columns, row 0 in the north; without a size the unit is one cell."""
    from sfumato.units import length_m

    if shape is None:
        if cell_size is not None:
            raise InputError("--cell-size needs --grid.", "Add --grid ROWSxCOLUMNS.")
        return None
    parts = shape.lower().split("x")
    if len(parts) != 2 or not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise InputError(f"'{shape}' is not a grid.", "Write --grid ROWSxCOLUMNS, for example 6x8.")
    size = 1.0 if cell_size is None else length_m(cell_size)
    return Grid.plain(int(parts[0]), int(parts[1]), size, size)


def positions_of(table: CellTable) -> tuple[FloatArray | None, float]:
    """Places in metres, and the largest relative error of the plane they are measured in."""
    if table.x_m is not None and table.y_m is not None:
        return np.column_stack([table.x_m, table.y_m]), 0.0
    if table.lat_deg is None or table.lon_deg is None:
        return None, 0.0
    middle = 0.5 * float(table.lat_deg.min() + table.lat_deg.max())
    north_m, east_m = metres_per_degree(middle)
    east_deg = (table.lon_deg - table.lon_deg[0] + 180.0) % 360.0 - 180.0
    edges = [metres_per_degree(float(edge))[1] / east_m - 1 for edge in (table.lat_deg.min(), table.lat_deg.max())]
    positions = np.column_stack([east_deg * east_m, (table.lat_deg - middle) * north_m])
    return positions, max(abs(edge) for edge in edges)


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
) -> tuple[CellPrior, FloatArray | None]:
    """The prior of a file with places where it or the grid gives them, and the counts if it held counts."""
    if not 0 <= floor < 1:
        raise InputError(f"The floor is {floor}.", "It is a share between 0 and 1, for example 0.01.")
    table = read_cells(path)
    probabilities, counted = counts_or_probabilities(table.values)
    positions, error = positions_of(table)
    if error > 0.02:
        raise InputError(
            f"The cells span so many latitudes that distances in one plane are off by {error:.0%}.",
            "Give x_m and y_m in a projection of your choice.",
        )
    labels = table.labels
    if grid is not None:
        if grid.cells != probabilities.size:
            raise InputError(f"The grid has {grid.cells} cells and the prior {probabilities.size}.", "They must match.")
        positions = grid.centres()
        labels = labels or grid.labels()
    prior = CellPrior(probabilities, labels=labels, positions_m=positions)
    counts: FloatArray | None = table.values if counted else None
    if floor:
        prior = prior.floored(floor)
    if prior.zeros.size and not keep_zeros:
        if not drop_zeros:
            raise InputError(
                f"{prior.zeros.size} symbol(s) have prior probability 0: nothing can be promised about them.",
                "Give them a floor (--floor 0.01) or drop them on purpose (--drop-zeros).",
            )
        prior, kept = prior.without_zeros()
        counts = None if counts is None else counts[kept]
    return prior, counts


def matched(prior: CellPrior, channel: Channel, *, named: bool) -> CellPrior:
    """The prior in the order of the channel's inputs; by label where both have labels, else by position."""
    if prior.size != channel.shape[0]:
        raise InputError(
            f"The prior has {prior.size} symbols and the channel {channel.shape[0]} inputs.",
            "They must match; use the prior the channel was designed for.",
        )
    default = tuple(str(index) for index in range(prior.size))
    if not named or channel.inputs == default or prior.labels == channel.inputs:
        return prior
    if set(prior.labels) != set(channel.inputs):
        missing = len(set(channel.inputs) - set(prior.labels))
        raise InputError(
            f"The prior lacks {missing} of the channel's inputs by label.", "Use the same labels, or leave them out."
        )
    order = np.array([prior.labels.index(label) for label in channel.inputs])
    positions = None if prior.positions_m is None else prior.positions_m[order]
    return CellPrior(prior.probabilities[order], labels=channel.inputs, positions_m=positions)


def design_distortion(name: str, prior: CellPrior) -> FloatArray:
    """``hamming``, ``euclidean`` or a file, for a design whose outputs are the inputs (or the file's columns)."""
    from sfumato.leakage.discrete import hamming

    if name == "hamming":
        return hamming(prior.size)
    if name == "euclidean":
        return prior.distances_m()
    matrix = read_matrix(name)
    if matrix.shape[0] != prior.size:
        raise InputError(f"The distortion has {matrix.shape[0]} rows for {prior.size} symbols.", "One row per symbol.")
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
    return matrix, name


def prior_set_of(text: str | None, prior: CellPrior, counts: FloatArray | None, beta: float) -> PriorSet | None:
    """``--priors known | all | tv:0.05 | clopper-pearson | weissman`` as a set."""
    if text in (None, "known"):
        return None
    if text == "all":
        return Simplex(prior.size)
    assert text is not None
    if text.startswith("tv:"):
        try:
            radius = float(text[3:])
        except ValueError as error:
            raise InputError(f"'{text}' has no radius.", "Write tv:0.05.") from error
        return TVBall(prior.probabilities, radius)
    if text in ("clopper-pearson", "weissman"):
        if counts is None:
            raise InputError(f"--priors {text} needs counts.", "Give a prior file of whole-number counts.")
        return prior_from_counts(counts, beta=beta, method="weissman" if text == "weissman" else "clopper-pearson")
    raise InputError(f"There is no prior set '{text}'.", "Use known, all, tv:RADIUS, clopper-pearson or weissman.")
