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
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np

from sfumato.base.errors import InputError, SfumatoError
from sfumato.base.randomness import Randomness, randomness
from sfumato.base.things.traces import Trace, join_traces
from sfumato.tracks.certificates.build import Released, ReleasedFiles, certificate_body, released_of, rounded_times
from sfumato.tracks.certificates.state import NoiseState, load_state
from sfumato.tracks.folders.manifest import RECORDS_NAME
from sfumato.tracks.folders.rides.ride_job import ArchiveResult, Job, Said, Treatment, fill_archive
from sfumato.tracks.folders.rides.sharing import Sharing
from sfumato.tracks.folders.staging import STATE_NAME
from sfumato.tracks.io import SourceReading
from sfumato.tracks.io.archive import count_members, members
from sfumato.tracks.people.noise import Noise, choose
from sfumato.tracks.plan import DEFAULT_MECHANISM, Plan, Times

TESTED = 100  # files, evenly chosen, whose noise is held to its law before anything is in place


def protect_archive(sources: Sequence[str | Path], out: Path, plan: Plan, how: Sharing | None = None) -> ArchiveResult:
    """Every track of one person's archive with one noise over all of them, and one certificate."""
    how, times = how or Sharing(), Times.parse(plan.times)
    plan = replace(plan, times="keep")  # changed after the noise, with one secret for all files
    if plan.secrets is not None:
        raise InputError(
            "Secrets are chosen moments of one track, not of an archive.",
            "To hide places in an archive: sfumato hide rides/ -o shared/ --places me.places.",
        )
    at_once = plan.mechanism != DEFAULT_MECHANISM or plan.redraws != 1
    if at_once and how.state is not None:
        raise InputError("Only multiscale noise continues from a state.", "Leave --state or --mechanism out.")
    draw = randomness(how.rng)

    def begin(private: Path) -> Treatment:
        if at_once:
            return _at_once(sources, out, private, plan, times, how, draw)
        return _continuing(chosen_noise(sources, plan, private, how), plan, times, how)

    return fill_archive(sources, out, how, begin)


def chosen_noise(sources: Sequence[str | Path], plan: Plan, private: Path, how: Sharing) -> Noise:
    """The noise that goes on from the state's file, by default in the private folder, or begins one there."""
    state = how.state or private / STATE_NAME
    held: NoiseState | Path = load_state(state, passphrase=how.passphrase) if state.exists() else state
    noise = choose(plan, [], state=held, passphrase=how.passphrase if held is state else None, rng=how.rng)
    return replace(noise, parts=max(1, count_members(sources)))  # drawn file by file


def _continuing(chosen: Noise, plan: Plan, times: Times, how: Sharing) -> Treatment:
    assert chosen.state is not None
    key, process = hashlib.sha256(b"sfumato archive\0" + chosen.state.key).digest(), chosen.state.process
    wish = json.dumps([plan.to_dict(), str(times), sorted(how.reading.keep)], sort_keys=True)

    every, files = -(-chosen.parts // TESTED), count()

    def publish(trace: Trace) -> Trace:
        keep, law = [*trace.columns, *trace.texts], next(files) % every == 0
        return times.apply(chosen.track(rounded_times(trace), keep=keep, times=times, law=law), key)

    def conclude(job: Job) -> Said:
        return _said(job, chosen, process, job.released if job.outputs else None)

    owner = hashlib.sha256(b"owner\0" + key).hexdigest()
    return Treatment(key, owner, hashlib.sha256(wish.encode()).hexdigest(), times, publish, conclude, grows=True)


def _at_once(
    sources: Sequence[str | Path],
    out: Path,
    private: Path,
    plan: Plan,
    times: Times,
    how: Sharing,
    draw: Randomness,
) -> Treatment:
    """All files as one path: read twice, protected together, put in place together, once."""
    if out.exists() and any(out.iterdir()):
        raise InputError(
            f"The output folder holds files, and {plan.mechanism} noise over one archive is drawn once.",
            "Use an empty folder, and never share two releases of the same days: their noise averages out. To add "
            "rides later, use multiscale noise (the default).",
        )
    (private / RECORDS_NAME).unlink(missing_ok=True)  # of a run that ended before anything was in place
    originals = [rounded_times(trace) for trace in _readable(sources, how.reading)]
    parts = iter(list[Trace]())
    if originals:
        path = join_traces(originals)
        chosen = choose(plan, [path], rng=draw)
        parts = iter(_split(chosen.track(path), originals))
    key, changed = draw.words(4).tobytes(), []

    def publish(trace: Trace) -> Trace | None:
        moved = next(parts, None)
        if moved is None or not np.array_equal(moved.times_s, rounded_times(trace).times_s):
            changed.append(trace)
            return None
        release = trace.moved_to(moved.lat_deg, moved.lon_deg, keep=[*trace.columns, *trace.texts])
        return times.apply(rounded_times(release), key)

    def conclude(job: Job) -> Said:
        if changed:
            raise InputError("A file changed while the archive was read.", "Run it again.")
        released: Released | ReleasedFiles = job.released
        if times.kind in ("keep", "shift"):  # still the times of one path
            released = released_of([(None, join_traces([job.published[name] for name, _ in job.outputs]))])
        return _said(job, chosen, uuid.uuid4().hex, released)

    return Treatment(key, key.hex(), str(times), times, publish, conclude, remember=True)


def _said(job: Job, chosen: Noise, process: str, released: Released | ReleasedFiles | None) -> Said:
    """The noise's certificate, priced; nothing of it where nothing was released."""
    times, kept, several = str(job.do.times), job.how.reading.keep, isinstance(released, ReleasedFiles)
    terms = replace(chosen.terms(), times=times, kept=kept, several_files=several)
    noise = None if released is None else certificate_body(terms, released)
    if noise is not None and job.how.faces.priced is not None:
        job.how.faces.priced(noise, process)
    return Said(noise, terms.simulation)


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
