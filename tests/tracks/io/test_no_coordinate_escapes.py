"""B11: whatever is wrong with a file, no message, log, traceback or summary repeats one of its coordinates.

On the first edition the headerless table, the table with WKT in its first row and the one with degree signs fail: its
messages list "the table's columns", which are the first row.
"""

from __future__ import annotations

import contextlib
import io
import random
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import sample_files as samples
from coordinates import coordinates_in

from sfumato.base.errors import SfumatoError
from sfumato.base.things.traces import Trace
from sfumato.cli import main
from sfumato.tracks.io import read_trace, read_traces, write_trace
from sfumato.tracks.places.places_file import Places, place_at, save_places

pytestmark = pytest.mark.usefixtures("roads_lead_nowhere")

# Where the samples' points are put: nothing else that is said resembles these numbers.
MOVED = {"5.1035": "-37.815417", "5.101": "-37.813628", "5.102": "-37.814219", "5.09": "-37.809153"}
MOVED |= {"-1.2041": "144.966251", "-1.202": "144.963058", "-1.203": "144.964377", "-1.19": "144.951284"}
TRUE = [float(text) for text in MOVED.values()]


def _moved(text: str) -> str:
    for old, new in MOVED.items():
        text = text.replace(old, new)
        text = text.replace(str(round(float(old) * 1e7) % (1 << 32)), str(round(float(new) * 1e7)))
        text = text.replace(str(round(float(old) * 1e7)), str(round(float(new) * 1e7)))
    return text.replace("5,1035", "-37,815417").replace("5,101", "-37,813628").replace("-1,202", "144,963058")


def _seeds(folder: Path) -> dict[str, bytes]:
    seeds = {name: _moved(text).encode() for name, text in samples.TEXT_SAMPLES.items()}
    trace = Trace(TRUE[:3], TRUE[4:7], [0.0, 10.0, 20.0])  # type: ignore[arg-type]
    for ending in (".parquet", ".geoparquet", ".gpkg"):
        write_trace(trace, folder / f"seed{ending}")
        seeds[f"seed{ending}"] = (folder / f"seed{ending}").read_bytes()
    points = list(zip(TRUE[:3], TRUE[4:7], samples.TIMES, strict=True))
    seeds["wkt.csv"] = ("time,wkt\n" + "".join(f"{t},POINT({x} {y})\n" for y, x, t in points)).encode()
    seeds["list.json"] = samples.json.dumps([{"lat": str(y), "lon": x, "time": t} for y, x, t in points]).encode()
    return seeds


def _swapped(content: bytes) -> bytes:
    return re.sub(rb"(-37[.,]\d+)", rb"@\1", content).replace(b"@-37", b"-437")


def _headerless(content: bytes) -> bytes:
    return content.partition(b"\n")[2] or content


NUMBER = re.compile(rb"-?(?:37|144)[.,]\d+")
MUTATIONS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "truncated": lambda content, chance: content[: chance.randrange(1, len(content))],
    "truncated in a number": lambda content, _: content[: content.rfind(b"14496") + 5],
    "headerless": lambda content, _: _headerless(content),
    "latitude 437": lambda content, _: _swapped(content),
    "columns swapped": lambda content, _: (
        content.replace(b"lat", b"@").replace(b"lon", b"lat").replace(b"@", b"lon").replace(b"Longitude", b"Latitude ")
    ),
    "bad numbers": lambda content, _: NUMBER.sub(rb"\g<0>x", content),
    "one bad number": lambda content, _: NUMBER.sub(rb"\g<0>x", content, count=1),
    "NaN": lambda content, _: NUMBER.sub(b"NaN", content, count=2),
    "degrees and minutes": lambda content, _: NUMBER.sub("37°48'49\"S".encode(), content),
    "quoted numbers": lambda content, _: NUMBER.sub(rb'"\g<0>"', content),
    "lists for numbers": lambda content, _: NUMBER.sub(rb"[\g<0>]", content),
    "decimal commas": lambda content, _: NUMBER.sub(lambda match: match.group().replace(b".", b","), content),
    "other separators": lambda content, chance: content.replace(b",", chance.choice([b";", b"|", b" ", b"\t"])),
    "mixed separators": lambda content, _: content.replace(b",", b";", 3),
    "UTF-16": lambda content, _: content.decode("latin-1").encode("utf-16"),
    "UTF-16 without a mark": lambda content, _: content.decode("latin-1").encode("utf-16-le"),
    "latin letters": lambda content, _: content.replace(b"time", b"t\xefme"),
    "a name of numbers": lambda content, _: content.replace(b"lat", b"-37.813628").replace(b"wkt", b"POINT(144.963058"),
    "no times": lambda content, _: re.sub(rb"2024-05-01T[0-9:.]+Z?", b"", content),
    "positions for times": lambda content, _: re.sub(rb"2024-05-01T[0-9:.]+Z?", b"-37.813628", content),
    "unclosed": lambda content, _: content.replace(b"-37", b'"-37', 1).replace(b"</", b"<", 1),
    "doubled": lambda content, _: content + content,
    "bytes": lambda content, chance: bytes(
        byte if chance.random() > 0.02 else chance.randrange(256) for byte in content
    ),
}


