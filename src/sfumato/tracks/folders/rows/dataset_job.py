"""One run over a dataset: rows dealt out by person, each bucket written as one part, all of it put in place at the end.

Two passes of independent steps (units, then buckets), each recorded in the private manifest when its file is whole. A
run that was killed goes on when it is started again: finished steps are not redone, and what is redone comes out the
same, because the noise is a function of the job's key. The key lies in a 0600 file from before its first use to the end
of the job, and is then overwritten and removed. Until then the private folder also holds the rows as they were.

:func:`protect_dataset` gives everybody noise of their own, one process for each person whatever files they are in.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, TypeVar, Unpack

import pyarrow as pa

from sfumato.base.errors import InputError, SfumatoError
from sfumato.base.files import create_text, erase, write_text
from sfumato.base.pool import frugal_pool, usable_cores
from sfumato.base.randomness import KEY_BYTES, Random, fresh_key, randomness
from sfumato.tracks.certificates.build import refuse_other_times
from sfumato.tracks.certificates.document import CERTIFICATE_NAME, certificate_text
from sfumato.tracks.certificates.person_ids import distinct_ids, list_beside, list_text
from sfumato.tracks.certificates.state import NoiseState
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.manifest import RECORDS_NAME, SourceRecord, private_folder
from sfumato.tracks.folders.rows.dataset import (
    BucketNote,
    Dataset,
    DatasetResult,
    JobTally,
    LeftOut,
    Parts,
    Pieces,
    RowGroups,
    manifest_text,
    open_dataset,
    part_name,
    write_pieces,
    write_rejects,
)
from sfumato.tracks.folders.rows.people_notes import PeopleMet, Sample, noisy_statement, reason_against
from sfumato.tracks.folders.rows.spill import SPILL_FORMAT, Bucket, deal_out, gather_bucket, into_buckets, spill_name
from sfumato.tracks.folders.staging import (
    MANIFEST_NAME,
    REJECTS_NAME,
    STATE_NAME,
    FolderStatement,
    Sign,
    Staging,
    file_sha256,
    opened_private,
)
from sfumato.tracks.people.engine import ProtectedRows, protect_rows
from sfumato.tracks.people.layout import Layout, TableReading
from sfumato.tracks.people.noise import choose_for_people
from sfumato.tracks.people.rows import count_faults
from sfumato.tracks.plan import Plan

PART_ROWS = 1 << 19
_SMALL_PARTS = 8
KEY_NAME, JOB_NAME, SPILL_NAME = "job.key", "job.json", "rows"
T = TypeVar("T")
Transform = Callable[[Bucket, BucketNote], Pieces]  # fills what is to be noted of a bucket


class Running(TypedDict, total=False):
    """How a dataset is read and its job runs, whatever is done to its rows.

    ``step`` is told ("read" or "protect", rows) after every step; ``strict`` refuses a dataset with unusable rows.
    """

    reading: TableReading
    strict: bool
    cores: int | None
    step: Callable[[str, int], None] | None
    sign: Sign | None


class DatasetJob:
    """The steps of one dataset towards one output folder; ``key`` is the job's, a seed's where ``simulation``.

    Rows that are left out are named in the release, or (``publish_rejects`` False) counted for the owner only.
    """

    def __init__(
        self,
        dataset: Dataset,
        layout: Layout,
        staging: Staging,
        wish: str,
        key: tuple[bytes, bool],
        *,
        publish_rejects: bool = True,
    ) -> None:
        self.dataset, self.layout, self.staging, self.wish = dataset, layout, staging, wish
        (self.key, self.simulation), self.publish_rejects = key, publish_rejects
        small = min(_SMALL_PARTS, -(-4 * dataset.rows // PART_ROWS))  # every core of a small machine has some
        self.buckets = max(1, small, -(-dataset.rows // PART_ROWS))
        self._bucket_of = into_buckets(self.buckets)
        self.folder = staging.private / SPILL_NAME
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if publish_rejects:
            (staging.staging / REJECTS_NAME).mkdir(mode=0o700, exist_ok=True)
        self._lock = threading.Lock()

    def run(self, transform: Transform, **how: Unpack[Running]) -> JobTally:
        """Both passes, as far as they are not done; ``transform`` makes a bucket's rows what is released."""
        said, cores = how.get("step") or (lambda _, __: None), how.get("cores") or usable_cores()
        strict = how.get("strict", False)

        def read(unit: RowGroups) -> None:
            self._deal(unit)
            with self._lock:
                said("read", unit.rows)

        def protect(bucket: int) -> None:
            points = self._part(bucket, transform)
            with self._lock:
                said("protect", points)

        with frugal_pool():
            _each(self.dataset.units, read, cores)
            pa.default_memory_pool().release_unused()  # of threads that have ended
            if strict:
                self.tally().refuse_faults()
            _each(range(self.buckets), protect, cores)
        tally = self.tally()
        if strict:
            tally.refuse_faults()
        tally.require_rows()
        return tally

    def tally(self) -> JobTally:
        """Counts over all steps that are done, in this run or before."""
        total = JobTally(rows=self.dataset.rows)
        for record in self.staging.manifest.records.values():
            total.skipped.update(record.skipped)
            if record.source.startswith("bucket "):
                total.released += record.points_out
                known = json.loads((self.folder / f"{record.source}.json").read_text())
                total.people += known["people"]
                total.points_of_people.update({int(points): count for points, count in known["points"].items()})
                total.notes += [known["note"]] if known["people"] or known["note"] else []
        return total

    def parts(self) -> Parts:
        """Every part."""
        found = [
            record
            for record in self.staging.manifest.records.values()
            if record.output and not record.output.startswith("_")
        ]
        return sorted((str(record.output), str(record.output_sha256), record.points_out) for record in found)

    def place(self, tally: JobTally, statement: FolderStatement, sign: Sign | None) -> DatasetResult:
        """The certificate, then every part, then the manifest, which says that all of it is there."""
        document = statement.document(sign)
        manifest = manifest_text(self.parts(), tally, read=self.publish_rejects)
        self.staging.out.mkdir(parents=True, exist_ok=True)
        if pairs := [(given, new) for note in tally.notes for given, new in note.get("ids", ())]:
            write_text(list_beside(self.staging.out), list_text(pairs), private=True)
        self._write(CERTIFICATE_NAME, certificate_text(document))
        self.staging.place_all(self.staging.manifest.records.values())
        self._write(MANIFEST_NAME, manifest)
        counts = (tally.rows, tally.released, tally.people, dict(tally.skipped), len(self.parts()))
        return DatasetResult(document, *counts)

    def _write(self, name: str, text: str) -> None:
        """Filled where nobody looks, on the disk, then renamed: a kill leaves nothing beside the release."""
        write_text(self.staging.staging / name, text, durable=True).replace(self.staging.out / name)

    def _known(self, source: str, beside: Path) -> SourceRecord | None:
        """What was recorded of a step whose files are there; None where it is to be done."""
        record = self.staging.manifest.records.get(source)
        if record is None or record.wish != self.wish:
            return None
        there = record.output is None or record.placed or (self.staging.staging / record.output).exists()
        if there and record.output is not None:
            self.staging.enter_name(record)
        return record if there and beside.exists() else None

    def _deal(self, unit: RowGroups) -> None:
        source = f"unit {unit.number}"
        if self._known(source, self.folder / spill_name(unit)) is None:
            rows, left = deal_out(self.dataset, unit, self.layout, self.buckets, self._bucket_of, self.folder)
            self._record(source, unit.rows, rows, None, left, f"unit-{unit.number:06d}.parquet")

    def _part(self, bucket: int, transform: Transform) -> int:
        """How many rows came into the bucket's part."""
        source = f"bucket {bucket}"
        noted = self.folder / f"{source}.json"
        if (known := self._known(source, noted)) is not None:
            return known.points_in
        mine = gather_bucket(self.folder, self.dataset.units, bucket, self.buckets)
        name, note = part_name(bucket), BucketNote()
        filled = self.staging.staging / f".{name}"
        part = write_pieces(() if mine is None else transform(mine, note), self.dataset, self.layout, filled)
        said = {"people": part.people, "points": part.points_of_people, "note": note}
        write_text(noted, json.dumps(said), private=True)
        if part.rows:
            filled.replace(self.staging.staging / name)
        points = 0 if mine is None else mine.rows
        self._record(source, points, part.rows, name if part.rows else None, part.left_out, name)
        return points

    def _record(
        self, source: str, points_in: int, points_out: int, output: str | None, left: LeftOut, named: str
    ) -> None:
        """What a step did: first the rows it left out, in a file of that name, then itself."""
        skipped, rejects = count_faults(left.faults), f"{REJECTS_NAME}/{named}"
        records = [self._entry(source, points_in, points_out, output, skipped)]
        if skipped and self.publish_rejects:
            write_rejects(self.dataset, left, self.staging.staging / rejects)
            records.insert(0, self._entry(f"rejects of {source}", 0, 0, rejects, {}))
        with self._lock:
            for record in records:
                if record.output is not None and not self.staging.enter_name(record):
                    raise InputError(
                        "A part came out differently when it was done again.", "Nothing is released; report this."
                    )
                self.staging.manifest.add(record)

    def _entry(
        self, source: str, points_in: int, points_out: int, output: str | None, skipped: dict[str, int]
    ) -> SourceRecord:
        digest, wish = None if output is None else file_sha256(self.staging.staging / output), self.wish
        return SourceRecord(source, wish, wish, output, digest, points_in, points_out, (), digest, skipped=skipped)


