"""One run over a dataset: rows dealt out by person, each bucket written as one part, all of it put in place at the end.

Two passes of independent steps (units, then buckets), each recorded in the private manifest when its file is whole. A
run that is killed is started again and goes on: finished steps are not redone, and what is redone comes out the same,
because the noise is a function of the job's key, which lies in a 0600 file from before its first use until the job has
ended, and is then overwritten and removed. Until then the private folder also holds the rows as they were.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.base.arrays import IntArray
from sfumato.base.errors import InputError, SfumatoError
from sfumato.base.files import write_text
from sfumato.base.pool import frugal_pool
from sfumato.tracks.folders.archives.manifest import SourceRecord
from sfumato.tracks.folders.archives.staging import STATE_NAME, Staging, file_sha256
from sfumato.tracks.folders.datasets.buckets import Bucket, gathered
from sfumato.tracks.folders.datasets.parts import Pieces, part_name, write_pieces, write_rejects
from sfumato.tracks.folders.datasets.source import Dataset, RowGroups
from sfumato.tracks.folders.datasets.spill import deal_out, into_buckets, spill_name
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.rows import Faults, counted, fault_words

PART_ROWS = 1 << 19
_SMALL_PARTS = 8
KEY_NAME, JOB_NAME, SPILL_NAME, REJECTS_NAME = "job.key", "job.json", "rows", "_rejects"
Step = Callable[[str, int], None]


@dataclass(slots=True)
class JobTally:
    """What a job has done so far, over all its runs."""

    rows: int = 0
    released: int = 0
    people: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    points_of_people: Counter[int] = field(default_factory=Counter)


class DatasetJob:
    """The steps of one dataset towards one output folder; ``transform`` makes a bucket's rows what is released."""

    def __init__(
        self,
        dataset: Dataset,
        layout: Layout,
        staging: Staging,
        transform: Callable[[Bucket], Pieces],
        wish: str,
        *,
        cores: int,
        publish_rejects: bool = True,
    ) -> None:
        self.dataset, self.layout, self.staging, self.transform = dataset, layout, staging, transform
        self.wish, self.cores, self.publish_rejects = wish, cores, publish_rejects
        small = min(_SMALL_PARTS, -(-4 * dataset.rows // PART_ROWS))  # every core of a small machine has some
        self.buckets = max(1, small, -(-dataset.rows // PART_ROWS))
        self._bucket_of = into_buckets(self.buckets)
        self.folder = staging.private / SPILL_NAME
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if publish_rejects:
            (staging.staging / REJECTS_NAME).mkdir(mode=0o700, exist_ok=True)
        self._lock = threading.Lock()

    def run(self, *, strict: bool = False, step: Step | None = None) -> JobTally:
        """Both passes, as far as they are not done."""
        said = step or (lambda _, __: None)
        with frugal_pool():
            self._each(self.dataset.units, self._deal, lambda unit: said("read", unit.rows))
            pa.default_memory_pool().release_unused()  # of threads that have ended
            if strict:
                self._refuse_faults()
            self._each(range(self.buckets), self._part, lambda bucket: said("protect", self._points_in(bucket)))
        if strict:
            self._refuse_faults()
        return self.tally()

    def records(self) -> list[SourceRecord]:
        """Everything recorded of this job."""
        return list(self.staging.manifest.records.values())

    def tally(self) -> JobTally:
        """Counts over all steps that are done, in this run or before."""
        total = JobTally(rows=self.dataset.rows)
        for record in self.records():
            total.skipped.update(record.skipped)
            if record.source.startswith("bucket "):
                total.released += record.points_out
                known = json.loads((self.folder / f"{record.source}.json").read_text())
                total.people += known["people"]
                total.points_of_people.update({int(points): count for points, count in known["points"].items()})
        return total

    def parts(self) -> list[tuple[str, str, int]]:
        """Name, hash and points of every part, in the order of names."""
        found = [record for record in self.records() if record.output and not record.output.startswith("_")]
        return sorted((str(record.output), str(record.output_sha256), record.points_out) for record in found)

    def _each(self, things: Iterable, act: Callable, said: Callable) -> None:
        """Every thing once on all cores; the first that fails stops the rest."""
        if self.cores == 1:
            for thing in things:
                act(thing)
                said(thing)
            return
        with ThreadPoolExecutor(self.cores) as pool:

            def one(thing: object) -> None:
                act(thing)
                with self._lock:
                    said(thing)

            futures: list[Future[None]] = [pool.submit(one, thing) for thing in things]
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                if future.exception() is not None:
                    pool.shutdown(wait=False, cancel_futures=True)
                    future.result()

    def _known(self, source: str) -> SourceRecord | None:
        record = self.staging.manifest.records.get(source)
        if record is None or record.wish != self.wish:
            return None
        there = record.output is None or record.placed or (self.staging.staging / record.output).exists()
        if there and record.output is not None:
            self.staging.named(record)
        return record if there else None

    def _deal(self, unit: RowGroups) -> None:
        source = f"unit {unit.number}"
        if self._known(source) is not None and (self.folder / spill_name(unit)).exists():
            return
        dealt = deal_out(self.dataset, unit, self.layout, self.buckets, self._bucket_of, self.folder)
        rejects = f"{REJECTS_NAME}/unit-{unit.number:06d}.parquet"
        self._record(source, unit.rows, dealt.rows, None, (rejects, dealt.bad_rows, dealt.faults))

    def _points_in(self, bucket: int) -> int:
        return self.staging.manifest.records[f"bucket {bucket}"].points_in

    def _part(self, bucket: int) -> None:
        source = f"bucket {bucket}"
        known = self.folder / f"{source}.json"
        if self._known(source) is not None and known.exists():
            return
        dealt = gathered(self.folder, self.dataset.units, bucket, self.buckets)
        none = np.zeros(0, np.int64), np.zeros(0, np.uint8)
        if dealt is None:
            write_text(known, json.dumps({"people": 0, "points": {}}), private=True)
            self._record(source, 0, 0, None, ("", *none))
            return
        name = part_name(bucket)
        filled = self.staging.staging / f".{name}"
        part = write_pieces(self.transform(dealt), self.dataset, self.layout, filled)
        write_text(known, json.dumps({"people": part.people, "points": part.points_of_people}), private=True)
        if part.rows:
            filled.replace(self.staging.staging / name)
        rejects = f"{REJECTS_NAME}/{name}"
        points, left = dealt.rows, (rejects, part.bad_rows, part.faults)
        self._record(source, points, part.rows, name if part.rows else None, left)

    def _record(
        self, source: str, points_in: int, points_out: int, output: str | None, left: tuple[str, IntArray, Faults]
    ) -> None:
        """What a step did: first the rows it left out, then itself."""
        rejects, rows, faults = left
        skipped = counted(faults)
        records = [self._entry(source, points_in, points_out, output, skipped)]
        if skipped and self.publish_rejects:
            write_rejects(self.dataset, rows, faults, self.staging.staging / rejects)
            records.insert(0, self._entry(f"rejects of {source}", 0, 0, rejects, {}))
        with self._lock:
            for record in records:
                if record.output is not None and not self.staging.named(record):
                    raise InputError(
                        "A part came out differently when it was done again.", "Nothing is released; report this."
                    )
                self.staging.manifest.add(record)

    def _entry(
        self, source: str, points_in: int, points_out: int, output: str | None, skipped: dict[str, int]
    ) -> SourceRecord:
        digest = None if output is None else file_sha256(self.staging.staging / output)
        return SourceRecord(
            source, self.wish, self.wish, output, digest, points_in, points_out, (), digest, skipped=skipped
        )

    def _refuse_faults(self) -> None:
        skipped = self.tally_skipped()
        if skipped:
            raise InputError(fault_words(skipped, self.dataset.rows), "Nothing was written, because of --strict.")

    def tally_skipped(self) -> dict[str, int]:
        """Rows left out so far, by reason."""
        total: Counter[str] = Counter()
        for record in self.records():
            total.update(record.skipped)
        return dict(total)


def forget(private: Path) -> None:
    """The job's key overwritten and removed, and with it all that was private to the job, half-written files too."""
    for key in private.glob(f"*{KEY_NAME}*"):
        with key.open("r+b") as file:
            file.write(bytes(key.stat().st_size))
            file.flush()
            os.fsync(file.fileno())
        key.unlink()
    for path in private.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name not in (STATE_NAME, "job.lock"):
            path.unlink(missing_ok=True)


def forget_unless_killed(private: Path, placed: Sequence[SourceRecord], error: BaseException) -> None:
    """A job that is refused and has nothing in place leaves nothing behind; one that is interrupted can go on."""
    if isinstance(error, SfumatoError) and not any(record.placed for record in placed):
        forget(private)
