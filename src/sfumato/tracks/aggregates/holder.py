"""A table of everybody for the public, from the raw data of whoever holds it: user-level differential privacy.

What one person adds is bounded (:mod:`.contributions`), the counts get noise by OpenDP (:mod:`.opendp_noise`), and what
follows looks at noisy counts only (:mod:`.levels`). What the rows of the table are must be public: cells of a
rectangle, areas or values that are given. Names that only the data knows are released from a threshold on, for a
probability δ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from sfumato.accountant.compose import USER_LEVEL, Guarantee, composition
from sfumato.accountant.ledger import Entry, amount, record
from sfumato.base.arrays import BoolArray, FloatArray, IntArray, inside_one, positive
from sfumato.base.errors import InputError
from sfumato.base.randomness import Random, Randomness, randomness
from sfumato.base.things.areas import Areas, Polygon
from sfumato.base.things.grid import Grid
from sfumato.base.things.hexagons import HexCells
from sfumato.tracks.aggregates.bound_choice import SHARE, chosen_bound
from sfumato.tracks.aggregates.contributions import PARTS, at_most, rows_each, shared_out
from sfumato.tracks.aggregates.levels import Levels
from sfumato.tracks.aggregates.noise_law import UseOfData, reach_of, seldom_of
from sfumato.tracks.aggregates.opendp_noise import library_words, noisy_keys
from sfumato.tracks.aggregates.person_rows import Data, PersonRows, TableColumns
from sfumato.tracks.aggregates.public_table import PublicTable, Question, TableTerms, guarantee_of
from sfumato.tracks.answers.maps.cells import Bounds, Cells, outlines
from sfumato.tracks.answers.received import check_confidence

LEAST = 10
SELDOM = 0.01  # so often a key that nobody has would be shown
MOST_KEYS = 4_000_000
_COUNTED: Mapping[Question, str] = {"heatmap": "points", "flows": "trips", "counts": "places"}


@dataclass(frozen=True, slots=True)
class HeldLedger:
    """A ledger file of one data set's people: ``cap`` (ε) starts it, ``dataset`` is the name of its line."""

    path: str | Path
    cap: float | None = None
    dataset: str = "everybody"

    def enter(self, promise: Guarantee, question: str) -> dict[str, object]:
        """Enter a release before it leaves; past the cap it is refused. The totals with it."""
        entry = {name: float(promise.parameters[name]) for name in ("epsilon", "delta")}
        after = record(self.path, self.dataset, {"release": question, **entry}, user_level_total, cap=self.cap)
        mine = after.entries[self.dataset]
        return {"releases": len(mine), "epsilon": user_level_total(mine), "cap": after.cap}


def user_level_total(entries: Sequence[Entry]) -> float:
    """ε of all tables about the same people together: the rule of their ledger."""
    each = [{name: amount(entry, name) for name in ("epsilon", "delta")} for entry in entries]
    stated = [Guarantee(notion=USER_LEVEL, parameters=one) for one in each]
    return float(composition(stated, reporting="every-cycle").parameters["epsilon"]) if stated else 0.0


def publish(
    data: Data,
    question: Question = "heatmap",
    *,
    epsilon: float,
    delta: float | None = None,
    person: str | None = None,
    trip: str | None = None,
    columns: Mapping[str, str] | None = None,
    zone: str | None = None,
    cell_m: float | None = None,
    h3: int | None = None,
    areas: Areas | None = None,
    bounds: Bounds | None = None,
    by: Sequence[str] = (),
    values: Sequence[str] | None = None,
    weight: str = "people",
    most: int | None = None,
    least: int = LEAST,
    confidence: float = 0.9,
    ledger: HeldLedger | None = None,
    rng: Random = None,
) -> PublicTable:
    """Everybody's heat map, trips from where to where, or how many people were in each area.

    ``heatmap`` divides every person over the cells as their rows are (``weight="points"`` counts rows), ``flows``
    counts trips (first to last point of each ``trip``, or rows of two columns ``by``), ``counts`` people (by cell, or
    by the text in the column ``by``). ``most`` rows of one person count; without it as many as a tenth of ``epsilon``
    chooses.
    """
    asked = _Asked(question, positive(epsilon, "epsilon"), delta, weight, most, least, confidence, ledger)
    asked.check()
    source, table = randomness(rng), TableColumns(data, person, trip, columns, zone)
    names = tuple(by)
    if names:
        if any(one is not None for one in (cell_m, h3, areas, bounds)):
            raise InputError("Rows of the table are columns of the data, or cells.", "Give --by, or cells.")
        if len(names) != (2 if question == "flows" else 1):
            raise InputError(f"{question} --by {len(names)} column(s).", "One column of places; two for flows.")
        if (values is None) == (delta is None):
            raise InputError(
                "Which values there are is data.",
                "Give all values there may be (--values FILE), or a probability to hide them by (--delta 1e-6).",
            )
        return asked.of_columns(table, names, values, source)
    if delta is not None or values is not None:
        raise InputError("Cells are public as they are.", "Leave --delta and --values to columns (--by).")
    return asked.of_cells(table, public_cells(cell_m, h3, areas, bounds), source)