def _each(things: Iterable[T], act: Callable[[T], None], cores: int) -> None:
    """Every thing once on all cores; the first that fails stops the rest."""
    with ThreadPoolExecutor(cores) as pool:
        futures = [pool.submit(act, thing) for thing in things]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def result_if_finished(out: Path, folder: Path) -> DatasetResult | None:
    """A job killed when its manifest, the last file, was in place: its private files go. Other ends are refused."""
    if not (out / MANIFEST_NAME).exists():
        return None
    if not private_folder(out).exists():
        raise InputError(*holds_a_release(out))
    with opened_private(out, [folder]) as private:
        _forget(private)
    if not any(private.iterdir()):
        private.rmdir()
    document = json.loads((out / CERTIFICATE_NAME).read_text())
    return DatasetResult.of(document, (out / MANIFEST_NAME).read_text())


def holds_a_release(out: object) -> tuple[str, str]:
    """Why nothing is written to a folder that is complete, and what to do."""
    return (
        f"{out} holds a finished release.",
        "Use another folder. Fresh noise for the same people adds up: announce it (--redraws), or use --state.",
    )


@contextmanager
def begin_job(
    dataset: Dataset,
    layout: Layout,
    out: Path,
    asked: Mapping[str, object],
    rng: Random,
    *,
    publish_rejects: bool = True,
) -> Iterator[DatasetJob]:
    """The job towards ``out``, begun or taken up again; refused with nothing in place, it leaves nothing behind."""
    try:
        with opened_private(out, [dataset.folder]) as private:
            if not (private / JOB_NAME).exists() and out.exists() and any(out.iterdir()):
                raise InputError(f"{out} holds other files.", "Use an empty folder, which then opens as a dataset.")
            roles, zone = sorted(layout.roles.by_role.items()), str(layout.reading.zone)
            reading = json.loads(json.dumps([roles, zone, layout.released, sorted(asked.items())], default=str))
            wanted = {"dataset": dataset.fingerprint, "asked": reading, "private files": SPILL_FORMAT}
            wish = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()
            key = _key(private, wish, rng)
            staging = Staging(out, owner=wish)
            records = staging.manifest.records
            try:
                yield DatasetJob(dataset, layout, staging, wish, key, publish_rejects=publish_rejects)
            except BaseException as error:
                staging.manifest.close()
                if isinstance(error, SfumatoError) and not any(record.placed for record in records.values()):
                    _forget(private)
                raise
            staging.manifest.close()
            _forget(private)
    finally:
        private = private_folder(out)
        if private.exists() and not any(private.iterdir()):
            private.rmdir()


