"""Places hidden in a whole dataset: everybody's own zones cut out of their rows, by the rules of one ride.

What is released is a function of the rows outside the zones: rows that could not be used are counted for the owner
only, people come in the order of their ids, and a table's own numbering of trips stays behind, because it counts those
inside a zone, too. Whoever has no places file is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.base.arrays import BoolArray, IntArray
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.randomness import derived_key
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.document import CERTIFICATE_NAME
from sfumato.tracks.certificates.person_ids import canonical_id, distinct_ids, new_ids, renamed_people
from sfumato.tracks.folders.manifest import private_folder
from sfumato.tracks.folders.rides.hide import Hiding
from sfumato.tracks.folders.rows.dataset import BucketNote, DatasetResult, open_dataset, statement_of
from sfumato.tracks.folders.rows.dataset_job import Running, begin_job, result_if_finished
from sfumato.tracks.folders.rows.people_notes import BLOCK, NO_NOISE, not_stated, over_people
from sfumato.tracks.folders.rows.spill import Bucket
from sfumato.tracks.folders.staging import MANIFEST_NAME
from sfumato.tracks.io.draft import canonical
from sfumato.tracks.people.engine import ProtectedRows
from sfumato.tracks.people.layout import Layout, TableReading
from sfumato.tracks.people.rows import Rows, by_person, read_rows
from sfumato.tracks.places.globe import surface
from sfumato.tracks.places.leak_test import PlaceLeak, leak_test
from sfumato.tracks.places.places_file import Places, load_places
from sfumato.tracks.places.withhold import MOMENTARY, withhold
from sfumato.tracks.plan import Times

ENDING = ".places"
_GUARD = "speed"  # a reading that is emptied near a cut; here the number of its row


@dataclass(frozen=True, slots=True)
class DatasetLeaks:
    """For the owner: how many places of how many people were attacked, and how near the best attackers came."""

    people: int
    places: int
    unvisited: int
    left_out: int
    nearest_m: tuple[float, ...]


def places_in(folder: Path, *, passphrase: str | None = None) -> dict[str, Places]:
    """One places file for each person, named by the id: ``7.places`` for the person 7; by canonical id."""
    files = sorted(folder.glob(f"*{ENDING}")) if folder.is_dir() else []
    if not files:
        raise InputError(
            f"{folder} is no folder of places files.",
            "A dataset of many people needs one for each, named by the id: people/7.places for the person 7 "
            "(sfumato places add home 48.85,2.35 --places people/7.places). For one person's dataset give the file "
            "and --one-person.",
        )
    names = distinct_ids([path.name.removesuffix(ENDING) for path in files])
    return {name: load_places(path, passphrase=passphrase) for name, path in zip(names, files, strict=True)}


def hide_dataset(
    folder: Path,
    out: Path,
    places: Mapping[str, Places] | Places,
    *,
    times: Times | None = None,
    keep: Sequence[str] = (),
    ids: str = "random",
    tested: Callable[[DatasetLeaks], None] | None = None,
    **how: Unpack[Running],
) -> DatasetResult:
    """Every usable row outside its person's zones, in ``out``; ``places`` by canonical id, or one person's.

    ``tested`` hears what attackers find before anything is in place, and may raise.
    """
    if (out / MANIFEST_NAME).exists():
        refuse_what_lies_open(out, places)
    if (ended := result_if_finished(out, folder)) is not None:
        return ended
    reading, times = how.get("reading", TableReading()), times or Times()
    if reading.one_person != isinstance(places, Places):
        raise InputError("One places file is one person's.", "Give a folder of them, or say --one-person.")
    dataset = open_dataset(folder)
    layout = _layout(reading.layout(dataset.schema, keep, times.kind, declared=True), dataset.schema, keep)
    owners = {None: places} if isinstance(places, Places) else dict(places)
    hidings = {person: Hiding(mine, times) for person, mine in owners.items()}
    asked = {"do": "hide", "ids": ids, "zones": {str(person): hiding.wish() for person, hiding in hidings.items()}}
    with begin_job(dataset, layout, out, asked, None, publish_rejects=False) as job:
        key = derived_key(job.key, b"ids") if ids == "random" else None

        def transform(bucket: Bucket, note: BucketNote) -> Iterator[tuple[pa.Table, ProtectedRows]]:
            table, rows = bucket.whole()  # in one piece: where pieces end would tell of rows that are withheld
            done, note["leaks"] = hidden_rows(table, rows, layout, dataset.schema, hidings, id_key=key)
            note["ids"] = done.id_pairs
            yield table, done

        tally = job.run(transform, **how)
        if tested is not None:
            tested(_over_all([note["leaks"] for note in tally.notes]))
        people = over_people(tally.points_of_people)
        people[BLOCK] = not_stated(NO_NOISE)
        simulation = any(mine.simulation for mine in owners.values())
        statement = statement_of(
            job.parts(), layout, times, people, noise=None, new_ids=key is not None, simulation=simulation
        )
        return job.place(tally, statement, how.get("sign"))


def refuse_what_lies_open(out: Path, places: Mapping[str, Places] | Places) -> None:
    """Hold a finished folder against the zones of today: rows shared before a place was named lie open in it."""
    document = json.loads((out / CERTIFICATE_NAME).read_text("utf-8"))
    columns = dict(document["columns"])
    people, inside = set[str](), 0
    for file in document["files"]:
        table = pq.read_table(out / file["name"])
        rows = read_rows(table, Layout.of(table.schema, columns=columns, zone="UTC", one_person="id" not in columns))
        order, starts = by_person(rows.codes, len(rows.labels))
        for number, (given, _) in enumerate(renamed_people([(label, 0) for label in rows.labels], out, given=True)):
            at = order[starts[number] : starts[number + 1]]
            mine = places if isinstance(places, Places) else places.get(canonical_id(str(given)))
            points, held = surface(rows.lat_deg[at], rows.lon_deg[at]), np.zeros(len(at), dtype=np.bool_)
            for zone in () if mine is None else mine.zones:
                held |= zone.holds(points)
            if held.any():
                people.add(str(given))
                inside += int(np.count_nonzero(held))
    if inside:
        raise NotCertified(
            f"STILL FOUND: {inside} rows of {len(people)} people in {out} lie inside zones of today.",
            "They were shared before those places were named, which cannot be taken back. Hide the dataset anew into "
            "another folder, and delete this one wherever it was uploaded.",
        )
    if not private_folder(out).exists():
        raise InputError(
            f"{out} holds a finished release, and no row of it lies inside a zone of today.",
            "To hide more rows, name another folder.",
        )


def _layout(layout: Layout, schema: pa.Schema, keep: Sequence[str]) -> Layout:
    """Without the numbering of trips; refused where something is to be kept that may tell of what is withheld."""
    roles = layout.roles
    unknown = [name for name in roles.keep.values() if canonical(name) not in MOMENTARY]
    unknown += [name for name in keep if name == roles.by_role.get("segment")]
    if unknown:
        raise InputError(
            f"Whether {', '.join(unknown)} tells of what happened inside a zone is not known, so it cannot stay.",
            f"Columns that can: {', '.join(sorted(MOMENTARY))}.",
        )
    for name in roles.keep.values():
        if pa.types.is_nested(schema.field(name).type):
            raise InputError(f"Column '{name}' does not hold numbers.", "Leave it out.")
    return replace(layout, released=tuple(name for name in layout.released if name != roles.by_role.get("segment")))


def hidden_rows(
    table: pa.Table,
    rows: Rows,
    layout: Layout,
    schema: pa.Schema,
    hidings: Mapping[str | None, Hiding],
    *,
    id_key: bytes | None = None,
) -> tuple[ProtectedRows, list[dict[str, float | int | None]]]:
    """What is left of a bucket, person by person in the order of ids; and what attackers find, for the owner.

    Under an ``id_key`` people get new ids.
    """
    order, starts = by_person(rows.codes, len(rows.labels))
    left: list[tuple[int, IntArray, IntArray, BoolArray]] = []
    found: list[dict[str, float | int | None]] = []
    shown_as = rows.labels
    if id_key is not None and rows.ids is not None:
        new = new_ids(id_key, [canonical_id(label) for label in rows.labels], rows.ids.type)
        shown_as = tuple(str(value) for value in new.to_pylist())
    for person in sorted(range(len(rows.labels)), key=lambda number: shown_as[number]):
        mine = order[starts[person] : starts[person + 1]]
        label = None if layout.person is None else canonical_id(rows.labels[person])
        hiding = hidings.get(label)
        if hiding is None:
            found.append({"places": None})
            continue
        kept, shown_ms, guarded, leaks = _of_person(rows, mine, hiding)
        found += [{"places": len(leaks), **_told(leak)} for leak in leaks]
        if kept.size:
            left.append((person, kept, shown_ms, guarded))
    at = np.concatenate([part[1] for part in left] or [np.zeros(0, np.int64)])
    shown = np.concatenate([part[2] for part in left] or [np.zeros(0, np.int64)])
    guarded = np.concatenate([part[3] for part in left] or [np.zeros(0, bool)])
    sizes = np.array([len(part[1]) for part in left], dtype=np.int64)
    people, labels = None, tuple(shown_as[part[0]] for part in left)
    given = () if shown_as is rows.labels else tuple(rows.labels[part[0]] for part in left)
    if rows.ids is not None:
        ids = (new if given else rows.ids).take(pa.array([part[0] for part in left], pa.int64()))
        people = pa.DictionaryArray.from_arrays(pa.array(np.repeat(np.arange(len(left)), sizes)), ids)
    where, read = (rows.lat_deg[at], rows.lon_deg[at]), rows.times_ms[at]
    out = layout.release(table, at, where, (read, shown), people=people, schema=schema)
    for name in layout.roles.keep.values():
        place = out.schema.get_field_index(name)
        nothing = pa.scalar(None, out.schema.field(place).type)
        out = out.set_column(place, out.schema.field(place), pc.if_else(pa.array(guarded), nothing, out.column(place)))
    times = next((hiding.times for hiding in hidings.values()), Times())
    if not times.shown:
        out = out.drop_columns([layout.roles.by_role["time"]])
    begins: IntArray = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return ProtectedRows(out, rows.faults, labels, begins, *where, shown, given=given), found


def _of_person(
    rows: Rows, mine: IntArray, hiding: Hiding
) -> tuple[IntArray, IntArray, BoolArray, tuple[PlaceLeak, ...]]:
    """The places of a person's rows that are left, in the table's order, their times shown, and who is near a cut."""
    by_time = mine[np.argsort(rows.times_ms[mine], kind="stable")]
    number = np.arange(len(by_time), dtype=np.float64)
    times_s = rows.times_ms[by_time] / 1000.0
    trace = Trace(rows.lat_deg[by_time], rows.lon_deg[by_time], times_s, columns={_GUARD: number})
    cut = withhold(trace, hiding.zones, keep=[_GUARD])
    leaks = leak_test([(trace, cut.trace)], hiding.places)
    if cut.trace is None:
        nobody = np.zeros(0, dtype=np.int64)
        return nobody, nobody, np.zeros(0, dtype=bool), leaks
    shown = hiding.times.apply(cut.trace, hiding.places.derive("times")).times_s
    if not hiding.times.shown:
        shown = np.zeros(len(cut.kept))
    as_given = np.argsort(by_time[cut.kept], kind="stable")
    shown_ms = np.rint(shown * 1000.0).astype(np.int64)[as_given]
    return by_time[cut.kept][as_given], shown_ms, np.isnan(cut.trace.columns[_GUARD])[as_given], leaks


def _told(leak: PlaceLeak) -> dict[str, float | int | None]:
    return {"nearest_m": leak.best_m, "gates": leak.gates}


def _over_all(notes: Sequence[Sequence[Mapping[str, float | int | None]]]) -> DatasetLeaks:
    every = [leak for part in notes for leak in part]
    tested = [leak for leak in every if leak["places"] is not None]
    nearest = [leak["nearest_m"] for leak in tested]
    people = sum(1.0 / leak["places"] for leak in tested if leak["places"])
    return DatasetLeaks(
        people=round(people),
        places=len(tested),
        unvisited=sum(value is None for value in nearest),
        left_out=len(every) - len(tested),
        nearest_m=tuple(sorted(float(value) for value in nearest if value is not None)),
    )
