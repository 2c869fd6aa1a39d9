"""The two journeys of an archive: places hidden (what is left is attacked before it is shared), or noise added."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.archives.hiding import Blur, Hiding
from sfumato.archives.job import Job, RideOutcome, Row, SourceReading, opened_private
from sfumato.archives.statement import archive_document, noise_body
from sfumato.certificates.build import rounded_times
from sfumato.certificates.state import NoiseState, load_state
from sfumato.errors import InputError
from sfumato.io import read_trace
from sfumato.io.archive import Member, members
from sfumato.places import LeakTest, PlaceLeak, Places
from sfumato.places.zones import points_of
from sfumato.plan import DEFAULT_MECHANISM, Plan
from sfumato.protection import Chosen, choose
from sfumato.randomness import Random
from sfumato.times_released import Times
from sfumato.traces import Trace

STATE_NAME = "noise.state"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ArchiveResult:
    """What happened. ``rows`` and ``leaks`` are private; ``document`` is the certificate, public."""

    rows: tuple[Row, ...]
    leaks: tuple[PlaceLeak, ...]
    unvisited: tuple[str, ...]
    document: dict[str, Any]
    private: Path

    @property
    def shared(self) -> int:
        """Files in the output folder."""
        return len(self.document["files"])


@dataclass(frozen=True, slots=True)
class Faces:
    """What the caller shows on the way: one step per source, the leak test before anything is in place."""

    step: Callable[[], None] | None = None
    tested: Callable[[tuple[PlaceLeak, ...], tuple[str, ...]], None] | None = None


def hide_archive(
    sources: Sequence[str | Path],
    out: Path,
    places: Places,
    *,
    reading: SourceReading | None = None,
    times: Times | None = None,
    blur_m: float | None = None,
    prior_class: str = "year",
    state: Path | None = None,
    passphrase: str | None = None,
    keep_names: bool = False,
    strict: bool = False,
    faces: Faces | None = None,
    rng: Random = None,
) -> ArchiveResult:
    """Every ride of the sources without what lies in the zones, in ``out``; see the rules in ``docs/places.md``.

    ``faces.tested`` gets the leak test of everything that would be public, rides shared before included, and may raise:
    then nothing is put in place.
    """
    reading, faces, times = reading or SourceReading(), faces or Faces(), times or Times()
    hiding = Hiding(places, times, reading.keep)
    with opened_private(out, sources) as private:
        if blur_m is not None:
            plan = Plan(noise_m=blur_m, prior_class=prior_class)
            chosen = _chosen(plan, state or private / STATE_NAME, passphrase, rng)
            hiding = replace(hiding, blur=Blur(plan, chosen))
        owner = places.derived("owner").hex()
        job = Job(
            out,
            owner=owner,
            key=places.derived("names"),
            wish=hiding.wish(),
            keep_names=keep_names,
            remember=blur_m is not None,
        )
        test, entered = LeakTest(places), [0] * len(places.active)
        seen: set[str] = set()

        def look(trace: Trace, outcome: RideOutcome) -> None:
            test.add(trace, outcome.published)
            for number, zone in enumerate(hiding.zones):
                entered[number] += _enters(trace, zone)

        def transform(trace: Trace) -> RideOutcome:
            return hiding.outcome(trace)

        try:
            job.run(_noted(members(sources), seen), transform, reading, look=look, strict=strict, step=faces.step)
            _require_something(job.rows)
            for name in _of_earlier_runs(job, seen) if times.kind == "keep" else ():
                earlier = read_trace(job.where(name))
                test.add(earlier, earlier)
            leaks = test.results()
            unvisited = tuple(place.name for place, count in zip(places.active, entered, strict=True) if not count)
            if faces.tested is not None:
                faces.tested(leaks, unvisited)
            noise = None
            if hiding.blur is not None and times.shown and job.outputs:
                terms = replace(hiding.blur.chosen.terms(hiding.blur.plan), times=str(times), kept=reading.keep)
                noise = noise_body(terms, _releases(job, reading.keep))
            document = archive_document(
                job.outputs,
                times=times,
                kept=reading.keep,
                withheld=True,
                simulation=places.simulation or (noise is not None and bool(noise["simulation"])),
                noise=noise,
            )
            job.place()
        finally:
            job.close()
        return ArchiveResult(tuple(job.rows), leaks, unvisited, document, private)


def protect_archive(
    sources: Sequence[str | Path],
    out: Path,
    plan: Plan,
    *,
    reading: SourceReading | None = None,
    state: Path | None = None,
    passphrase: str | None = None,
    keep_names: bool = False,
    strict: bool = False,
    faces: Faces | None = None,
    rng: Random = None,
) -> ArchiveResult:
    """Every track of one person's archive with one noise that continues over all of them, and one certificate."""
    reading, faces, times = reading or SourceReading(), faces or Faces(), Times.parse(plan.times)
    plan = replace(plan, times="keep")  # changed after the noise, with one secret for all files
    if plan.mechanism != DEFAULT_MECHANISM or plan.secrets is not None or plan.redraws != 1:
        raise InputError(
            "An archive is protected by one noise that continues over all of its files: multiscale.",
            "Leave --mechanism, --secrets and --redraws out, or protect the files one by one.",
        )
    with opened_private(out, sources) as private:
        chosen = _chosen(plan, state or private / STATE_NAME, passphrase, rng)
        assert chosen.state is not None
        key = hashlib.sha256(b"sfumato archive\0" + chosen.state.key).digest()
        wish = json.dumps([plan.to_dict(), str(times), sorted(reading.keep)], sort_keys=True)
        job = Job(
            out,
            owner=hashlib.sha256(b"owner\0" + key).hexdigest(),
            key=key,
            wish=hashlib.sha256(wish.encode()).hexdigest(),
            keep_names=keep_names,
        )

        def transform(trace: Trace) -> RideOutcome:
            keep = [*trace.columns, *trace.texts]
            noisy = chosen.released(rounded_times(trace), None, replace(plan, keep=keep))
            return RideOutcome(times.apply(noisy, key), times=times.shown)

        try:
            job.run(members(sources), transform, reading, strict=strict, step=faces.step)
            _require_something(job.rows)
            noise = None
            if times.shown and job.outputs:
                terms = replace(chosen.terms(plan), times=str(times), kept=reading.keep)
                noise = noise_body(terms, _releases(job, reading.keep))
            document = archive_document(
                job.outputs,
                times=times,
                kept=reading.keep,
                withheld=False,
                simulation=chosen.state.simulation,
                noise=noise,
            )
            job.place()
        finally:
            job.close()
        return ArchiveResult(tuple(job.rows), (), (), document, private)