def _key(private: Path, wish: str, rng: Random) -> tuple[bytes, bool]:
    """The job's key and whether it is a seed's: on the disk, flushed and 0600, before anything is drawn from it."""
    job = private / JOB_NAME
    if job.exists():
        known = json.loads(job.read_text())
        if known["wish"] != wish:
            raise InputError(
                "Another job towards this folder was begun: the dataset or the options have changed since.",
                f"Go on with the same ones, or remove {private} and begin anew: nothing of it has been shared yet.",
            )
        key = bytes.fromhex((private / KEY_NAME).read_text()) if (private / KEY_NAME).exists() else bytes(KEY_BYTES)
        return key, bool(known["simulation"])
    (private / KEY_NAME).unlink(missing_ok=True)  # killed before the job was written down: never used
    (private / RECORDS_NAME).unlink(missing_ok=True)
    draw = randomness(rng)
    key = fresh_key(draw)
    create_text(private / KEY_NAME, key.hex(), private=True)
    create_text(job, json.dumps({"wish": wish, "simulation": draw.simulation}), private=True)
    return key, draw.simulation


def _forget(private: Path) -> None:
    """The job's key overwritten and removed, and with it all that was private to the job, half-written files too."""
    for key in private.glob(f"*{KEY_NAME}*"):
        erase(key)
    for path in private.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != STATE_NAME:
            path.unlink(missing_ok=True)


