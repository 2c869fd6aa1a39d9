"""Evidence: while life goes on, `hide` is never more optimistic than an outsider who looks into the shared folder.

python benchmarks/evidence_moves.py [--people 4] [--public 4]    one line for each story and person; exit 1 if one fails

Made-up people with known homes (streets on a turned grid) live eight stories: they move, forget a place, add rides
later, keep a log that grows, delete a shared file, restore an old backup, share from two machines, and cut the ends of
their rides. People of GeoLife with two clear places live six of them with the rides that they recorded, read in place
from ../shared/data (without it: said, and left out). *Truth* is counted from the rides: how many points inside a zone
lie in the folder. *The tool's line* is what `hide` says before it writes. *The outsider* was written apart from it and
sees only files: they take the place where most rides begin or end (the fullest 100 m), near where the person is known
to live. After `hide --again` they look at the new folder, and at the old one if they kept it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from place_worlds import DATA, _home_of, _split, _streets
from sfumato.base.errors import SfumatoError
from sfumato.base.things.traces import Trace
from sfumato.tracks.folders.rides.again import hide_again
from sfumato.tracks.folders.rides.hide import hide_archive
from sfumato.tracks.folders.rides.ride_job import ArchiveResult
from sfumato.tracks.folders.rides.sharing import Sharing
from sfumato.tracks.folders.verify_folder import verify_folder
from sfumato.tracks.io import read_trace, write_trace
from sfumato.tracks.places.ends import RideEnds
from sfumato.tracks.places.globe import Around, distances_m, surface
from sfumato.tracks.places.places_file import Places, place_at
from sfumato.tracks.plan import Times

TOWN = Around(48.8566, 2.3522)
FOUND_M, KNOWN_M = 200.0, 4000.0
RADIUS_M = 800.0


@dataclass
class Life:
    """One person's folder of rides, places and shared files; ``homes`` are metres in town."""

    folder: Path
    rng: np.random.Generator
    places: Places
    homes: list[np.ndarray]
    turn: np.ndarray
    days: int = 0
    town: Around = TOWN

    @property
    def rides(self) -> Path:
        return self.folder / "rides"

    @property
    def shared(self) -> Path:
        return self.folder / "shared"

    def trace(self, home: int) -> Trace:
        """One day's ride from a home, or back to it, with 4 m of error."""
        goal = self.rng.uniform(-6000, 6000, 2)
        path = _streets(self.homes[home], goal, self.turn, self.rng)[:: self.rng.choice([-1, 1])]
        lat, lon = TOWN.to_degrees(path + self.rng.normal(0, 4, path.shape))
        self.days += 1
        return Trace(lat, lon, 1.7e9 + 86400.0 * self.days + 2.0 * np.arange(len(path)))

    def ride(self, home: int, count: int) -> None:
        """So many days of rides, a file each."""
        self.rides.mkdir(exist_ok=True)
        for _ in range(count):
            write_trace(self.trace(home), self.rides / f"{self.days:03}.gpx")

    def name(self, home: int) -> None:
        """Name a home: its zone is drawn."""
        lat, lon = self.town.to_degrees(self.homes[home])
        drawn = place_at(f"home {home}", float(lat[0]), float(lon[0]), radius_m=RADIUS_M, rng=self.rng)
        self.places = self.places.add(drawn)

    def hide(self) -> ArchiveResult:
        return hide_archive([self.rides], self.shared, self.places)

    def again(self) -> ArchiveResult:
        return hide_again([self.rides], self.shared, self.places, Sharing(), times=Times()).done

    def inside(self, home: int, folder: Path) -> int:
        """The truth: points of the folder inside the zone of a home."""
        zone = next(place.withheld for place in self.places.active if place.name == f"home {home}")
        return sum(int(zone.holds(surface(one.lat_deg, one.lon_deg)).sum()) for one in traces(folder))

    def outsider_m(self, home: int, *folders: Path) -> float:
        """How far from a home the fullest neighbourhood of ride ends is, among those near where they live."""
        ends = [self.homes[home] + 1e9]
        for one in (trace for folder in folders for trace in traces(folder)):
            for part in np.unique(one.segment):
                points = self.town.to_metres(one.lat_deg[one.segment == part], one.lon_deg[one.segment == part])
                ends += [points[0], points[-1]]
        near = np.array([end for end in ends if np.hypot(*(end - self.homes[home])) < KNOWN_M]).reshape(-1, 2)
        if not len(near):
            return np.inf
        apart = np.hypot(*(near[:, None] - near[None]).transpose(2, 0, 1))
        fullest = apart[int((apart < 100).sum(axis=1).argmax())] < 100
        return float(np.hypot(*(near[fullest].mean(axis=0) - self.homes[home])))


