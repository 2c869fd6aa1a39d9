# src/sfumato/tracks/io/others/plain.py
"""Plain tracks: a line of latitude, longitude and time for each point, separated by blanks; ``#`` begins a remark."""

from __future__ import annotations

from pathlib import Path

from sfumato.base.errors import InputError
from sfumato.base.things.frames import decimal_texts
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.draft import Draft, Reading, degrees
from sfumato.tracks.io.times import format_times


def read(path: Path, reading: Reading) -> list[Draft]:
    """One draft of one segment."""
    draft = Draft(reading, path.stem)
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        fields = line.partition("#")[0].split()
        if len(fields) == 3:
            draft.add(degrees(fields[0]), degrees(fields[1]), fields[2])
        elif fields:
            draft.skip("damaged lines")
    if not draft.lat:
        raise InputError("The plain track has no points.", "Write a line of latitude, longitude and time for each.")
    return [draft]


def write(trace: Trace, path: Path) -> None:
    """A line for each point; a track of several segments is refused, because they would become one."""
    if trace.segments > 1 or trace.columns or trace.texts:
        raise InputError("A plain track holds one segment of positions and times.", "Write GPX to keep more.")
    rows = zip(decimal_texts(trace.lat_deg), decimal_texts(trace.lon_deg), format_times(trace.times_s), strict=True)
    path.write_text("".join(f"{lat} {lon} {time}\n" for lat, lon, time in rows), encoding="ascii")
