"""Noise on a whole dataset: everybody's own, one process for each person whatever files their rows are in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import pyarrow as pa

from sfumato.base.errors import InputError
from sfumato.base.randomness import Random
from sfumato.tracks.certificates.build import ReleasedFiles, certificate_body, refuse_other_times
from sfumato.tracks.certificates.person_ids import distinct_ids
from sfumato.tracks.certificates.state import NoiseState
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.rows.dataset import DatasetReading, open_dataset
from sfumato.tracks.folders.rows.dataset_job import Running, begun, finished
from sfumato.tracks.folders.rows.parts import DatasetResult, JobTally, Parts, statement_of
from sfumato.tracks.folders.rows.people_losses import BLOCK, Sample, losses_over_people, reason_against
from sfumato.tracks.folders.rows.spill import Bucket
from sfumato.tracks.folders.statement import FolderStatement, over_people
from sfumato.tracks.noise.interface import Json
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.noise import TableNoise
from sfumato.tracks.people.protecting import ProtectedRows, protect_rows
from sfumato.tracks.plan import Plan
from sfumato.tracks.times_released import Times

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
    if (ended := finished(out, folder)) is not None:
        return ended
    dataset = open_dataset(folder)
    layout = how.get("reading", DatasetReading()).layout(dataset.schema, tuple(plan.keep), plan.times)
    asked = {"do": "protect", "plan": plan.to_dict(), "state": state is not None}
    with begun(dataset, layout, out, asked, rng) as job:
        noise = TableNoise.of(plan, key=job.key, state=state, rng=1 if job.simulation and state is None else None)
        refuse_other_times(noise.terms(several_files=True))  # before all rows are read
        noise = replace(noise, key=job.key)
        unseen = reason_against(layout, dataset.schema, plan.times)

        def transform(bucket: Bucket, note: Json) -> Iterator[tuple[pa.Table, ProtectedRows]]:
            if layout.person is not None:
                distinct_ids(bucket.labels)  # over all pieces
            sample = Sample(unseen)
            for table, rows in bucket.pieces(_PIECE_ROWS):
                done = protect_rows(table, layout, noise, by_people=True, rows=rows, schema=dataset.schema)
                sample.add(done.labels, done.starts, done.times_ms)
                yield table, done
            note.update(sample.proposed(noise.mechanism))

        tally = job.run(transform, **how)
        return job.place(
            tally, noisy_statement(job.parts(), layout, noise, tally, tally.notes, priced), how.get("sign")
        )


def noisy_statement(
    parts: Parts,
    layout: Layout,
    noise: TableNoise,
    tally: JobTally,
    proposed: Sequence[Document],
    priced: Callable[[Document], None] | None,
) -> FolderStatement:
    """What the certificate of a dataset with noise is made from; ``proposed`` is whose losses may be computed."""
    terms = noise.terms(several_files=True)
    contents = tuple((points, digest) for _, digest, points in parts)
    body = certificate_body(terms, ReleasedFiles(contents, range(tally.people)))
    if priced is not None:
        priced(body)
    people = over_people(tally.points_of_people)
    people[BLOCK] = losses_over_people(proposed, tally.people, terms, body["worst_loss"])
    return statement_of(parts, layout, Times.parse(noise.plan.times), people, noise=body)
