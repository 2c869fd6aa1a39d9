"""A published table: its rows, the intervals of its counts, what it promises, and the file with its certificate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, TypedDict

import numpy as np
import pyarrow as pa

from sfumato.accountant.compose import USER_LEVEL, Guarantee
from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.shown import ShownAnswer
from sfumato.base.units import plain_number
from sfumato.base.version import __version__
from sfumato.tracks.answers.maps.cells import Cells
from sfumato.tracks.certificates.document import Sealed, Written, file_facts, with_seal

KIND = "sfumato published table certificate"
Question = Literal["heatmap", "flows", "counts"]
EXACT = "exact: whole numbers throughout, noise drawn by {} from its exact law"
SEEDED = "a simulation: noise drawn from a seed"
SIMULATED = "SIMULATION: a seed was given; whoever knows it takes the noise away. This protects nobody."


class TableTerms(TypedDict):
    """What a certificate says of a table, beside its promise."""

    question: Question
    counted: str
    keys: Mapping[str, object]
    bound: int
    parts: int
    bound_by: str
    spent: Sequence[Mapping[str, object]]
    least: int
    confidence: float
    total: int | None
    columns: Sequence[str]
    rows: int
    simulation: bool
    library: str
    ledger: Mapping[str, object] | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PublicTable(ShownAnswer):
    """Counts of cells, of pairs of cells, or of texts; NaN where a count is too small to be shown.

    ``cells`` are the areas that the rows are (the ends of ``pairs``, if there are any); None where ``names`` are texts
    of columns of the data. ``sizes`` says of how many of the asked cells each area is made.
    """

    cells: Cells | None
    pairs: IntArray | None
    names: Mapping[str, Sequence[str]]
    sizes: IntArray | None
    count: FloatArray
    low: FloatArray
    high: FloatArray
    terms: TableTerms

    drawn_from: ClassVar[str] = "Counts of everybody with differential privacy for each person"

    @property
    def drawn(self) -> FloatArray:
        """What a picture shows: counts for one asked cell of each area, those not shown as nothing."""
        return np.nan_to_num(self.count) / (1 if self.sizes is None else self.sizes)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to each person."""
        return guarantee_of(self.terms)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know."""
        return notes_of(self.terms)

    def to_table(self) -> pa.Table:
        """One row for each area, pair or text: ``count``, ``low``, ``high`` (null where too small to be shown)."""
        out: dict[str, object] = {name: pa.array(list(texts), pa.string()) for name, texts in self.names.items()}
        if self.cells is not None:
            lat, lon = self.cells.centres_deg()
            ends = {"": slice(None)} if self.pairs is None else {"from_": self.pairs[:, 0], "to_": self.pairs[:, 1]}
            for end, at in ends.items():
                out |= {f"{end}lat": lat[at], f"{end}lon": lon[at]}
        if self.sizes is not None:
            out["cells"] = self.sizes
        numbers = {"count": self.count, "low": self.low, "high": self.high}
        whole = {name: pa.array(values, pa.int64(), from_pandas=True) for name, values in numbers.items()}
        return pa.table(out | whole)

    def to_dict(self) -> dict[str, object]:
        """How it was made and what it promises, for ``--json``."""
        return {**self.terms, "guarantee": self.guarantee.to_dict(), "notes": list(self.notes)}

    def lines(self) -> list[str]:
        """What it is and what it promises, for a terminal: nothing in it was read off the data without noise."""
        shown = int((~np.isnan(self.count)).sum())
        rows = f"{self.terms['rows']} rows, {shown} with a count" if shown < self.terms["rows"] else f"{shown} rows"
        stated = self.guarantee.parameters
        spent = f"{USER_LEVEL[:1].upper()}{USER_LEVEL[1:]}: epsilon {stated['epsilon']:.4g}"
        if stated["delta"]:
            spent += f", delta {stated['delta']:.2g}"
        said = [f"{self.terms['question']}: {rows}.", f"{spent}. {self.guarantee.covers[0].capitalize()}.", *self.notes]
        return said if shown else [*said, *self._advice()]

    def _advice(self) -> list[str]:
        """Where nothing is shown and people count much: noise grows with what one adds, whatever the data are."""
        bound, least = self.terms["bound"], self.terms["least"]
        few = max(bound // 20, 1)
        if self.terms["parts"] > 1 or bound < 2:
            return []
        about = -(-least * few // bound)
        return [f"Nothing is shown: noise grows with what one person adds. --most {few}: counts from about {about}."]

    def certificate(self, file: str | Path, sign: Callable[[Written], Mapping[str, str]] | None = None) -> Sealed:
        """The certificate of the file that the table was written to."""
        about = {"kind": KIND, "format": 1, "sfumato": __version__, **self.to_dict(), "release": file_facts(file)}
        return with_seal(about, sign)


def guarantee_of(terms: TableTerms) -> Guarantee:
    """The promise, in numbers and in sentences, from what was done."""
    epsilon = math.fsum(float(use["epsilon"]) for use in terms["spent"])  # type: ignore[arg-type]
    delta = math.fsum(float(use["delta"]) for use in terms["spent"])  # type: ignore[arg-type]
    ledger = terms["ledger"]
    chance = f", but for a probability of {delta:.2g}" if delta else ""
    given = bool(terms["keys"].get("public"))
    return Guarantee(
        notion=USER_LEVEL,
        parameters={"epsilon": epsilon, "delta": delta, "odds": math.exp(epsilon)},
        assumes=(
            "all rows of one person carry one id (compared as texts without spaces around them, whole numbers alike "
            "however typed); rows without an id were left out",
            "what the rows are (cells, areas, names) was chosen without looking at the data"
            if given
            else "names that few people have are hidden by a threshold: which names there are is data",
            "nothing else that the data decided was told: no error, no time that the work took, no second attempt",
        ),
        covers=(
            f"one person, with everything they ever did: by this table the odds that they are in it move by a factor "
            f"of at most {plain_number(math.exp(epsilon))}{chance}, for whoever knows everybody else's rows",
            *((f"with the other releases in the holder's ledger ε is {ledger['epsilon']:g}",) if ledger else ()),
        ),
        not_covered=(
            "a person who has several ids, and several people together: for k of them ε is k times as large",
            "what is true of everybody: that a street is busy at eight is what the table is for",
            "whatever else is published about the same people: its ε adds to this one",
        ),
        numerics=SEEDED if terms["simulation"] else EXACT.format(terms["library"]),
        simulation=terms["simulation"],
    )


def notes_of(terms: TableTerms) -> tuple[str, ...]:
    """The rules by which the table was made, in words."""
    whole = 100 * terms["confidence"]
    lost = (
        f"Each person adds at most {terms['bound']} {terms['counted']} ({terms['bound_by']}): what anybody has beyond "
        "that is in no count and in no interval."
        if terms["parts"] == 1
        else "Each person counts as one, divided over the areas as their own rows are."
    )
    small = f"Counts below {terms['least']} are not shown, nor are their intervals."
    reach = (
        f"Intervals: {whole:g} % for the count of bounded rows; for each row that could be shown they miss in at most "
    )
    sums = "" if terms["total"] is None else f" Counts and those not shown add up to {terms['total']}."
    notes = (lost, small + sums, f"{reach}{100 - whole:g} of 100 tables.")
    return (SIMULATED, *notes) if terms["simulation"] else notes
