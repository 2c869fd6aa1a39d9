"""A trace: where someone was (WGS84 degrees), when (seconds since 1970 UTC), in segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.base.arrays import FloatArray, IntArray, finite, read_only, wrap_longitude
from sfumato.base.errors import InputError
from sfumato.base.shown import Shown
from sfumato.base.units import count_of

# What a calendar can write: 0001-01-01 to 9999-12-31.
EARLIEST_S, LATEST_S = -62_135_596_800.0, 253_402_300_799.999
_TABLE_NAMES = ("lat", "lon", "time", "segment")


@dataclass(frozen=True, slots=True)
class PointsRead:
    """How many points a reader took and how many it left out, by reason: ``{"points without a time": 2}``."""

    read: int
    why: Mapping[str, int] = field(default_factory=dict)

    @property
    def skipped(self) -> int:
        """Points of the file that are not in the trace."""
        return sum(self.why.values())

    @property
    def total(self) -> int:
        """Points of the file."""
        return self.read + self.skipped

    def sentence(self) -> str:
        """In words, without a coordinate."""
        words = ", ".join(f"{reason} ({count})" for reason, count in self.why.items())
        return f"Read {self.read} of {self.total} points; skipped {self.skipped}: {words}." if words else ""

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        return {"read": self.read, "skipped": self.skipped, "why": dict(self.why)}

    @classmethod
    def of(cls, traces: Iterable[Trace]) -> PointsRead:
        """Of several traces together."""
        return cls.total_of(trace.points_read for trace in traces)

    @classmethod
    def total_of(cls, counts: Iterable[PointsRead]) -> PointsRead:
        """Of several counts together."""
        read, why = 0, Counter[str]()
        for count in counts:
            read += count.read
            why.update(count.why)
        return cls(read, dict(why))


@dataclass(frozen=True, slots=True, eq=False)
class Trace(Shown):
    """Positions at times. Times never run backwards inside a segment; equal times are allowed.

    ``segment`` numbers the pieces between which recording stopped. ``columns`` are further per-point numbers that
    someone asked to keep by name (NaN where missing), ``texts`` further words about the whole track, kept the same
    way, and ``dropped`` names what the reader saw and left out; none of the three is ever released by default.
    ``skipped`` counts the points that the reader left out, by reason; they are named in ``dropped``, too.
    """

    lat_deg: FloatArray
    lon_deg: FloatArray
    times_s: FloatArray
    segment: IntArray = None  # type: ignore[assignment]
    columns: Mapping[str, FloatArray] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lat, lon, times = (
            finite(values, name, dimensions=1)
            for values, name in ((self.lat_deg, "latitude"), (self.lon_deg, "longitude"), (self.times_s, "time"))
        )
        count = len(lat)
        segment = np.zeros(count, np.int64) if self.segment is None else _whole_numbers(self.segment)
        if not len(lon) == len(times) == len(segment) == count:
            raise InputError(
                f"The trace has {count} latitudes, {len(lon)} longitudes, {len(times)} times and {len(segment)} "
                "segment numbers.",
                "Give one of each per point.",
            )
        if count == 0:
            raise InputError("The trace has no points.", "Give at least one point with a position and a time.")
        _check_ranges(lat, lon, times)
        if (np.diff(segment) < 0).any():
            raise InputError("Segment numbers decrease.", "Number the segments 0, 1, 2 ... in the order of the points.")
        backwards = (np.diff(times) < 0) & (np.diff(segment) == 0)
        if backwards.any():
            raise InputError(
                f"Times run backwards inside a segment ({int(backwards.sum())} time(s), first after point "
                f"{int(np.argmax(backwards)) + 1}).",
                "Sort the points by time, or split the track where it starts again.",
            )
        columns: dict[str, FloatArray] = {}
        for name, values in self.columns.items():
            if name in _TABLE_NAMES:
                raise InputError(f"A kept column is called {name}, like a trace's own.", "Rename or drop it.")
            column: FloatArray = read_only(values)
            if column.shape != (count,):
                raise InputError(f"Column '{name}' does not have one value per point.", "Give as many as points.")
            columns[str(name)] = column
        object.__setattr__(self, "lat_deg", lat)
        object.__setattr__(
            self, "lon_deg", read_only(wrap_longitude(lon)) if lon.min() < -180 or lon.max() > 180 else lon
        )
        object.__setattr__(self, "times_s", times)
        object.__setattr__(self, "segment", read_only(segment, np.int64))
        object.__setattr__(self, "columns", MappingProxyType(columns))
        counted = [f"{reason} ({count})" for reason, count in self.skipped.items()]
        object.__setattr__(self, "dropped", tuple(dict.fromkeys((*map(str, self.dropped), *counted))))
        object.__setattr__(self, "skipped", MappingProxyType(dict(self.skipped)))
        object.__setattr__(self, "texts", MappingProxyType({str(k): str(v) for k, v in self.texts.items()}))

    def __len__(self) -> int:
        return len(self.times_s)

    def __repr__(self) -> str:
        # No coordinate: reprs end up in logs.
        return f"<Trace of {count_of(len(self), 'point')} in {count_of(self.segments, 'segment')}>"

    def __reduce__(self) -> tuple[Any, ...]:
        plain = (self.lat_deg, self.lon_deg, self.times_s, self.segment, dict(self.columns), self.dropped)
        return Trace, (*plain, dict(self.texts), dict(self.skipped))

    @property
    def points_read(self) -> PointsRead:
        """What its reader took and left out."""
        return PointsRead(len(self), dict(self.skipped))

    @property
    def segments(self) -> int:
        """How many segments have points."""
        return 1 + int(np.count_nonzero(np.diff(self.segment)))

    def moved_to(self, lat_deg: npt.ArrayLike, lon_deg: npt.ArrayLike, *, keep: Iterable[str] = ()) -> Trace:
        """The same times and segments at other positions, with the columns and texts of ``keep`` and nothing else."""
        names = set(keep)
        missing = sorted(names - set(self.columns) - set(self.texts))
        if missing:
            raise InputError(
                f"The trace holds no {', '.join(missing)} to keep.",
                "Read it with keep= for what should stay; it holds: "
                f"{', '.join([*self.columns, *self.texts]) or 'positions and times only'}.",
            )
        return Trace(
            np.asarray(lat_deg, dtype=np.float64),
            np.asarray(lon_deg, dtype=np.float64),
            self.times_s,
            self.segment,
            {name: values for name, values in self.columns.items() if name in names},
            (),
            {name: text for name, text in self.texts.items() if name in names},
        )

    def to_table(self) -> Any:
        """An Arrow table with ``lat``, ``lon``, ``time`` (microseconds, UTC), ``segment`` and the kept columns."""
        micros = np.rint(self.times_s * 1e6).astype(np.int64)
        arrays = {
            "lat": pa.array(self.lat_deg),
            "lon": pa.array(self.lon_deg),
            "time": pa.array(micros).cast(pa.timestamp("us", tz="UTC")),
            "segment": pa.array(self.segment),
        }
        arrays.update({name: pa.array(values) for name, values in self.columns.items()})
        return pa.table(arrays)


def _whole_numbers(values: npt.ArrayLike) -> IntArray:
    array = np.asarray(values)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.number) or (array != np.floor(array)).any():
        raise InputError("Segment numbers are not whole numbers.", "Number the segments 0, 1, 2 ...")
    return array.astype(np.int64)


def _check_ranges(lat: FloatArray, lon: FloatArray, times: FloatArray) -> None:
    """Refuse what is not on the globe or in the calendar; the message counts but never shows a value."""
    for values, name, low, high in (
        (lat, "latitude", -90.0, 90.0),
        (lon, "longitude", -360.0, 360.0),
        (times, "time", EARLIEST_S, LATEST_S),
    ):
        bad = (values < low) | (values > high)
        if bad.any():
            limits = f"{low:g} .. {high:g} degrees" if name != "time" else "the years 1 .. 9999"
            raise InputError(
                f"{int(bad.sum())} {name} value(s) lie outside {limits} (first at point {int(np.argmax(bad)) + 1}).",
                "Remove or repair those points; check that latitude and longitude are not swapped.",
            )


def join_traces(traces: Sequence[Trace]) -> Trace:
    """Several files as one trace, in their order; positions and times only."""
    segment, base = [], 0
    for trace in traces:
        segment.append(trace.segment - trace.segment[0] + base)
        base = int(segment[-1][-1]) + 1
    lat, lon, times = (
        np.concatenate([getattr(trace, name) for trace in traces]) for name in ("lat_deg", "lon_deg", "times_s")
    )
    return Trace(lat, lon, times, np.concatenate(segment))