def _releases(job: Job, kept: Sequence[str]) -> list[Trace]:
    """Every output file's trace: from this run's memory, or from the file where an earlier run wrote it."""
    known = job.remembered or {}
    return [known.get(name) or read_trace(job.where(name), keep=kept, keep_if_there=True) for name, _ in job.outputs]


def _chosen(plan: Plan, state: Path, passphrase: str | None, rng: Random) -> Chosen:
    held: NoiseState | Path = load_state(state, passphrase=passphrase) if state.exists() else state
    return choose(plan, [], held, passphrase=passphrase if held is state else None, rng=rng)


def _noted(source: Any, seen: set[str]) -> Any:
    for member in source:
        assert isinstance(member, Member)
        seen.add(member.name)
        yield member


def _of_earlier_runs(job: Job, seen: set[str]) -> list[str]:
    """Outputs shared before from sources that are not among today's."""
    today = {record.output for record in job.manifest.records.values() if record.source in seen}
    return [name for name, _ in job.outputs if name not in today]


def _enters(trace: Trace, zone: Any) -> int:
    return int(zone.holds(points_of(trace.lat_deg, trace.lon_deg)).any())


def _require_something(rows: Sequence[Row]) -> None:
    if any(row.refused is None for row in rows) or any(row.output for row in rows):
        return
    if not rows:
        raise InputError("There is no file in what was given.", "Give a folder, files or an archive with tracks.")
    first = next((row for row in rows if not row.no_track), rows[0])
    raise InputError(
        f"None of {len(rows)} file(s) could be used; {first.source}: {first.refused}", "Nothing was written."
    )
