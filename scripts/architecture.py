"""Draw the house from its imports and write its journeys: what is generated of docs/architecture.md, but its rooms.

python scripts/architecture.py           write docs/images/house.svg and the tables in docs/architecture.md
python scripts/architecture.py --check   exit 1 when one of them is not what the source says, or a journey is too long
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from house_numbers import numbers
from house_source import PACKAGE, ROOT, Module, modules
from journey import changes_of_room, journeys, too_long
from journey_ways import WAYS

PICTURE = ROOT / "docs" / "images" / "house.svg"
PAGE = ROOT / "docs" / "architecture.md"
Rooms = dict[str, set[str]]
_WIDTH, _GAP, _LETTER, _LINE, _HEAD = 920.0, 14.0, 7.4, 26.0, 34.0
_STAIRS = 34.0
_STYLE = (
    "text{font:12px ui-monospace,monospace;text-anchor:middle;fill:#2b2118}.wing>text{font-size:15px}"
    "rect{fill:#f6efe6;stroke:#8a6a4a}.room rect{fill:#e9d8c3;stroke:none}"
    "path{fill:none;stroke:#8a6a4a;stroke-opacity:.6;stroke-width:1.3}"
)


def floors() -> list[list[str]]:
    """The layers of the main contract, highest first, each a list of wings."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    main = next(contract for contract in contracts if contract.get("containers") == [PACKAGE])
    return [[wing.strip() for wing in layer.split("|")] for layer in main["layers"]]


def wing_imports(house: Iterable[Module]) -> Rooms:
    """Which wing imports which, lazily or for types included; the front door (``sfumato/__init__``) is no wing."""
    found: Rooms = {}
    for module in house:
        if module.name == PACKAGE:
            continue
        here = module.name.split(".")[1]
        targets = {name.split(".")[1] for name in module.imports if "." in name}
        found.setdefault(here, set()).update(targets - {here})
    return found


def reduced(graph: Rooms) -> Rooms:
    """Without the arrows that a longer way says already (the transitive reduction of a graph without cycles)."""

    def reach(room: str) -> set[str]:
        return graph[room].union(*(reach(next_room) for next_room in graph[room])) if graph[room] else set()

    reached = {room: reach(room) for room in graph}
    return {
        room: {target for target in targets if not any(target in reached[other] for other in targets - {target})}
        for room, targets in graph.items()
    }


def inner_rooms(house: Iterable[Module]) -> dict[str, list[str]]:
    """What each wing holds: its folders, with those of theirs, and how many files stand beside them."""
    folders: dict[str, set[str]] = defaultdict(set)
    files: dict[str, set[str]] = defaultdict(set)
    for module in house:
        wing, *inner = Path(module.file).with_suffix("").parts
        if len(inner) > 1:
            folders[wing].add(inner[0])
        elif inner and inner != ["__init__"]:
            files[wing].add(inner[0])
    return {
        wing: [*(f"{name}/" for name in sorted(folders[wing])), *sorted(files[wing])] for wing in {*folders, *files}
    }


@dataclass(frozen=True)
class Box:
    """A wing in the picture: where it stands, and the lines of rooms in it."""

    name: str
    x: float
    y: float
    width: float
    height: float
    lines: tuple[tuple[str, ...], ...]

    @property
    def middle(self) -> float:
        """Where arrows begin and end."""
        return self.x + self.width / 2


def boxes(rows: Sequence[Sequence[str]], inside: Mapping[str, Sequence[str]]) -> dict[str, Box]:
    """Every wing with its place: a floor per layer, wide where there is much in it."""
    found: dict[str, Box] = {}
    top = 16.0
    for row in rows:
        need = {wing: max(90.0, len(wing) * 11.0, sum(map(_width, inside.get(wing, ())))) for wing in row}
        free = _WIDTH - _GAP * (len(row) + 1)
        least = {wing: min(need[wing], max(110.0, len(wing) * 11.0)) for wing in row}
        spare, more = free - sum(least.values()), sum(need[wing] - least[wing] for wing in row)
        share = min(1.0, spare / more) if more else 0.0
        widths = {wing: least[wing] + share * (need[wing] - least[wing]) for wing in row}
        x = (_WIDTH - sum(widths.values()) - _GAP * (len(row) - 1)) / 2
        lines = {wing: _lines(inside.get(wing, ()), widths[wing]) for wing in row}
        height = _HEAD + _LINE * max(map(len, lines.values()))
        for wing in row:
            found[wing] = Box(wing, x, top, widths[wing], height, lines[wing])
            x += widths[wing] + _GAP
        top += height + _STAIRS
    return found


def _width(label: str) -> float:
    return len(label) * _LETTER + 14.0


