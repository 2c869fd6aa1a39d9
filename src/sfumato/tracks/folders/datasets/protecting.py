"""Noise on a whole dataset: everybody's own, one process for each person whatever files their rows are in."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from sfumato.base.errors import InputError
from sfumato.base.files import create_text, write_text
from sfumato.base.keystream import KEY_BYTES, fresh_key
from sfumato.base.randomness import Random, randomness
from sfumato.tracks.certificates.build import ReleasedFiles, certificate_body, refuse_other_times
from sfumato.tracks.certificates.document import certificate_text
from sfumato.tracks.certificates.person_ids import distinct_ids
from sfumato.tracks.certificates.state import NoiseState
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.archives.staging import Staging, opened_private, private_folder
from sfumato.tracks.folders.datasets.buckets import Bucket
from sfumato.tracks.folders.datasets.job import (
    JOB_NAME,
    KEY_NAME,
    DatasetJob,
    JobTally,
    Step,
    forget,
    forget_unless_killed,
)
from sfumato.tracks.folders.datasets.notes import Notes
from sfumato.tracks.folders.datasets.people_losses import BLOCK, Sample, losses_over_people, reason_against
from sfumato.tracks.folders.datasets.source import Dataset, open_dataset
from sfumato.tracks.folders.datasets.spill import SPILL_FORMAT
from sfumato.tracks.folders.datasets.statement import (
    CERTIFICATE_NAME,
    MANIFEST_NAME,
    Sign,
    dataset_document,
    manifest_text,
    over_people,
)
from sfumato.tracks.noise.interface import Json
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.noise import TableNoise
from sfumato.tracks.people.protecting import ProtectedRows, protect_rows
from sfumato.tracks.plan import Plan

_PIECE_ROWS = 1 << 17  # protected at once: what is held of them stays near the processor


@dataclass(frozen=True, slots=True, eq=False)
class DatasetResult:
    """What happened: the certificate, and counts of rows read, released and left out by reason."""

    document: Json
    rows: int
    released: int
    people: int
    skipped: dict[str, int]
    parts: int


@dataclass(frozen=True, slots=True)
class DatasetReading:
    """How a dataset's columns are read."""

    columns: Mapping[str, str] | None = None
    zone: str | None = None
    one_person: bool = False

    def layout(self, schema: pa.Schema, keep: tuple[str, ...], times: str) -> Layout:
        """Refused where nothing says whose each row is; a date beside the time of day stays where times are kept."""
        layout = Layout.of(schema, columns=self.columns, keep=keep, zone=self.zone, one_person=self.one_person)
        date = layout.roles.by_role.get("date")
        if times == "keep" and date is not None and date not in keep:
            return self.layout(schema, (*keep, date), times)
        layout.refuse_date(times)
        if layout.roles.undeclared(layout.reading):
            raise InputError(
                "No column of the dataset is known to say whose each row is.",
                f"Name it (--user-column user_id), or say --one-person; its columns: {', '.join(schema.names)}.",
            )
        return layout


def protect_dataset(
    folder: Path,
    out: Path,
    plan: Plan,
    *,
    reading: DatasetReading | None = None,
    state: NoiseState | None = None,
    strict: bool = False,
    cores: int | None = None,
    step: Step | None = None,
    sign: Sign | None = None,
    priced: Callable[[Document], None] | None = None,
    rng: Random = None,
) -> DatasetResult:
    """Every usable row of the dataset with noise, in ``out``, which opens as a dataset of the same columns.

    ``step`` is told ("read" or "protect", rows) after every step; ``priced`` sees the noise's certificate before
    anything is in place, and may raise. Killed and started again with the same arguments, it goes on.
    """
    if plan.secrets is not None:
        raise InputError("Secrets are chosen moments of one track, not of a dataset.", "Hide places with sfumato hide.")
    if (ended := finished(out, folder)) is not None:
        return ended
    dataset = open_dataset(folder)
    layout = (reading or DatasetReading()).layout(dataset.schema, tuple(plan.keep), plan.times)
    asked = {"do": "protect", "plan": plan.to_dict(), "state": state is not None}
    with begun(dataset, layout, out, asked, rng) as (staging, key, simulation, wish):
        noise = TableNoise.of(plan, key=key, state=state, rng=1 if simulation and state is None else None)
        refuse_other_times(noise.terms(several_files=True))  # before all rows are read
        noise, notes = replace(noise, key=key), Notes(staging.private / "moments")
        unseen = reason_against(layout, dataset.schema, plan.times)

        def transform(bucket: Bucket) -> Iterator[tuple[pa.Table, ProtectedRows]]:
            if layout.person is not None:
                distinct_ids(bucket.labels)  # over all pieces
            sample = Sample(unseen)
            for table, rows in bucket.pieces(_PIECE_ROWS):
                done = protect_rows(table, layout, noise, by_people=True, rows=rows, schema=dataset.schema)
                sample.add(done.labels, done.starts, done.times_ms)
                yield table, done
            notes.keep(bucket.labels, sample.proposed(noise.mechanism))

        job = DatasetJob(dataset, layout, staging, transform, wish, cores=cores or usable_cores())
        tally = job.run(strict=strict, step=step)
        require_rows(tally)
        contents = tuple((points, digest) for _, digest, points in job.parts())
        terms = noise.terms(several_files=True)
        body = certificate_body(terms, ReleasedFiles(contents, range(tally.people)))
        if priced is not None:
            priced(body)
        people = over_people(tally.points_of_people)
        people[BLOCK] = losses_over_people(notes.all(), tally.people, terms, body["worst_loss"])
        document = dataset_document(job.parts(), layout, plan, people, noise=body, sign=sign)
        return placed(job, tally, document)