@dataclass
class PublicLife(Life):
    """Somebody of GeoLife: rides are those that they recorded at a home, in their order, each once."""

    left: list[Trace] = field(default_factory=list)

    def trace(self, home: int) -> Trace:
        lat, lon = (float(value[0]) for value in self.town.to_degrees(self.homes[home]))
        for number, one in enumerate(self.left):
            if distances_m(one.lat_deg[[0, -1]], one.lon_deg[[0, -1]], lat, lon).min() < 150:
                self.days += 1
                return self.left.pop(number)
        raise LookupError("no ride is left from there")


def public_people(most: int) -> list[tuple[str, Around, list[np.ndarray], list[Trace]]]:
    """People of GeoLife with eighteen rides at one place and thirteen at another 3 km away, longer than a zone."""
    table = pq.read_table(DATA / "geolife" / "geolife_traces.parquet")
    names = [np.array(table.column(name).to_pylist()).astype(str) for name in ("user_id", "trajectory_id")]
    degrees = [table.column(name).to_numpy() / 1e6 for name in ("lat_e6", "lon_e6")]
    times = table.column("time").cast("int64").to_numpy() / 1e3
    found = []
    for name, every in sorted(_split(np.char.add(np.char.add(names[0], "/"), names[1]), *degrees, times).items()):
        rides = [one for one in every if _reach_m(one) > 6000 and len(one) > 100 and np.all(np.diff(one.times_s) >= 0)]
        if len(rides) < 30:
            continue
        home = _home_of(rides)
        ends = [Trace(one.lat_deg[[k]], one.lon_deg[[k]], one.times_s[[k]]) for one in rides for k in (0, -1)]
        ends = [one for one in ends if distances_m(one.lat_deg, one.lon_deg, *home[:2])[0] > 3000]
        other = _home_of(ends)
        if home[2] >= 18 and other[2] >= 13:
            town = Around(*home[:2])
            found.append((f"GeoLife {name}", town, [np.zeros(2), town.to_metres(*other[:2])[0]], rides))
        if len(found) == most:
            break
    return found


def _reach_m(one: Trace) -> float:
    return float(distances_m(one.lat_deg, one.lon_deg, one.lat_deg[0], one.lon_deg[0]).max())


def traces(folder: Path) -> list[Trace]:
    """Every track of a folder, as anybody would read it."""
    out = []
    for path in sorted(folder.iterdir()):
        try:
            out.append(read_trace(path))
        except SfumatoError:
            continue
    return out


def says(life: Life, done: ArchiveResult, home: int, what: str, *kept: Path) -> bool:
    """One line of the table; whether the tool was at most as optimistic as the outsider, and its certificate true."""
    leak = next(leak for leak in done.leaks if leak.name == f"home {home}")
    truth, outsider = life.inside(home, life.shared), life.outsider_m(home, life.shared)
    tool = "STILL FOUND" if leak.found else "hidden" if leak.best_m is None else f"missed by {leak.best_m:.0f} m"
    copies = f"; with the old copy {life.outsider_m(home, *kept):.0f} m" if kept else ""
    honest = leak.lies_open == (truth > 0) and (leak.found or outsider > FOUND_M or leak.best_m <= outsider)
    true = done.lies_open == any(one.lies_open for one in done.leaks)
    print(f"  {what:<34} {truth:>6} points open   {tool:<18} outsider {outsider:>5.0f} m{copies}", flush=True)
    return honest and true


def moved(life: Life) -> bool:
    """They move: rides from the new home are shared before it is named; then --again."""
    life.name(0)
    life.ride(0, 10)
    life.ride(1, 8)
    life.hide()
    life.name(1)
    good = says(life, life.hide(), 1, "moved, named after sharing")
    again = life.again()
    good &= says(life, again, 1, "moved, after --again", life.folder / "shared.before-1")
    return good and says(life, again, 0, "moved, the old home") and not again.lies_open


def forgot(life: Life) -> bool:
    """A school, to which one ride in three goes, is remembered late."""
    life.name(0)
    for _ in range(5):
        life.ride(0, 2)
        life.ride(1, 1)
    life.hide()
    life.name(1)
    good = says(life, life.hide(), 1, "forgot a place")
    return good and says(life, life.again(), 1, "forgot, after --again", life.folder / "shared.before-1")


def later(life: Life) -> bool:
    """Rides are added week by week, from a home that was named at once."""
    life.name(0)
    for _ in range(3):
        life.ride(0, 5)
        done = life.hide()
    return says(life, done, 0, "rides added later") and done.shared == sum(bool(row.output) for row in done.rows)


def growing(life: Life) -> bool:
    """One log grows and is shared three times: no point is lost, none is there twice, files stay."""
    life.name(0)
    life.rides.mkdir()
    days, before = [], dict[str, bytes]()
    for _ in range(3):
        days += [life.trace(0) for _ in range(4)]
        write_trace(joined(days), life.rides / "log.csv")
        done = life.hide()
        now = {path.name: path.read_bytes() for path in life.shared.iterdir()}
        if not before.items() < now.items():
            return False
        before = now
    times = np.sort(np.concatenate([one.times_s for one in traces(life.shared)]))
    zone = life.places.active[0].withheld
    outside = sum(int((~zone.holds(surface(one.lat_deg, one.lon_deg))).sum()) for one in days)
    good = len(np.unique(times)) == len(times) and outside - len(times) <= 0.02 * outside  # flicker at the border
    return says(life, done, 0, "a log that grows") and good