def _lines(labels: Sequence[str], width: float) -> tuple[tuple[str, ...], ...]:
    """Labels in lines that fit."""
    lines: list[list[str]] = []
    for label in labels:
        if lines and sum(map(_width, (*lines[-1], label))) <= width:
            lines[-1].append(label)
        else:
            lines.append([label])
    return tuple(map(tuple, lines))


def drawing(house: Sequence[Module]) -> str:
    """The picture: a floor per layer, a box per wing with its rooms, an arrow per import that no longer way says."""
    placed = boxes(floors(), inner_rooms(house))
    height = max(box.y + box.height for box in placed.values()) + 16
    arrows = [
        _arrow(placed[wing], placed[target])
        for wing, targets in sorted(reduced(wing_imports(house)).items())
        for target in sorted(targets)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height:.0f}" role="img" '
        f'aria-label="The wings of sfumato and their rooms: imports point down">\n<style>{_STYLE}</style>\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#8a6a4a;stroke:none"/></marker></defs>\n'
        f'<rect width="{_WIDTH:.0f}" height="{height:.0f}" style="fill:#fffdf9;stroke:none"/>\n'
        + "\n".join([*arrows, *map(_box, placed.values())])
        + "\n</svg>\n"
    )


def _box(box: Box) -> str:
    size = f'width="{box.width:.0f}" height="{box.height:.0f}"'
    parts = [
        f'<g class="wing"><rect x="{box.x:.0f}" y="{box.y:.0f}" {size} rx="6"/>'
        f'<text x="{box.middle:.0f}" y="{box.y + 22:.0f}">{box.name}</text>'
    ]
    for number, line in enumerate(box.lines):
        x = box.middle - sum(map(_width, line)) / 2
        y = box.y + _HEAD + _LINE * number
        for label in line:
            kind = "room" if label.endswith("/") else "file"
            back = f'<rect x="{x + 2:.0f}" y="{y:.0f}" width="{_width(label) - 4:.0f}" height="20" rx="4"/>'
            parts.append(
                f'<g class="{kind}">{back if kind == "room" else ""}'
                f'<text x="{x + _width(label) / 2:.0f}" y="{y + 14:.0f}">{label}</text></g>'
            )
            x += _width(label)
    return "".join(parts) + "</g>"


def _arrow(box: Box, target: Box) -> str:
    x, y, to_x, to_y = box.middle, box.y + box.height, target.middle, target.y
    bend = (to_y - y) / 2
    return (
        f'<path marker-end="url(#tip)" d="M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {to_x:.0f} {to_y - bend:.0f} '
        f'{to_x:.0f} {to_y:.0f}"><title>{box.name} imports {target.name}</title></path>'
    )


def rooms_table(house: Sequence[Module]) -> str:
    """Every folder of the house with the first sentence of its door."""
    doors = sorted((module for module in house if module.is_door and "/" in module.file), key=lambda door: door.file)
    return "\n".join(f"- `{Path(door.file).parent.as_posix()}/` {first_sentence(door)}" for door in doors)


def first_sentence(module: Module) -> str:
    """What a file says it is."""
    text = " ".join((ast.get_docstring(module.tree) or "").split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.:]) (?=[A-Z])", text)[0].rstrip(".:")
    return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", sentence).replace("``", "`").replace("|", "\\|")


def journey_table(journey: Sequence[str]) -> str:
    """The rooms of a way in the order in which they are entered, with the files that act there for the first time."""
    visits = [(room, [Path(file).stem for file in files]) for room, files in groupby(journey, lambda f: Path(f).parent)]
    rows = [f"**{room.as_posix()}/** {', '.join(files)}" for room, files in visits]
    return (
        f"{len(journey)} files, {changes_of_room(journey)} changes of room:\n"
        + ";\n".join(rows).replace("__", "\\_\\_")
        + "."
    )


def page(text: str, tables: Mapping[str, str]) -> str:
    """The page with its generated tables renewed, each between ``<!-- name -->`` and ``<!-- end -->``."""
    for name, table in tables.items():
        pattern = re.compile(f"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not pattern.search(text):
            raise SystemExit(f"docs/architecture.md has no place for '{name}': <!-- {name} --> ... <!-- end -->.")
        text = pattern.sub(lambda found, table=table: f"{found[1]}\n{table}\n\n{found[2]}", text)
    return text


def main(arguments: Sequence[str]) -> int:
    """Write both, or compare both."""
    house = modules()
    walks = journeys(WAYS)
    tables = {f"journey: {name}": journey_table(list(walk)) for name, walk in walks.items()}
    wanted = {PICTURE: drawing(house), PAGE: page(PAGE.read_text("utf-8"), tables)}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what the source says; run: python scripts/architecture.py")
        long = too_long(walks, house, numbers().journeys)
        print("\n".join(long))
        return int(bool(stale or long))
    for path in stale:
        path.write_text(wanted[path], "utf-8")
        print(f"written: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
