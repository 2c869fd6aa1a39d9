"""Where a campaign begins: the first map θ_0, and the channel of its first cycle.

[Biswas2023, Sec. 5] starts from "any full-support PMF". A start that holds almost everything in one cell is one, and
the loop leaves it slowly: the update multiplies what is there, and a channel made for it reports that cell alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.base.arrays import FloatArray, positive, read_only
from sfumato.base.errors import InputError
from sfumato.base.randomness import randomness
from sfumato.base.things.cell_files import read_cells
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.blahut_arimoto import blahut_arimoto
from sfumato.collect.grids.grid_channel import GridChannel, uniform_channel

SPIKE = 0.9


def start_named(text: str, grid: Grid, *, seed: int = 0) -> FloatArray:
    """``uniform``, ``spike:CELL`` (nine tenths there, or ``spike:CELL:SHARE``), ``random``, or a file of values.

    Every start has full support: the rest of a spike is spread evenly, a random one is a flat Dirichlet draw of
    ``seed``, and a file with a zero is refused.
    """
    name, _, rest = text.partition(":")
    if name == "uniform" and not rest:
        return read_only(np.full(grid.cells, 1.0 / grid.cells))  # type: ignore[no-any-return]
    if name == "random" and not rest:
        gaps = -np.log(randomness(seed).uniforms((grid.cells,)))
        return read_only(gaps / gaps.sum())  # type: ignore[no-any-return]
    if name == "spike":
        return _spike(rest, grid)
    if not Path(text).is_file():
        raise InputError(
            f"There is no start '{text}'.", "Use uniform, spike:CELL, random, or a file of one value per cell."
        )
    values = read_cells(Path(text)).values
    if values.size != grid.cells:
        raise InputError(
            f"The start has {values.size} values for {grid.cells} cells.", "Give one per cell, row by row."
        )
    if values.min() <= 0:
        raise InputError(
            "The start gives a cell nothing: the update can never find anybody there.",
            "Give every cell a little, for example a hundredth spread evenly.",
        )
    return read_only(values / values.sum())  # type: ignore[no-any-return]


def _spike(rest: str, grid: Grid) -> FloatArray:
    cell, _, share = rest.partition(":")
    try:
        place, mass = int(cell), float(share) if share else SPIKE
    except ValueError as error:
        raise InputError(f"'spike:{rest}' names no cell.", "Write spike:93 or spike:93:0.99.") from error
    if not 0 <= place < grid.cells or not 0 < mass < 1:
        raise InputError(
            f"'spike:{rest}' is not a start.", f"The cells are 0 .. {grid.cells - 1}; a share lies between 0 and 1."
        )
    theta = np.full(grid.cells, (1 - mass) / grid.cells)
    theta[place] += mass
    return read_only(theta)  # type: ignore[no-any-return]


def first_channel_named(text: str | None, grid: Grid) -> GridChannel | None:
    """The channel of the first cycle: None or ``blahut-arimoto`` follows θ_0; ``laplace:EPSILON`` is row-normalised
    exponential noise of that exact epsilon; ``rate:K`` is exp(-K d) by rows, whose exact epsilon may exceed K."""
    if text is None or text == "blahut-arimoto":
        return None
    name, _, value = text.partition(":")
    try:
        number = positive(float(value), name)
    except ValueError as error:
        raise InputError(
            f"'{text}' is not a first channel.", "Use blahut-arimoto, laplace:EPSILON (exact) or rate:K."
        ) from error
    if name == "laplace":
        flat = np.full(grid.cells, 1.0 / grid.cells)
        return blahut_arimoto(flat, grid, epsilon=number, steps=1, floor=0.0).value
    if name == "rate":
        return uniform_channel(grid, number)
    raise InputError(f"'{text}' is not a first channel.", "Use blahut-arimoto, laplace:EPSILON (exact) or rate:K.")
