"""What is in the parts of a released dataset: columns, rows, people and their losses, counted again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.base.errors import VerificationFailed
from sfumato.tracks.certificates.build import Released, check_grid
from sfumato.tracks.certificates.verify import terms_of
from sfumato.tracks.folders.folder_fields import Crowd, FolderDocument, OwnLosses
from sfumato.tracks.folders.rows.dataset import ROUND_ROWS
from sfumato.tracks.folders.rows.people_notes import (
    BLOCK,
    FEW,
    HIDDEN,
    LOCAL,
    NO_NOISE,
    Sample,
    absolute,
    losses_over_people,
    not_stated,
    over_people,
)
from sfumato.tracks.people.layout import Layout, seven_decimals
from sfumato.tracks.people.rows import by_person, read_rows
from sfumato.tracks.plan import Times

_LOST = "Get the release again."


def check_rows(document: FolderDocument, folder: Path, *, ignore_wording: bool) -> tuple[Crowd, list[str], list[str]]:
    """The certificate's block of people as the parts have it, what was checked, and what should be noted."""
    checks, notes = ["columns, rows and people of every part"], list[str]()
    snap_m = None if document["noise"] is None else float(document["noise"]["snap_m"])
    sample = Sample(_unseen(document, folder))
    found, gridded = _check_parts(document, folder, snap_m, sample)
    if snap_m is not None and gridded:
        checks.append(f"positions on the public {snap_m:g} m grid")
    elif snap_m is not None:
        notes.append("The positions' type is too coarse for the public grid: that they lie on it was not checked.")
    if BLOCK in document["people"]:
        found[BLOCK] = _losses(document, sample, found["people"], ignore_wording)
        checks += ["losses at people's own times"] if found[BLOCK]["people"] else []
    else:
        notes.append("The certificate says nothing about the losses at people's own times.")
    return found, checks, notes


def _unseen(document: FolderDocument, folder: Path) -> str | None:
    """Why losses at people's own times cannot be computed from the release; None where they can."""
    columns, kind = document["columns"], Times.parse(str(document["times"]["released"])).kind
    if document["noise"] is None:
        return NO_NOISE
    if "id" not in columns or kind not in ("keep", "shift"):
        return FEW if "id" not in columns else HIDDEN
    clock = pq.read_schema(folder / str(document["files"][0]["name"])).field(columns["time"]).type
    said = document["people"].get(BLOCK, {"people": 0})["people"]
    return LOCAL if not said and not absolute(clock) else None


def _losses(document: FolderDocument, sample: Sample, people: int, ignore_wording: bool) -> OwnLosses:
    """What people lose at their own times, once more; refused where the certificate has other numbers."""
    noise, stated, found = document["noise"], document["people"][BLOCK], not_stated(NO_NOISE)
    if noise is not None:
        terms = terms_of(noise)
        proposed = sample.proposal(terms.mechanism)
        proposed["people"] = people
        found = losses_over_people([proposed], people, terms, noise["worst_loss"], stated=stated)
    if ignore_wording:
        found["meaning"] = stated["meaning"]
    if found != stated:
        raise VerificationFailed("The losses at people's own times are not those of the release.", "It was changed.")
    return found


def _check_parts(document: FolderDocument, folder: Path, snap_m: float | None, sample: Sample) -> tuple[Crowd, bool]:
    """How points are spread over people, counted again; and whether positions could be held against the grid."""
    points_of: Counter[int] = Counter()
    where: dict[str, str] = {}
    people = [document["columns"]["id"]] if "id" in document["columns"] else None
    gridded, timed = True, Times.parse(str(document["times"]["released"])).shown
    shown = set(document["columns"].values()) | set(document["kept"])
    if not timed:
        shown.discard(document["columns"].get("time"))
    for file in document["files"]:
        path, rows, counts = folder / str(file["name"]), 0, Counter[str]()
        with pq.ParquetFile(path, read_dictionary=people) as part:
            if set(part.schema_arrow.names) != shown:
                raise VerificationFailed(f"{file['name']} holds other columns than the certificate names.", _LOST)
            for batch in part.iter_batches(ROUND_ROWS):
                table = pa.Table.from_batches([batch])
                rows += table.num_rows
                gridded &= _check_rows(table, document, snap_m if timed else None, counts, sample)
        if rows != file["points"]:
            raise VerificationFailed(f"{file['name']} has other rows than the certificate says.", _LOST)
        for person in counts:
            if where.setdefault(person, str(file["name"])) != file["name"]:
                raise VerificationFailed("One person's points lie in two parts.", _LOST)
        points_of.update(counts.values())
    return over_people(points_of), gridded and timed


def _check_rows(
    table: pa.Table, document: FolderDocument, snap_m: float | None, counts: Counter[str], sample: Sample
) -> bool:
    columns = dict(document["columns"])
    person = columns.get("id")
    if snap_m is None:
        names = [{"values": "", "counts": table.num_rows}]
        for count in names if person is None else table.column(person).value_counts().to_pylist():
            counts[str(count["values"])] += count["counts"]
        return True
    layout = Layout.of(table.schema, columns=columns, zone="UTC", one_person=person is None)
    rows = read_rows(table, layout)
    if rows.faults.any():
        raise VerificationFailed("A part holds rows without a position, a time or a person.", _LOST)
    order, starts = by_person(rows.codes, len(rows.labels))
    counts.update(dict(zip(rows.labels, np.diff(starts).tolist(), strict=True)))
    sample.add(rows.labels, starts, rows.times_ms[order])
    where = [columns[role] for role in ("lat", "lon", "geometry") if role in columns]
    exact = all(seven_decimals(table.schema.field(name)) for name in where)
    if exact:
        times = (np.zeros(len(rows.lat_deg)),)
        check_grid(Released((None,), times, (rows.lat_deg,), (rows.lon_deg,)), snap_m)
    return exact