def public_cells(cell_m: float | None, h3: int | None, areas: Areas | None, bounds: Bounds | None) -> Cells:
    """Cells chosen without the data: the rectangle must be given, for the data's own would tell of somebody."""
    if sum(one is not None for one in (cell_m, h3, areas)) != 1:
        raise InputError("Cells are one of three kinds.", "Give --cell 500m, --h3 8, or --areas districts.geojson.")
    if areas is not None:
        return areas
    if bounds is None:
        raise InputError(
            "Where the table is must not be told by the data: its rectangle is somebody's farthest point.",
            "Give --bounds south,west,north,east, or --areas.",
        )
    if cell_m is not None:
        return Grid.from_bounds(*bounds, cell_size_m=cell_m)
    south, west, north, east = bounds
    return HexCells.from_bounds(south, west, north, east, resolution=int(h3 or 0))


@dataclass(frozen=True, slots=True)
class _Asked:
    question: Question
    epsilon: float
    delta: float | None
    weight: str
    most: int | None
    least: int
    confidence: float
    ledger: HeldLedger | None

    def check(self) -> None:
        """Refuse what has no meaning, before anything is read."""
        if self.question not in _COUNTED:
            raise InputError(f"There is no table '{self.question}'.", f"Use {', '.join(_COUNTED)}.")
        if self.weight not in ("people", "points") or (self.weight == "points" and self.question != "heatmap"):
            raise InputError(f"There is no weight '{self.weight}' here.", "Heat maps weigh people, or points.")
        check_confidence(self.confidence)
        if self.delta is not None:
            inside_one(self.delta, "delta")
        for name, number in (("--most", self.most), ("--least", self.least)):
            if number is not None and (isinstance(number, bool) or int(number) != number or number < 1):
                raise InputError(f"{name} is {number}.", "Give a whole number from 1.")
        if self.divided and self.most is not None:
            raise InputError("Every person counts as one.", "Leave --most, or take --weight points.")
        library_words()

    @property
    def divided(self) -> bool:
        """Whether every person is divided over the cells, and nobody need be bounded."""
        return self.question == "heatmap" and self.weight == "people"

    def bound_people(
        self, rows: PersonRows, keys: int, source: Randomness
    ) -> tuple[IntArray, int, str, list[UseOfData], float]:
        """Counts of bounded people, the bound, who chose it, what that cost, and the ε left."""
        if self.divided:
            return shared_out(rows, keys), PARTS, "every person weighs the same", [], self.epsilon
        if self.question == "counts":
            rows = rows.once_each(keys)
        if self.most is not None:
            return at_most(rows, keys, self.most, source), self.most, "stated by the holder", [], self.epsilon
        bound, spent = chosen_bound(rows_each(rows), epsilon=SHARE * self.epsilon, source=source)
        if self.question == "counts" and self.delta is None:
            bound = min(bound, keys)  # nobody is in more places than there are
        chosen = f"chosen from a noisy histogram, for {SHARE:g} of epsilon"
        return at_most(rows, keys, bound, source), bound, chosen, [spent], (1 - SHARE) * self.epsilon

    def of_cells(self, table: TableColumns, cells: Cells, source: Randomness) -> PublicTable:
        """Of cells, or of pairs of them."""
        many = cells.cells**2 if self.question == "flows" else cells.cells
        _check_size(many)
        rows = table.between_cells(cells) if self.question == "flows" else table.in_cells(cells)
        kind: dict[str, object] = {"kind": cells.kind, "public": True, "cells": cells.cells}
        if isinstance(cells, Grid):
            kind["grid"] = cells.to_dict()
        made = self._counted(rows, many, source, cells if self.question == "heatmap" else None, kind)
        if self.question == "flows":
            start, end = np.divmod(made.shown, cells.cells)
            labels = cells.labels()
            names = {"from": [labels[one] for one in start], "to": [labels[one] for one in end]}
            return made.table(cells, names, pairs=np.column_stack([start, end]))
        if made.blocks is not None:
            areas, sizes = _rectangles(cells, made.blocks)
            return made.table(areas, {"area": areas.names}, sizes=sizes)
        labels = cells.labels()
        return made.table(cells, {"area": [labels[one] for one in made.shown]})

    def of_columns(
        self, table: TableColumns, names: Sequence[str], values: Sequence[str] | None, source: Randomness
    ) -> PublicTable:
        """Of texts in a column, or of pairs of them."""
        given = None if values is None else list(dict.fromkeys(text.strip() for text in values if text.strip()))
        rows, texts = table.by_columns(names, given)
        many = len(texts) ** len(names)
        kind: dict[str, object] = {"kind": "columns", "public": values is not None, "by": list(names)}
        if given is not None:
            _check_size(many)
            kind["cells"] = many
            made = self._counted(rows, many, source, None, kind)
        else:
            made = self._hidden_names(rows, source, kind)
        parts = np.divmod(made.shown, len(texts)) if len(names) == 2 else (made.shown,)
        return made.table(None, {name: [texts[one] for one in part] for name, part in zip(names, parts, strict=True)})

    def _counted(
        self, rows: PersonRows, keys: int, source: Randomness, cells: Cells | None, kind: Mapping[str, object]
    ) -> _Made:
        counts, bound, bound_by, spent, left = self.bound_people(rows, keys, source)
        parts = PARTS if self.divided else 1
        levels = Levels.of_grid(cells) if isinstance(cells, Grid) else Levels.one_block(keys)
        if self.question == "counts":  # people in several areas: nothing adds up
            levels = replace(levels, parents=levels.parents[1:], sides=levels.sides[1:])
        noisy, costs = levels.measure(counts, bound=bound, epsilon=left, source=source)
        least = max(self.least, -(-seldom_of(costs[-1].scale, SELDOM) // parts))
        whole = levels.whole(levels.consistent(noisy, costs), parts)
        terms = self._terms(kind, bound, bound_by, [*spent, *costs], least, source)
        total = None if self.question == "counts" else int(whole[0].sum())
        if isinstance(cells, Grid):
            shown = levels.told_apart(noisy, costs, confidence=self.confidence, least=least * parts)
        else:
            shown = [np.zeros(len(one), dtype=bool) for one in noisy[:-1]] + [np.ones(keys, dtype=bool)]
        reach = [reach_of(cost.scale, self.confidence) for cost in costs]
        count, low, high = (
            np.concatenate([values[at] for values, at in zip(every, shown, strict=True)])
            for every in (
                [one.astype(np.float64) for one in whole],
                [np.floor((one - t) / parts) for one, t in zip(noisy, reach, strict=True)],
                [np.ceil((one + t) / parts) for one, t in zip(noisy, reach, strict=True)],
            )
        )
        low, high = np.clip(np.minimum(low, count), 0.0, None), np.maximum(np.maximum(high, count), 0.0)
        blocks = list(zip(levels.sides, shown, strict=True)) if isinstance(cells, Grid) else None
        at = np.arange(keys) if blocks is None else np.arange(len(count))
        if self.question == "flows":
            some = count >= least
            at, count, low, high = at[some], count[some], low[some], high[some]
        return _Made(terms | {"total": total}, at, count, low, high, blocks)

    def _hidden_names(self, rows: PersonRows, source: Randomness, kind: Mapping[str, object]) -> _Made:
        there, key = np.unique(rows.key, return_inverse=True)
        counts, bound, bound_by, spent, left = self.bound_people(PersonRows(rows.person, key), len(there), source)
        found = {int(at): count for at, count in zip(there, counts.tolist(), strict=True) if count}
        assert self.delta is not None
        released, cost = noisy_keys(
            "names of the data", found, bound=bound, epsilon=left, delta=self.delta, source=source
        )
        at = np.array(list(released), dtype=np.int64)
        count = np.array(list(released.values()), dtype=np.float64)
        reach, least = reach_of(cost.scale, self.confidence), max(self.least, int(cost.threshold or 0))
        some = count >= least
        terms = self._terms(kind, bound, bound_by, [*spent, cost], least, source)
        return _Made(terms, at[some], count[some], np.maximum(count - reach, 0.0)[some], (count + reach)[some], None)

    def _terms(
        self,
        kind: Mapping[str, object],
        bound: int,
        bound_by: str,
        spent: Sequence[UseOfData],
        least: int,
        source: Randomness,
    ) -> TableTerms:
        terms: TableTerms = {
            "question": self.question,
            "counted": "people" if self.divided else _COUNTED[self.question],
            "keys": kind,
            "bound": bound,
            "parts": PARTS if self.divided else 1,
            "bound_by": bound_by,
            "spent": [asdict(one) for one in spent],
            "least": least,
            "confidence": self.confidence,
            "total": None,
            "columns": [],
            "rows": 0,
            "simulation": source.simulation,
            "library": library_words(),
            "ledger": None,
        }
        if self.ledger is None:
            return terms
        return terms | {"ledger": self.ledger.enter(guarantee_of(terms), self.question)}


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """Counts of the keys ``shown``; ``blocks`` of cells by side, and which of them, where there are several levels."""

    terms: TableTerms
    shown: IntArray
    count: FloatArray
    low: FloatArray
    high: FloatArray
    blocks: list[tuple[int, BoolArray]] | None

    def table(
        self,
        cells: Cells | None,
        names: Mapping[str, Sequence[str]],
        *,
        pairs: IntArray | None = None,
        sizes: IntArray | None = None,
    ) -> PublicTable:
        """With what the rows are called; counts below the least are blank."""
        few = self.count < self.terms["least"]
        numbers = [np.where(few, np.nan, one) for one in (self.count, self.low, self.high)]
        made = PublicTable(cells, pairs, names, sizes, numbers[0], numbers[1], numbers[2], self.terms)
        found = made.to_table()
        return replace(made, terms=self.terms | {"columns": found.column_names, "rows": found.num_rows})


def _check_size(keys: int) -> None:
    if keys > MOST_KEYS:
        raise InputError(
            f"The table would have {keys} rows, and every one of them gets noise.",
            f"At most {MOST_KEYS}: take larger cells, a smaller rectangle, or areas.",
        )


def _rectangles(cells: Cells, blocks: Sequence[tuple[int, BoolArray]]) -> tuple[Areas, IntArray]:
    """The blocks shown as areas, and of how many cells each is made."""
    assert isinstance(cells, Grid)
    corners = np.array([rings[0][0] for rings in outlines(cells)])  # of each cell its ring, south-west corner first
    names, shapes, sizes = [], [], []
    for side, shown in blocks:
        wide = -(-cells.columns // side)
        for block in np.flatnonzero(shown).tolist():
            top, left = (place * side for place in divmod(block, wide))
            bottom, right = min(top + side, cells.rows) - 1, min(left + side, cells.columns) - 1
            names.append(f"r{top}c{left}" if side == 1 else f"r{top}-{bottom}c{left}-{right}")
            south_west, north_east = corners[bottom * cells.columns + left], corners[top * cells.columns + right]
            (west, south), (east, north) = south_west.min(axis=0), north_east.max(axis=0)
            ring = np.array([[west, south], [east, south], [east, north], [west, north], [west, south]])
            shapes.append((Polygon((ring,)),))
            sizes.append((bottom - top + 1) * (right - left + 1))
    return Areas(tuple(names), tuple(shapes)), np.array(sizes, dtype=np.int64)
