"""Draw the house from its imports and write its journeys file by file: what is generated of docs/architecture.md.

python scripts/architecture.py           write docs/images/house.svg and the journeys in docs/architecture.md
python scripts/architecture.py --check   exit 1 when one of them is not what the source says
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from journey import JOURNEYS, command_journey

from house import Module, modules

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "house.svg"
PAGE = ROOT / "docs" / "architecture.md"
Rooms = dict[str, set[str]]
_WIDTH, _BOX, _ROW = 920, 30, 62


def floors() -> list[list[str]]:
    """The layers of the main contract, highest first, each a list of rooms."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    main = next(contract for contract in contracts if contract.get("containers") == ["sfumato"])
    return [[room.strip() for room in layer.split("|")] for layer in main["layers"]]


def room_imports(house: Sequence[Module]) -> Rooms:
    """Which room imports which, lazily or for types included; the front door (``sfumato/__init__``) is no room."""
    found: Rooms = {}
    for module in house:
        if module.name == "sfumato":
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


def drawing(house: Sequence[Module]) -> str:
    """The picture: a floor per layer, a box per room, an arrow per import that no longer way says."""
    rows = floors()
    packages = {m.name.split(".")[1] for m in house if m.name.count(".") > 1}
    inner = sorted({m.name.split(".")[2] for m in house if m.name.startswith("sfumato.mechanisms.")})
    middle, top = {}, {}
    boxes = []
    for number, row in enumerate(rows):
        y = 20 + number * _ROW
        for place, room in enumerate(row):
            x = _WIDTH * (2 * place + 1) / (2 * len(row))
            label = f"{room}/" if room in packages else room
            if room == "mechanisms":
                label += "  { " + ", ".join(inner) + " }"
            half = 12 + 4.2 * len(label)
            middle[room], top[room] = x, y
            kind = "package" if room in packages else "file"
            boxes.append(
                f'<g class="{kind}"><rect x="{x - half:.0f}" y="{y}" width="{2 * half:.0f}" height="{_BOX}" rx="6"/>'
                f'<text x="{x:.0f}" y="{y + 20}">{label}</text></g>'
            )
    arrows = [
        _arrow(room, target, middle, top)
        for room, targets in sorted(reduced(room_imports(house)).items())
        for target in sorted(targets)
    ]
    height = 20 + len(rows) * _ROW
    style = (
        "text{font:14px ui-monospace,monospace;text-anchor:middle;fill:#2b2118}rect{fill:#f6efe6;stroke:#8a6a4a}"
        ".package rect{fill:#e9d8c3}path{fill:none;stroke:#8a6a4a;stroke-opacity:.55;stroke-width:1.2}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="The rooms of sfumato: imports point down">\n<style>{style}</style>\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#8a6a4a;stroke:none"/></marker></defs>\n'
        f'<rect width="{_WIDTH}" height="{height}" style="fill:#fffdf9;stroke:none"/>\n'
        + "\n".join([*arrows, *boxes])
        + "\n</svg>\n"
    )


def _arrow(room: str, target: str, middle: Mapping[str, float], top: Mapping[str, int]) -> str:
    x, y, to_x, to_y = middle[room], top[room] + _BOX, middle[target], top[target]
    bend = (to_y - y) / 2
    return (
        f'<path marker-end="url(#tip)" d="M{x:.0f} {y}C{x:.0f} {y + bend:.0f} {to_x:.0f} {to_y - bend:.0f} '
        f'{to_x:.0f} {to_y}"><title>{room} imports {target}</title></path>'
    )


def journeys(house: Sequence[Module]) -> dict[str, str]:
    """Each walked command with its files in order, and what each file says it is; a second walk adds what is new."""
    said = {module.file: _first_sentence(module) for module in house}
    shown: dict[str, set[str]] = {}
    texts = {}
    for words in JOURNEYS:
        before = shown.setdefault(words.split()[0], set())
        walk = [file for file in command_journey(*words.split()) if file not in before]
        before.update(walk)
        rows = [f"| {number} | `{file}` | {said[file]} |" for number, file in enumerate(walk, start=1)]
        texts[words] = "\n".join(["| | file | what it is |", "|---|---|---|", *rows])
    return texts


def _first_sentence(module: Module) -> str:
    text = " ".join((ast.get_docstring(module.tree) or "").split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.:]) (?=[A-Z])", text)[0].rstrip(".:")
    return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", sentence).replace("``", "`").replace("|", "\\|")


def page(text: str, house: Sequence[Module]) -> str:
    """The page with its generated tables renewed, each between ``<!-- journey: words -->`` and ``<!-- end -->``."""
    for words, table in journeys(house).items():
        mark = re.escape(f"<!-- journey: {words} -->")
        pattern = re.compile(f"({mark}\n\n).*?(\n\n<!-- end -->)", re.DOTALL)
        if not pattern.search(text):
            raise SystemExit(f"docs/architecture.md has no place for the journey of '{words}'.")
        text = pattern.sub(lambda found, table=table: f"{found.group(1)}{table}{found.group(2)}", text)
    return text


def main(arguments: Sequence[str]) -> int:
    """Write both, or compare both."""
    house = modules()
    wanted = {PICTURE: drawing(house), PAGE: page(PAGE.read_text("utf-8"), house)}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what the source says; run: python scripts/architecture.py")
        return int(bool(stale))
    for path in stale:
        path.write_text(wanted[path], "utf-8")
        print(f"written: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
