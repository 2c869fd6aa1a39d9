"""Check a released dataset against the certificate that lies in it: bytes, rows, people, and the noise from scratch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.units import count_of
from sfumato.tracks.certificates.build import Released, ReleasedFiles
from sfumato.tracks.certificates.folders import check_sentences, verified_folder
from sfumato.tracks.certificates.verify import (
    Document,
    Verified,
    check_grid,
    check_opening,
    check_recomputed,
    terms_of,
)
from sfumato.tracks.folders.archives.staging import file_sha256
from sfumato.tracks.folders.datasets.job import REJECTS_NAME
from sfumato.tracks.folders.datasets.parts import REJECTS
from sfumato.tracks.folders.datasets.people_losses import (
    BLOCK,
    FEW,
    HIDDEN,
    LOCAL,
    NO_NOISE,
    Sample,
    absolute,
    losses_over_people,
    not_stated,
)
from sfumato.tracks.folders.datasets.source import ROUND_ROWS
from sfumato.tracks.folders.datasets.statement import (
    CERTIFICATE_NAME,
    FORMAT,
    KIND,
    MANIFEST_NAME,
    document_of,
    over_people,
)
from sfumato.tracks.noise.interface import Json
from sfumato.tracks.people.layout import Layout, seven_decimals
from sfumato.tracks.people.rows import read_rows
from sfumato.tracks.people.rows_loops import by_person
from sfumato.tracks.times_released import Times

_LOST = "Get the release again."


def verify_dataset(
    source: str | Path | Document,
    folder: Path,
    *,
    signer: str | Path | None = None,
    ignore_wording: bool = False,
) -> Verified:
    """The seal, every file's bytes, no file beside them, columns, rows, people, words, and the noise."""

    def check(document: Document, checks: list[str]) -> Verified:
        return _verified(document, folder, checks, ignore_wording)

    return verified_folder(source, (KIND, FORMAT), "a dataset", check, signer)


def _verified(document: Document, folder: Path, checks: list[str], ignore_wording: bool) -> Verified:
    notes: list[str] = []
    _check_files(document["files"], folder)
    checks += [f"every byte of {count_of(len(document['files']), 'part')}", "no file beside them"]
    noise = document["noise"]
    snap_m = None if noise is None else float(noise["snap_m"])
    sample = Sample(_unseen(document, folder))
    found, gridded = _check_parts(document, folder, snap_m, sample)
    checks.append("columns, rows and people of every part")
    if snap_m is not None and gridded:
        checks.append(f"positions on the public {snap_m:g} m grid")
    elif snap_m is not None:
        notes.append("The positions' type is too coarse for the public grid: that they lie on it was not checked.")
    if BLOCK in document["people"]:
        found[BLOCK] = _losses(document, sample, found["people"], ignore_wording)
        checks += ["losses at people's own times"] if found[BLOCK]["people"] else []
    else:
        notes.append("The certificate says nothing about the losses at people's own times.")
    again = document_of(
        document["files"],
        columns=document["columns"],
        times=Times.parse(str(document["times"]["released"])),
        kept=document["kept"],
        people=found,
        noise=noise,
        withheld=document["withheld"] is not None,
        simulation=bool(document["simulation"]),
    )
    if again["people"] != document["people"]:
        raise VerificationFailed("The release has other people or points than the certificate says.", _LOST)
    if not ignore_wording:
        check_sentences(again, document)
    if noise is not None:
        checks.append(_check_noise(document, noise, notes, ignore_wording))
    if document["withheld"] is not None:
        notes.append("That nothing from inside the zones is left, only the holder of the places file can check.")
    return Verified(document, tuple(checks), tuple(notes), not ignore_wording)


def _check_files(files: Sequence[Document], folder: Path) -> None:
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder.", "Give the folder of the released dataset.")
    for file in files:
        path = folder / str(file["name"])
        if not path.is_file() or file_sha256(path) != file["sha256"]:
            raise VerificationFailed(f"{file['name']} is missing or not the file that was certified.", _LOST)
    listed = {folder / str(file["name"]) for file in files} | {folder / CERTIFICATE_NAME, folder / MANIFEST_NAME}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path not in listed):
        name = path.relative_to(folder).as_posix()
        if path.parent != folder / REJECTS_NAME or path.suffix != ".parquet":
            raise VerificationFailed(f"The folder holds {name}, which the certificate does not list.", "Remove it.")
        if pq.read_schema(path).remove_metadata() != REJECTS:
            raise VerificationFailed(f"{name} holds more than rejected rows' numbers and reasons.", "Remove it.")


