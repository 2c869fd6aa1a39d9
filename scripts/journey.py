"""The files on the way of one protected track, and of one collection: those that do something in its command.

A file is on the way when one of its functions runs between the command's call and its end. What only runs while modules
are imported (constants, classes, the registration of commands) does nothing for this track and is not counted; compiled
loops are counted with the file that calls them. A mutual pair is two of these files that import each other.

    python scripts/journey.py           the files in the order in which they first act
    python scripts/journey.py --check   exit 1 past the limit or with a mutual pair
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from house import Module, modules

# The commands that are walked, and the most files that may be on the way.
JOURNEYS: dict[str, int | None] = {
    "protect ride.gpx -o out.gpx --certificate out.json": 30,
    "protect ride.gpx -o out.gpx --certificate out.json --report report.html": None,
    "collect simulate --cycles 2 --rounds 1": None,
}
Journey = dict[str, str]


def walked(act: Callable[[], object]) -> Journey:
    """Each file of sfumato in which a function ran during ``act``, in order, with the first function that did."""
    home = str(Path(sys.modules["sfumato"].__file__ or "").parent)
    seen: Journey = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        name = code.co_filename
        if event != "call" or name in seen or not name.startswith(home) or _importing(frame, home):
            return
        if name.endswith("compiled.py"):  # it only says that loops are being compiled, in the first run
            return
        if not _compiled(frame):
            seen[name] = getattr(code, "co_qualname", code.co_name)

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return {Path(name).relative_to(home).as_posix(): function for name, function in seen.items()}


def _compiled(frame: FrameType) -> bool:
    """Whether this is a compiled loop, which tells the profiler of its calls as if it were Python."""
    code = frame.f_code
    found = next((m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == code.co_filename), None)
    return type(getattr(found, code.co_name, None)).__module__.startswith("numba.")


def _importing(frame: FrameType | None, home: str) -> bool:
    """Whether this call happens because a module of sfumato (or a class in one) is being executed."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(home):
            return True
        frame = frame.f_back
    return False


def command_journey(*words: str) -> Journey:
    """The way of the sample ride, or of a collection, through one command, walked by a fresh process."""
    command = [sys.executable, str(Path(__file__).resolve()), "--walk", *words]
    walk: Journey = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return walk


def _walk_here(words: Sequence[str]) -> Journey:
    """Run the command in this process, in a folder that is thrown away."""
    from sfumato.cli import app

    sample = Path(sys.modules["sfumato"].__file__ or "").parent / "data" / "sample_ride.gpx"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        Path("ride.gpx").write_bytes(sample.read_bytes())
        return walked(lambda: app(list(words), standalone_mode=False))


def mutual_pairs(journey: Journey, house: Sequence[Module]) -> list[tuple[str, str]]:
    """Pairs of files of the journey that import each other, lazily or for their types only included."""
    by_name = {module.name: module for module in house if module.file in journey}
    pairs = ((a.file, b.file) for a in by_name.values() for b in by_name.values() if a.name < b.name)
    files = {module.file: module for module in by_name.values()}
    return [(a, b) for a, b in pairs if files[b].name in files[a].imports and files[a].name in files[b].imports]


def main(arguments: Sequence[str]) -> int:
    """Print the journeys; with ``--check`` fail past the limit."""
    if arguments[:1] == ["--walk"]:
        json.dump(_walk_here(arguments[1:]), sys.stdout)
        return 0
    house = modules()
    failed = False
    for words, limit in JOURNEYS.items():
        journey = command_journey(*words.split())
        pairs = mutual_pairs(journey, house)
        print(f"$ sfumato {words}")
        for number, (file, function) in enumerate(journey.items(), start=1):
            print(f"{number:3d}  {file:48s} {function}")
        print(f"{len(journey)} files on the way{f' (at most {limit})' if limit else ''}, {len(pairs)} mutual pairs")
        for pair in pairs:
            print("     mutual:", *pair)
        failed = failed or bool(pairs) or (limit is not None and len(journey) > limit)
    return int("--check" in arguments and failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