def _said_by(call: Callable[[], object]) -> tuple[str, bool]:
    """Everything that is said while ``call`` runs, its traceback included; and whether it failed."""
    out, failed = io.StringIO(), False
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            call()
        except SystemExit as ended:
            failed = bool(ended.code)
        except SfumatoError as error:
            failed = True
            out.write(f"{error!r} {error} {error.what} {error.advice}\n")
            out.write("".join(traceback.format_exception(error)))
    return out.getvalue() + "\n".join(str(warning.message) for warning in seen), failed


def _command(*words: object) -> Callable[[], None]:
    def run() -> None:
        before = sys.argv
        sys.argv = ["sfumato", *map(str, words)]
        try:
            main()
        finally:
            sys.argv = before

    return run


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return _seeds(tmp_path_factory.mktemp("seeds"))


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("at -37.8136", True),
        ("at 37,814", True),
        ("[1449630580]", True),
        ("144963", True),
        ("144° 57.7834'", True),
        ("3748.8177,S", True),
        ("144 points, 37 of them, 4.7 x", False),
        ("4 line(s), 144 bytes; 37.8 m", False),
    ],
)
def test_the_scanner_sees_a_coordinate_however_it_is_written(said: str, found: bool) -> None:
    assert bool(coordinates_in(said, TRUE)) is found


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_no_reader_repeats_a_coordinate(mutation: str, seeds: dict[str, bytes], tmp_path: Path) -> None:
    chance, failures = random.Random(mutation), 0
    for name, content in seeds.items():
        path = tmp_path / name
        path.write_bytes(MUTATIONS[mutation](content, chance))
        for read in (read_trace, read_traces):
            for zone in (None, "UTC"):
                for keep in ((), ("nothing",)):
                    said, failed = _said_by(lambda r=read, z=zone, k=keep, p=path: r(p, zone=z, keep=k))  # type: ignore[misc]
                    assert not coordinates_in(said.replace(str(tmp_path), ""), TRUE), (name, said)
                    failures += failed
    assert failures  # something was refused, so something was said


def _every_command(path: Path, folder: Path, good: tuple[Path, Path]) -> dict[str, tuple[str, bool]]:
    release, certificate = good
    commands = {
        "protect": _command("protect", path, "-o", folder / "out.gpx", "--certificate", folder / "c.json"),
        "protect --json": _command("protect", path, "-o", folder / "out.csv", "--json", "--keep", "speed"),
        "hide": _command("hide", path, "-o", folder / "shared", "--places", folder.parent / "me.places"),
        "places find": _command("places", "find", path, "--json"),
        "verify": _command("verify", certificate, "--release", path),
        "audit": _command("audit", path, release, "--certificate", certificate),
        "audit of it": _command("audit", release, path, "--certificate", certificate),
    }
    return {name: _said_by(command) for name, command in commands.items()}


def _check_commands(files: list[tuple[str, bytes]], folder: Path) -> int:
    save_places(folder / "me.places", Places.none().add(place_at("home", 10.0, 20.0)))
    good = folder / "good.gpx"
    write_trace(Trace([10.0, 10.001], [20.0, 20.001], [0.0, 60.0]), good)  # type: ignore[arg-type]
    pair = folder / "released.gpx", folder / "certificate.json"
    _said_by(_command("protect", good, "-o", pair[0], "--certificate", pair[1]))
    assert pair[0].exists()
    failures = 0
    for number, (name, content) in enumerate(files):
        work = folder / str(number)
        work.mkdir()
        (work / name).write_bytes(content)
        for command, (said, failed) in _every_command(work / name, work, pair).items():
            failures += failed
            if command == "places find" and not failed:
                continue  # its table is where the places are
            assert not coordinates_in(said.replace(str(folder), ""), TRUE), (command, name, said)
        for summary in work.rglob("summary.csv"):
            assert not coordinates_in(summary.read_text(), TRUE)
    return failures


def test_no_command_repeats_a_coordinate(seeds: dict[str, bytes], tmp_path: Path) -> None:
    chance = random.Random(11)
    pairs = [(name, MUTATIONS[kind](content, chance)) for name, content in seeds.items() for kind in MUTATIONS]
    assert _check_commands(chance.sample(pairs, 5), tmp_path) >= 5


@pytest.mark.slow
def test_no_command_repeats_a_coordinate_of_any_damaged_file(seeds: dict[str, bytes], tmp_path: Path) -> None:
    chance = random.Random(12)
    pairs = [(name, MUTATIONS[kind](content, chance)) for name, content in seeds.items() for kind in MUTATIONS]
    assert _check_commands(chance.sample(pairs, 60), tmp_path) >= 60