def joined(days: list[Trace]) -> Trace:
    """Several days as one log."""
    lat, lon, times = (
        np.concatenate([getattr(one, name) for one in days]) for name in ("lat_deg", "lon_deg", "times_s")
    )
    return Trace(lat, lon, times, np.repeat(np.arange(len(days)), [len(one) for one in days]))


def deleted(life: Life) -> bool:
    """A shared file is deleted; the certificate of the next run holds of what is there."""
    life.name(0)
    life.ride(0, 8)
    life.hide()
    sorted(life.shared.iterdir())[0].unlink()
    done = life.hide()
    verify_folder(done.document, life.shared)
    return says(life, done, 0, "a shared file deleted") and done.shared == 7


def restored(life: Life) -> bool:
    """The shared folder comes back from a backup that is older than the last share."""
    life.name(0)
    life.ride(0, 6)
    life.hide()
    shutil.copytree(life.shared, life.folder / "backup")
    life.ride(0, 4)
    life.hide()
    shutil.rmtree(life.shared)
    (life.folder / "backup").rename(life.shared)
    done = life.hide()
    verify_folder(done.document, life.shared)
    return says(life, done, 0, "an old backup restored") and sum(row.gone for row in done.rows) == 4


def two_machines(life: Life) -> bool:
    """Files of another machine, which knew no zone, are copied into the folder."""
    life.name(0)
    life.ride(0, 8)
    life.hide()
    for number in range(3):
        write_trace(life.trace(0), life.shared / f"phone {number}.gpx")
    done = life.hide()
    return says(life, done, 0, "files of another machine") and len(done.strangers) == 3


def ends(life: Life) -> bool:
    """Twenty rides from a place that nobody named, hidden with --ends; the outsider fits a circle through the cuts."""
    life.name(0)
    life.ride(1, 20)
    lat, lon = (float(value[0]) for value in TOWN.to_degrees(life.homes[1]))
    around = RideEnds(life.places, 400.0, rng=life.rng)
    hide_archive([life.rides], life.shared, life.places, ends=around)
    at = TOWN.to_metres([one.lat_deg[k] for one in traces(life.shared) for k in (0, -1)],
                        [one.lon_deg[k] for one in traces(life.shared) for k in (0, -1)])  # fmt: skip
    cuts = at[np.hypot(*(at - life.homes[1]).T) < 900]
    found = np.linalg.lstsq(np.column_stack([2 * cuts, np.ones(len(cuts))]), (cuts**2).sum(axis=1), rcond=None)[0]
    outsider = float(np.hypot(*(found[:2] - life.homes[1])))
    place = next(place for place in around.drawn if place.distance_m(lat, lon) < 100)
    leak = next(leak for leak in around.results() if leak.name == place.name)
    print(f"  {'ends of rides, --ends 400m':<34} {'':>20}missed by {leak.best_m:<8.0f} circle {outsider:>5.0f} m")
    return leak.found or leak.best_m <= outsider


PUBLIC = (moved, forgot, later, deleted, restored, two_machines)
STORIES: tuple[Callable[[Life], bool], ...] = (moved, forgot, later, growing, deleted, restored, two_machines, ends)


def main() -> int:
    """Every story of every person."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=4)
    parser.add_argument("--public", type=int, default=4)
    failed, asked = 0, parser.parse_args()
    for person in range(asked.people):
        print(f"person {person}")
        for number, story in enumerate(STORIES):
            rng = np.random.default_rng([person, number])
            angle = rng.uniform(0, np.pi / 2)
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            homes = [rng.uniform(-2500, 2500, 2), rng.uniform(-2500, 2500, 2) + np.array([9000, 0])]
            with tempfile.TemporaryDirectory() as folder:
                life = Life(Path(folder), rng, Places.none(rng=rng), homes, turn)
                if not story(life):
                    failed += 1
                    print(f"  FAILED: {story.__doc__}")
    if asked.public and not DATA.exists():
        print(f"people of GeoLife are left out: there is no {DATA}")
    for name, town, homes, rides in public_people(asked.public) if asked.public and DATA.exists() else ():
        print(name)
        for number, story in enumerate(PUBLIC):
            rng = np.random.default_rng([number, 25])
            with tempfile.TemporaryDirectory() as folder:
                life = PublicLife(Path(folder), rng, Places.none(rng=rng), homes, np.eye(2), 0, town, list(rides))
                try:
                    good = story(life)
                except LookupError:
                    print(f"  {story.__name__}: too few rides")
                    continue
                if not good:
                    failed += 1
                    print(f"  FAILED: {story.__doc__}")
    print("the tool was never more optimistic than the outsider" if not failed else f"{failed} stories FAILED")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