_PIECE_ROWS = 1 << 17  # protected at once: what is held of them stays near the processor


def protect_dataset(
    folder: Path,
    out: Path,
    plan: Plan,
    *,
    state: NoiseState | None = None,
    priced: Callable[[Document], None] | None = None,
    rng: Random = None,
    **how: Unpack[Running],
) -> DatasetResult:
    """Every usable row of the dataset with noise, in ``out``, which opens as a dataset of the same columns.

    ``priced`` sees the noise's certificate before anything is in place, and may raise. Killed and started again with
    the same arguments, it goes on.
    """
    if plan.secrets is not None:
        raise InputError("Secrets are chosen moments of one track, not of a dataset.", "Hide places with sfumato hide.")
    if (ended := result_if_finished(out, folder)) is not None:
        return ended
    dataset = open_dataset(folder)
    layout = how.get("reading", TableReading()).layout(dataset.schema, plan.keep, plan.times, declared=True)
    asked = {"do": "protect", "plan": plan.to_dict(), "state": state is not None}
    with begin_job(dataset, layout, out, asked, rng) as job:
        seed = 1 if job.simulation and state is None else None
        pieces = 2 * (dataset.rows // _PIECE_ROWS) + job.buckets  # two that follow one another hold more than one may
        noise = choose_for_people(plan, state=state, rng=seed, job_key=job.key, parts=pieces)
        noise = replace(noise, new_ids=plan.ids != "keep")
        refuse_other_times(noise.terms(several_files=True))  # before all rows are read
        met = PeopleMet(job.folder / "meetings", job.buckets)
        unseen = reason_against(layout, dataset.schema, plan.times)

        def transform(bucket: Bucket, note: BucketNote) -> Iterator[tuple[pa.Table, ProtectedRows]]:
            if layout.person is not None:
                distinct_ids(bucket.labels)  # over all pieces
            sample, together, ids = Sample(unseen), met.of(bucket.labels), list[tuple[str, str]]()
            for table, rows in bucket.pieces(_PIECE_ROWS):
                done = protect_rows(table, layout, noise, by_people=True, rows=rows, schema=dataset.schema)
                sample.add(done.labels, done.starts, done.times_ms)
                ids += done.id_pairs
                together.add(rows.lat_deg, rows.lon_deg, rows.times_ms, rows.codes)
                yield table, done
            together.keep()
            note.update(sample.proposal(noise.mechanism))
            note["ids"] = ids

        tally = job.run(transform, **how)
        companions = met.worst_group()
        statement = noisy_statement(job.parts(), layout, noise, tally, tally.notes, priced)
        return replace(job.place(tally, statement, how.get("sign")), companions=companions)
