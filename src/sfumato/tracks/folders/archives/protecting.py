"""Noise on a whole archive: one that continues over all files (multiscale), or one drawn once over all of them.

Multiscale noise is a function of a key and the time, so files are protected one by one, in any order, resumed and added
to. Every other mechanism draws its noise for a path: then all files are one path of one person, protected at once,
certified over all of its times, and put in place together; nothing can be added later, because new noise over the same
days would average out.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sfumato.base.errors import InputError, SfumatoError
from sfumato.base.randomness import Random, randomness
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.build import certificate_body, released_of, rounded_times
from sfumato.tracks.certificates.state import NoiseState, load_state
from sfumato.tracks.folders.archives.filling import filling, put_in_place
from sfumato.tracks.folders.archives.job import Job, RideOutcome, SourceReading
from sfumato.tracks.folders.archives.one_person import Whereabouts
from sfumato.tracks.folders.archives.result import ArchiveResult, Faces, require_something
from sfumato.tracks.folders.archives.staging import STATE_NAME
from sfumato.tracks.folders.archives.statement import joined
from sfumato.tracks.io.archive import members
from sfumato.tracks.people.protection import Chosen, choose
from sfumato.tracks.plan import DEFAULT_MECHANISM, Plan
from sfumato.tracks.times_released import Times


def protect_archive(
    sources: Sequence[str | Path],
    out: Path,
    plan: Plan,
    *,
    reading: SourceReading | None = None,
    state: Path | None = None,
    passphrase: str | None = None,
    keep_names: bool = False,
    to: str | None = None,
    strict: bool = False,
    faces: Faces | None = None,
    rng: Random = None,
) -> ArchiveResult:
    """Every track of one person's archive with one noise over all of them, and one certificate."""
    reading, faces, times = reading or SourceReading(), faces or Faces(), Times.parse(plan.times)
    plan = replace(plan, times="keep")  # changed after the noise, with one secret for all files
    if plan.secrets is not None:
        raise InputError(
            "Secrets are chosen moments of one track, not of an archive.",
            "To hide places in an archive: sfumato hide rides/ -o shared/ --places me.places.",
        )
    if plan.mechanism != DEFAULT_MECHANISM or plan.redraws != 1:
        if state is not None:
            raise InputError("Only multiscale noise continues from a state.", "Leave --state or --mechanism out.")
        return _at_once(sources, out, plan, times, reading, (keep_names, to), strict, faces, rng)
    with filling(out, sources) as private:
        chosen = chosen_noise(plan, state or private / STATE_NAME, passphrase, rng)
        assert chosen.state is not None
        key = hashlib.sha256(b"sfumato archive\0" + chosen.state.key).digest()
        wish = json.dumps([plan.to_dict(), str(times), sorted(reading.keep)], sort_keys=True)
        job = Job(
            out,
            owner=hashlib.sha256(b"owner\0" + key).hexdigest(),
            key=key,
            wish=wish_in(hashlib.sha256(wish.encode()).hexdigest(), to),
            keep_names=keep_names,
            to=to,
        )

        where = Whereabouts()

        def transform(trace: Trace) -> RideOutcome:
            where.add(trace)
            keep = [*trace.columns, *trace.texts]
            noisy = chosen.released(rounded_times(trace), None, replace(plan, keep=keep))
            return RideOutcome(times.apply(noisy, key), times=times.shown)

        try:
            job.run(members(sources), transform, reading, strict=strict, step=faces.step)
            require_something(job.rows)
            if not reading.one_person:
                where.refuse_two_people()
            terms = replace(chosen.terms(plan), times=str(times), kept=reading.keep, several_files=True)
            noise = certificate_body(terms, job.released) if job.outputs else None
            if noise is not None and faces.priced is not None:
                faces.priced(noise, chosen.state.process)
            simulation = chosen.state.simulation
            document = put_in_place(job, faces, noise, reading, times=times, withheld=False, simulation=simulation)
        finally:
            job.close()
        return ArchiveResult(tuple(job.rows), (), (), document, private)


