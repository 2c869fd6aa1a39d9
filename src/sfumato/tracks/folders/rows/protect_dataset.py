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
from sfumato.tracks.folders.rows.dataset import open_dataset
from sfumato.tracks.folders.rows.dataset_job import Running, begin_job, result_if_finished
from sfumato.tracks.folders.rows.parts import DatasetResult, JobTally, Parts, statement_of
from sfumato.tracks.folders.rows.people_losses import BLOCK, Sample, losses_over_people, reason_against
from sfumato.tracks.folders.rows.people_met import PeopleMet
from sfumato.tracks.folders.rows.spill import Bucket
from sfumato.tracks.folders.statement import FolderStatement, over_people
from sfumato.tracks.noise.interface import Json
from sfumato.tracks.people.engine import ProtectedRows, protect_rows
from sfumato.tracks.people.layout import Layout, TableReading
from sfumato.tracks.people.noise import Noise, choose_for_people
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
    if (ended := result_if_finished(out, folder)) is not None:
        return ended
    dataset = open_dataset(folder)
    layout = how.get("reading", TableReading()).layout(dataset.schema, plan.keep, plan.times, declared=True)
    asked = {"do": "protect", "plan": plan.to_dict(), "state": state is not None}
    with begin_job(dataset, layout, out, asked, rng) as job:
        seed = 1 if job.simulation and state is None else None
        pieces = 2 * (dataset.rows // _PIECE_ROWS) + job.buckets  # two that follow one another hold more than one may
        noise = choose_for_people(plan, state=state, rng=seed, key=job.key, parts=pieces)
        refuse_other_times(noise.terms(several_files=True))  # before all rows are read
        met = PeopleMet(job.folder / "meetings", job.buckets)
        unseen = reason_against(layout, dataset.schema, plan.times)

        def transform(bucket: Bucket, note: Json) -> Iterator[tuple[pa.Table, ProtectedRows]]:
            if layout.person is not None:
                distinct_ids(bucket.labels)  # over all pieces
            sample, together = Sample(unseen), met.of(bucket.labels)
            for table, rows in bucket.pieces(_PIECE_ROWS):
                done = protect_rows(table, layout, noise, by_people=True, rows=rows, schema=dataset.schema)
                sample.add(done.labels, done.starts, done.times_ms)
                together.add(rows.lat_deg, rows.lon_deg, rows.times_ms, rows.codes)
                yield table, done
            together.keep()
            note.update(sample.proposal(noise.mechanism))

        tally = job.run(transform, **how)
        companions = met.worst_group()
        statement = noisy_statement(job.parts(), layout, noise, tally, tally.notes, priced)
        return replace(job.place(tally, statement, how.get("sign")), companions=companions)


def noisy_statement(
    parts: Parts,
    layout: Layout,
    noise: Noise,
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
