"""I moved, I forgot a place: the shared folder built anew with the zones of today, and what that cannot mend.

Every ride is hidden again into a folder beside the old one, which then takes its name; the old one is kept under
another until its owner deletes it. Files are named by their content, so whatever no new zone touches keeps name and
bytes, and the files to delete where they were uploaded are those that are no longer there. What was shared was shared:
whoever kept the old copy finds in it what they found before, and that is measured, too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from sfumato.base.errors import InputError, SfumatoError
from sfumato.base.files import write_text
from sfumato.tracks.folders.manifest import RECORDS_NAME, SourceRecord, private_folder, read_records, sources_by_content
from sfumato.tracks.folders.rides.hide import hide_archive
from sfumato.tracks.folders.rides.ride_job import ArchiveResult
from sfumato.tracks.folders.rides.sharing import Sharing
from sfumato.tracks.folders.staging import STATE_NAME, ZONES_NAME, only_run, swap_folders
from sfumato.tracks.io import read_trace
from sfumato.tracks.places.ends import RideEnds
from sfumato.tracks.places.globe import surface
from sfumato.tracks.places.leak_test import LeakTest, PlaceLeak
from sfumato.tracks.places.places_file import Places
from sfumato.tracks.plan import Plan, Times


@dataclass(frozen=True, slots=True)
class Exposure:
    """One shared file that shows what is inside a zone: how many points, and when the first and last of them were."""

    file: str
    source: str
    place: str
    points: int
    first_s: float
    last_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Rebuilt:
    """What was exposed, and the folder that replaces the old one. All of it is private.

    ``kept_copy`` is what attackers find who kept the old folder; ``replaced`` are old and new names (None: nothing is
    left of it), ``dropped`` old files whose rides were not given; ``old`` is where the old folder lies now (None: tried
    only).
    """

    exposed: tuple[Exposure, ...]
    kept_copy: tuple[PlaceLeak, ...]
    replaced: tuple[tuple[str, str | None], ...]
    dropped: tuple[str, ...]
    done: ArchiveResult
    old: Path | None

    def sentences(self, out: Path) -> Iterator[str]:
        """Which shared files expose which place, what cannot be taken back, and what to delete where."""
        if self.exposed:
            yield "Shared files that show what is inside a zone (private):"
        for row in self.exposed:
            first, last = (datetime.fromtimestamp(moment, UTC).date() for moment in (row.first_s, row.last_s))
            whence = f"(from {row.source})" if row.source else "(not made here)"
            yield f"  {row.file}  {row.place}: {row.points} points, {first} to {last}  {whence}"
        for leak in self.kept_copy:
            if leak.lies_open:
                near = "" if leak.best_m is None else f" and comes within {leak.best_m:.0f} m of it"
                yield f"Whoever kept the old copy sees {leak.name} lie open{near}: that cannot be taken back."
        for before, now in self.replaced:
            yield f"Delete {before} wherever you uploaded it{f', and share {now} instead' if now else ''}."
        if self.dropped:
            yield (
                f"NOT IN THE NEW FOLDER, because their rides were not given: {', '.join(self.dropped)}. Give all "
                "rides, or delete these, too, wherever you uploaded them."
            )
        if self.old is None:
            yield f"Nothing was put in place: without --dry-run {out} is replaced, and the old folder kept."
        else:
            yield f"{out} is new. The old folder is kept as {self.old}: delete it when you are done."

    def to_dict(self) -> dict[str, object]:
        """The same as a table."""
        return {
            "exposed": [asdict(row) for row in self.exposed],
            "kept_copy": [{**asdict(leak), "sentence": leak.sentence()} for leak in self.kept_copy],
            "delete": [before for before, _ in self.replaced] + list(self.dropped),
            "replaced": dict(self.replaced),
            "dropped": list(self.dropped),
            "old_folder": None if self.old is None else str(self.old),
        }


def hide_again(
    sources: Sequence[str | Path],
    out: Path,
    places: Places,
    how: Sharing,
    *,
    times: Times,
    blur: Plan | None = None,
    ends: RideEnds | None = None,
    dry_run: bool = False,
) -> Rebuilt:
    """The folder built anew beside the old one, and put in its place; with ``dry_run`` thrown away again.

    No other run fills the folder meanwhile.
    """
    with only_run(out):
        if not out.is_dir() or not (private_folder(out) / RECORDS_NAME).exists():
            raise InputError(f"Nothing was shared in {out} yet.", "Leave --again out.")
        records = list(read_records(out).values())
        exposed, kept_copy = _exposures(out, places, records, (blur and blur.noise_m) or 0.0)
        new = out.with_name(f"{out.name}.again")
        _remove(new)  # of a run that was killed before it swapped
        _carry_over(out, new, records)
        try:
            faces = replace(how.faces, certified=None) if dry_run else how.faces
            done = hide_archive(sources, new, places, replace(how, faces=faces), times=times, blur=blur, ends=ends)
            after = {record.source: record for record in read_records(new).values()}
            moved = sources_by_content(after.values())
        except BaseException:
            _remove(new)
            raise
        here = {record.output: record for record in records if record.output and (out / record.output).exists()}
        if dry_run:
            _remove(new)
        old = None if dry_run else swap_folders(out, new)
    whole = {name: one.source.removesuffix(f" (part {one.part})") for name, one in sorted(here.items())}
    now_at = {source: moved[key] for key, source in sources_by_content(records).items() if key in moved}
    whole = {name: source if source in after else now_at.get(source, source) for name, source in whole.items()}
    pairs = [(name, after[source].output) for name, source in whole.items() if source in after]
    return Rebuilt(
        exposed,
        kept_copy,
        tuple((before, now) for before, now in pairs if before != now),
        tuple(name for name, source in whole.items() if source not in after),
        replace(done, private=private_folder(out)),
        old,
    )


def _remove(out: Path) -> None:
    for folder in (out, private_folder(out)):
        shutil.rmtree(folder, ignore_errors=True)


def _exposures(
    out: Path, places: Places, records: Sequence[SourceRecord], noise_m: float
) -> tuple[tuple[Exposure, ...], tuple[PlaceLeak, ...]]:
    """Every file of the folder held against every zone; and the leak test of the folder as it is."""
    source = {record.output: record.source for record in records}
    found, test = [], LeakTest(places, noise_m=noise_m)
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        try:
            trace = read_trace(path)
        except SfumatoError:
            continue  # no track, or no times: the rides themselves are looked at when they are hidden again
        test.add(trace, trace)
        points, name = surface(trace.lat_deg, trace.lon_deg), path.relative_to(out).as_posix()
        for place in places.active:
            inside = place.withheld.holds(points)
            if noise_m and inside.any():
                inside &= place.withheld.beyond_m(points) < -4.0 * noise_m
            if inside.any():
                when = trace.times_s[inside]
                count = int(np.count_nonzero(inside))
                row = Exposure(name, source.get(name, ""), place.name, count, float(when.min()), float(when.max()))
                found.append(row)
    return tuple(found), test.results()


def _carry_over(out: Path, new: Path, records: Sequence[SourceRecord]) -> None:
    """The noise's state, the zones there were, and which files their owner took out: these stay out."""
    old, fresh = private_folder(out), private_folder(new)
    fresh.mkdir(mode=0o700)
    for name in (STATE_NAME, ZONES_NAME):
        if (old / name).exists():
            shutil.copy2(old / name, fresh / name)
    head, *_ = (old / RECORDS_NAME).read_text("utf-8").split("\n", 1)
    gone = [record for record in records if record.output and not (out / record.output).exists()]
    lines = [head, *(json.dumps(asdict(record)) for record in gone)]
    write_text(fresh / RECORDS_NAME, "\n".join(lines) + "\n", private=True)