def _at_once(
    sources: Sequence[str | Path],
    out: Path,
    plan: Plan,
    times: Times,
    reading: SourceReading,
    named: tuple[bool, str | None],
    strict: bool,
    faces: Faces,
    rng: Random,
) -> ArchiveResult:
    """All files as one path: read twice, protected together, put in place together, once."""
    draw = randomness(rng)
    with filling(out, sources) as private:
        if out.exists() and any(out.iterdir()):
            raise InputError(
                f"The output folder holds files, and {plan.mechanism} noise over one archive is drawn once.",
                "Use an empty folder, and never share two releases of the same days: their noise averages out. To add "
                "rides later, use multiscale noise (the default).",
            )
        (private / "manifest.jsonl").unlink(missing_ok=True)  # of a run that ended before anything was in place
        originals = [rounded_times(trace) for trace in _readable(sources, reading)]
        if not reading.one_person:
            where = Whereabouts()
            for trace in originals:
                where.add(trace)
            where.refuse_two_people()
        noisy: Iterator[Trace] = iter(())
        if originals:
            chosen = choose(plan, [joined(originals)], None, rng=draw)
            noisy = iter(_split(chosen.released(joined(originals), None, plan), originals))
        key = draw.words(4).tobytes()
        job = Job(out, owner=key.hex(), key=key, wish=str(times), keep_names=named[0], to=named[1], remember=True)

        changed = []

        def transform(trace: Trace) -> RideOutcome:
            moved = next(noisy, None)
            if moved is None or not np.array_equal(moved.times_s, rounded_times(trace).times_s):
                changed.append(trace)
                return RideOutcome(None)
            release = trace.moved_to(moved.lat_deg, moved.lon_deg, keep=[*trace.columns, *trace.texts])
            return RideOutcome(times.apply(rounded_times(release), key), times=times.shown)

        try:
            job.run(members(sources), transform, reading, strict=strict, step=faces.step)
            require_something(job.rows)
            if changed:
                raise InputError("A file changed while the archive was read.", "Run it again.")
            terms = replace(chosen.terms(plan), times=str(times), kept=reading.keep)
            assert job.remembered is not None
            if times.kind in ("keep", "shift"):  # still the times of one path
                path = joined([job.remembered[name] for name, _ in job.outputs])
                noise = certificate_body(terms, released_of([(None, path)]))
            else:
                noise = certificate_body(replace(terms, several_files=True), job.released)
            if faces.priced is not None:
                faces.priced(noise, uuid.uuid4().hex)
            simulation = terms.simulation
            document = put_in_place(job, faces, noise, reading, times=times, withheld=False, simulation=simulation)
        finally:
            job.close()
        return ArchiveResult(tuple(job.rows), (), (), document, private)


def _readable(sources: Sequence[str | Path], reading: SourceReading) -> list[Trace]:
    """Every track that can be read, in the order in which a run meets them; why others cannot, the run says."""
    found = []
    for member in members(sources):
        if member.skipped is None:
            try:
                with member.path() as path:
                    found.append(reading.read(path)[1])
            except (SfumatoError, OSError):
                continue
    return found


def _split(release: Trace, originals: Sequence[Trace]) -> list[Trace]:
    out, begin = [], 0
    for trace in originals:
        part = slice(begin, begin + len(trace))
        out.append(Trace(release.lat_deg[part], release.lon_deg[part], trace.times_s, trace.segment))
        begin += len(trace)
    return out


def wish_in(wish: str, to: str | None) -> str:
    """A wish that also names the format to write."""
    return wish if to is None else hashlib.sha256(f"{wish} as {to}".encode()).hexdigest()


def chosen_noise(plan: Plan, state: Path, passphrase: str | None, rng: Random) -> Chosen:
    """The noise that goes on from the state's file, or begins one there."""
    held: NoiseState | Path = load_state(state, passphrase=passphrase) if state.exists() else state
    return choose(plan, [], held, passphrase=passphrase if held is state else None, rng=rng)