def _unseen(document: Document, folder: Path) -> str | None:
    """Why losses at people's own times cannot be computed from the release; None where they can."""
    columns, kind = document["columns"], Times.parse(str(document["times"]["released"])).kind
    if document["noise"] is None:
        return NO_NOISE
    if "id" not in columns or kind not in ("keep", "shift"):
        return FEW if "id" not in columns else HIDDEN
    clock = pq.read_schema(folder / str(document["files"][0]["name"])).field(columns["time"]).type
    said = document["people"].get(BLOCK, {"people": 0})["people"]
    return LOCAL if not said and not absolute(clock) else None


def _losses(document: Document, sample: Sample, people: int, ignore_wording: bool) -> Json:
    """What people lose at their own times, once more; refused where the certificate has other numbers."""
    noise, stated, found = document["noise"], document["people"][BLOCK], not_stated(NO_NOISE)
    if noise is not None:
        terms = terms_of(noise)
        proposed = {**sample.proposed(terms.mechanism), "people": people}
        found = losses_over_people([proposed], people, terms, noise["worst_loss"], stated=stated)
    if ignore_wording:
        found["meaning"] = stated["meaning"]
    if found != stated:
        raise VerificationFailed("The losses at people's own times are not those of the release.", "It was changed.")
    return found


def _check_parts(document: Document, folder: Path, snap_m: float | None, sample: Sample) -> tuple[Json, bool]:
    """How points are spread over people, counted again; and whether positions could be held against the grid."""
    points_of: Counter[int] = Counter()
    where: dict[str, str] = {}
    gridded, timed = True, Times.parse(str(document["times"]["released"])).shown
    shown = set(document["columns"].values()) | set(document["kept"])
    if not timed:
        shown.discard(document["columns"].get("time"))
    for file in document["files"]:
        path, rows, counts = folder / str(file["name"]), 0, Counter[str]()
        with pq.ParquetFile(path) as part:
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
    table: pa.Table, document: Document, snap_m: float | None, counts: Counter[str], sample: Sample
) -> bool:
    columns = dict(document["columns"])
    person = columns.get("id")
    if person is None:
        counts[""] += table.num_rows
    else:
        for count in table.column(person).value_counts().to_pylist():
            counts[str(count["values"])] += count["counts"]
    if snap_m is None:
        return True
    layout = Layout.of(table.schema, columns=columns, zone="UTC", one_person=person is None)
    rows = read_rows(table, layout)
    if rows.faults.any():
        raise VerificationFailed("A part holds rows without a position, a time or a person.", _LOST)
    order, starts = by_person(rows.codes, len(rows.labels))
    sample.add(rows.labels, starts, rows.times_ms[order])
    where = [columns[role] for role in ("lat", "lon", "geometry") if role in columns]
    exact = all(seven_decimals(table.schema.field(name)) for name in where)
    if exact:
        times = (np.zeros(len(rows.lat_deg)),)
        check_grid(Released((None,), times, (rows.lat_deg,), (rows.lon_deg,)), snap_m)
    return exact


def _check_noise(document: Document, noise: Document, notes: list[str], ignore_wording: bool) -> str:
    opened, more = check_opening(noise, None, ignore_wording)
    assert opened
    notes += more
    if noise["times"]["released"] != document["times"]["released"]:
        raise VerificationFailed("The certificate contradicts itself about times.", "It was changed.")
    if noise["simulation"] and not document["simulation"]:
        raise VerificationFailed("The noise is a simulation and the certificate hides it.", "It was changed.")
    contents = tuple((int(file["points"]), str(file["sha256"])) for file in document["files"])
    released = ReleasedFiles(contents, range(int(document["people"]["people"])))
    return check_recomputed(noise, terms_of(noise), released, {}, notes, words=not ignore_wording)
