"""Places hidden in a whole archive: what is left is attacked before it is shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.base.randomness import Random
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.build import certificate_body
from sfumato.tracks.folders.archives.filling import filling, put_in_place
from sfumato.tracks.folders.archives.hiding import Blur, Hiding
from sfumato.tracks.folders.archives.job import Job, RideOutcome, SourceReading
from sfumato.tracks.folders.archives.one_person import Whereabouts
from sfumato.tracks.folders.archives.protecting import chosen_noise, wish_in
from sfumato.tracks.folders.archives.result import ArchiveResult, Faces, require_something
from sfumato.tracks.folders.archives.staging import STATE_NAME
from sfumato.tracks.io import read_trace
from sfumato.tracks.io.archive import Member, members
from sfumato.tracks.places import LeakTest, Places
from sfumato.tracks.places.zones import points_of
from sfumato.tracks.plan import Plan
from sfumato.tracks.times_released import Times


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
    to: str | None = None,
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
    with filling(out, sources) as private:
        if blur_m is not None:
            plan = Plan(noise_m=blur_m, prior_class=prior_class)
            chosen = chosen_noise(plan, state or private / STATE_NAME, passphrase, rng)
            hiding = replace(hiding, blur=Blur(plan, chosen))
        owner = places.derived("owner").hex()
        job = Job(
            out,
            owner=owner,
            key=places.derived("names"),
            wish=wish_in(hiding.wish(), to),
            keep_names=keep_names,
            to=to,
        )
        test, entered = LeakTest(places, noise_m=blur_m or 0.0), [0] * len(places.active)
        seen: set[str] = set()

        def look(trace: Trace, outcome: RideOutcome) -> None:
            test.add(trace, outcome.published)
            for number, zone in enumerate(hiding.zones):
                entered[number] += _enters(trace, zone)

        where = Whereabouts()

        def transform(trace: Trace) -> RideOutcome:
            where.add(trace)
            return hiding.outcome(trace)

        try:
            job.run(_noted(members(sources), seen), transform, reading, look=look, strict=strict, step=faces.step)
            require_something(job.rows)
            if hiding.blur is not None and not reading.one_person:
                where.refuse_two_people()
            for name in _of_earlier_runs(job, seen) if times.kind == "keep" else ():
                earlier = read_trace(job.where(name))
                test.add(earlier, earlier)
            leaks = test.results()
            unvisited = tuple(place.name for place, count in zip(places.active, entered, strict=True) if not count)
            if faces.tested is not None:
                faces.tested(leaks, unvisited)
            noise = None
            if hiding.blur is not None and job.outputs:
                terms = replace(
                    hiding.blur.chosen.terms(hiding.blur.plan), times=str(times), kept=reading.keep, several_files=True
                )
                noise = certificate_body(terms, job.released)
            simulation = places.simulation or (noise is not None and bool(noise["simulation"]))
            document = put_in_place(job, faces, noise, reading, times=times, withheld=True, simulation=simulation)
        finally:
            job.close()
        return ArchiveResult(tuple(job.rows), leaks, unvisited, document, private)


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