def finished(out: Path, folder: Path) -> DatasetResult | None:
    """A job that was killed when all was in place: what was private to it is removed. Other finished ones are refused.

    The manifest is the last file to be written, so where it lies everything does.
    """
    if not (out / MANIFEST_NAME).exists():
        return None
    if not private_folder(out).exists():
        raise InputError(
            f"{out} holds a finished release.",
            "Use another folder. Fresh noise for the same people adds up: announce it (--redraws), or use --state.",
        )
    with opened_private(out, [folder]) as private:
        forget(private)
    if not any(private.iterdir()):
        private.rmdir()
    said = json.loads((out / MANIFEST_NAME).read_text())
    document = json.loads((out / CERTIFICATE_NAME).read_text())
    released, rejected = said["rows_released"], said.get("rows_rejected", {})
    counts = (said.get("rows_read", released), released, said["people"], rejected, len(said["parts"]))
    return DatasetResult(document, *counts)


@contextmanager
def begun(
    dataset: Dataset, layout: Layout, out: Path, asked: Document, rng: Random
) -> Iterator[tuple[Staging, bytes, bool, str]]:
    """The job towards ``out``, begun or taken up again: staging, key, whether that is a seed's, and the wish."""
    try:
        with opened_private(out, [dataset.folder]) as private:
            if not (private / JOB_NAME).exists() and out.exists() and any(out.iterdir()):
                raise InputError(f"{out} holds other files.", "Use an empty folder, which then opens as a dataset.")
            reading = [
                sorted(layout.roles.by_role.items()),
                str(layout.reading.zone),
                layout.released,
                sorted(asked.items()),
            ]
            wanted = {"dataset": dataset.fingerprint, "asked": _plain(reading), "private files": SPILL_FORMAT}
            text = json.dumps(wanted, sort_keys=True)
            wish = hashlib.sha256(text.encode()).hexdigest()
            key, simulation = _key(private, wish, rng)
            staging = Staging(out, owner=wish)
            try:
                yield staging, key, simulation, wish
            except BaseException as error:
                staging.manifest.close()
                forget_unless_killed(private, list(staging.manifest.records.values()), error)
                raise
            staging.manifest.close()
            forget(private)
    finally:
        private = private_folder(out)
        if private.exists() and not any(private.iterdir()):
            private.rmdir()


def usable_cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _plain(value: object) -> object:
    return json.loads(json.dumps(value, default=str))


def _key(private: Path, wish: str, rng: Random) -> tuple[bytes, bool]:
    """The job's key: on the disk, flushed and 0600, before anything is drawn from it."""
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
    (private / "manifest.jsonl").unlink(missing_ok=True)
    draw = randomness(rng)
    key = fresh_key(draw)
    create_text(private / KEY_NAME, key.hex(), private=True)
    create_text(job, json.dumps({"wish": wish, "simulation": draw.simulation}), private=True)
    return key, draw.simulation


def placed(job: DatasetJob, tally: JobTally, document: Json) -> DatasetResult:
    """The certificate, then every part, then the manifest, which says that all of it is there."""
    out, skipped = job.staging.out, dict(tally.skipped)
    out.mkdir(parents=True, exist_ok=True)
    _renamed(job.staging.staging, out / CERTIFICATE_NAME, certificate_text(document))
    job.staging.place_all(job.records())
    _renamed(job.staging.staging, out / MANIFEST_NAME, manifest_text(job.parts(), tally, read=job.publish_rejects))
    return DatasetResult(document, tally.rows, tally.released, tally.people, skipped, len(job.parts()))


def _renamed(staging: Path, target: Path, text: str) -> None:
    """Filled where nobody looks, on the disk, then renamed: a kill leaves nothing beside the release."""
    write_text(staging / target.name, text, durable=True).replace(target)


def require_rows(tally: JobTally) -> None:
    """Refuse a dataset of which nothing is left."""
    if not tally.released:
        why = ", ".join(f"{reason} ({count})" for reason, count in tally.skipped.items()) or "it has no rows"
        raise InputError(f"None of {tally.rows} rows can be released: {why}.", "Nothing was written.")
