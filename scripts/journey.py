"""The files on the six ways through the house: those that do something in a real run.

A file is on the way when one of its functions runs between the command's call and its end (of the service: between its
start and its stop). What only runs while modules are imported, or while commands are registered and looked up, does
nothing for this track and is not counted; compiled loops are counted with the file that calls them. A change of room
is a file that first acts after a file of another folder. A mutual pair is two files of one way that import each other.

    python scripts/journey.py             the files in the order in which they first act
    python scripts/journey.py TRACE HIDE  of these ways only
    python scripts/journey.py --check     exit 1 past a limit of scripts/house.toml or with a mutual pair
    python scripts/journey.py --tighten   lower the limits to what is counted now
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from types import FrameType

from house_numbers import FILE, numbers, tightened
from house_source import Module, modules
from journey_ways import WAYS

Journey = dict[str, str]
# Where click and typer make the commands that there are, and find the one that was called.
_LOOKING_UP = frozenset(("get_command", "get_group", "get_group_from_info", "resolve_command"))


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

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {Path(name).relative_to(home).as_posix(): function for name, function in seen.items()}


def _compiled(frame: FrameType) -> bool:
    """Whether this is a compiled loop, which tells the profiler of its calls as if it were Python."""
    code = frame.f_code
    found = next((m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == code.co_filename), None)
    return type(getattr(found, code.co_name, None)).__module__.startswith("numba.")


def _importing(frame: FrameType | None, home: str) -> bool:
    """Whether this call happens because a module is imported, or because commands are registered and looked up."""
    while frame is not None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if file.startswith("<frozen importlib") or (name == "<module>" and file.startswith(home)):
            return True
        if name in _LOOKING_UP and {"click", "typer"} & set(Path(file).parts):
            return True
        frame = frame.f_back
    return False


def _walk_here(name: str) -> Journey:
    """Walk one way in this process, in a folder that is thrown away."""
    way = WAYS[name]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        way.prepare()
        __import__("sfumato.cli")
        return walked(lambda: way.act(way.words))


def journey_of(name: str) -> Journey:
    """One way, walked by a fresh process."""
    command = [sys.executable, str(Path(__file__).resolve()), "--walk", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"The way of {name} ended early.\n{done.stderr}")
    walk: Journey = json.loads(done.stdout.splitlines()[-1])
    return walk


def journeys(names: Iterable[str] = WAYS) -> dict[str, Journey]:
    """Several ways, two at a time."""
    names = list(names)
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(names, pool.map(journey_of, names), strict=True))


def changes_of_room(journey: Iterable[str]) -> int:
    """How often the way enters another folder, in the order in which files first act."""
    return sum(Path(one).parent != Path(other).parent for one, other in pairwise(journey))


def mutual_pairs(journey: Journey, house: Sequence[Module]) -> list[tuple[str, str]]:
    """Pairs of files of the journey that import each other, lazily or for their types only included."""
    here = [module for module in house if module.file in journey]
    pairs = ((one, other) for one in here for other in here if one.name < other.name)
    return [(a.file, b.file) for a, b in pairs if b.name in a.imports and a.name in b.imports]


def too_long(walks: Mapping[str, Journey], house: Sequence[Module], limits: Mapping[str, int]) -> list[str]:
    """What is wrong with the ways, in words: more files than the limit, files that import each other."""
    long = [
        f"{len(journey)} files on the way of {name}, at most {limits[name]}"
        for name, journey in walks.items()
        if len(journey) > limits.get(name, len(journey))
    ]
    pairs = [(name, pair) for name, journey in walks.items() for pair in mutual_pairs(journey, house)]
    return [*long, *(f"{one} and {other} import each other, on the way of {name}" for name, (one, other) in pairs)]


def main(arguments: Sequence[str]) -> int:
    """Print the journeys; with ``--check`` fail past a limit; with ``--tighten`` lower the limits."""
    if arguments[:1] == ["--walk"]:
        print(json.dumps(_walk_here(arguments[1])))
        return 0
    house, held = modules(), numbers()
    walks = journeys([name for name in arguments if name in WAYS] or WAYS)
    for name, journey in walks.items():
        print(f"{name}: {WAYS[name].words}")
        for number, (file, function) in enumerate(journey.items(), start=1):
            print(f"{number:3d}  {file:48s} {function}")
    for name, journey in walks.items():
        bounds = (("at most", held.journeys.get(name)), ("wanted", held.goals.get(name)))
        told = ", ".join(f"{word} {bound}" for word, bound in bounds if bound is not None)
        print(f"{len(journey):3d} files on the way of {name} ({told}), {changes_of_room(journey)} changes of room")
    failed = too_long(walks, house, held.journeys)
    print("\n".join(failed))
    if "--tighten" in arguments:
        counts = {name: len(journey) for name, journey in walks.items()}
        FILE.write_text(tightened(FILE.read_text("utf-8"), "journeys", counts), "utf-8")
    return int("--check" in arguments and bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
