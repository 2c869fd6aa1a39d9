"""The house in numbers: what keeps the code readable, counted from the source, each with its limit.

python scripts/house.py                     the table
python scripts/house.py --check             exit 1 when a number of scripts/house.toml is passed
python scripts/house.py --where NAME        list the places of one measure: duplicates, unreached, Any, ...
python scripts/house.py --where NAME --under FOLDER
python scripts/house.py --tighten           lower the limits to what is counted now
python scripts/house.py --set-budgets       write the lines of every wing as its budget

What is counted and how is said by the modules that count: house_duplicates, house_reach, house_names, house_imports.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from house_duplicates import Shared, duplicates
from house_imports import cycles, imports_in_functions, unlawful_lazy_imports
from house_names import (
    base_names,
    flat_folders,
    inflections,
    participles,
    shared_class_names,
    thrice,
    undocumented,
    uses_of_any,
)
from house_numbers import FILE, Numbers, budgeted, numbers, shown, tightened, too_many
from house_reach import Reach, unreached_places, unused_names, users
from house_source import Module, Place, modules

House = tuple[Module, ...]
Found = Sequence[Place | tuple[str, int, str] | tuple[str, str] | Shared]


def _said(house: House, *marks: str) -> list[Place]:
    lines = ((module.file, number, line) for module in house for number, line in enumerate(module.text.splitlines(), 1))
    return [(file, number) for file, number, line in lines if any(mark in line for mark in marks)]


def _long(house: House) -> list[Place]:
    return [(module.file, module.lines) for module in house if module.lines > 400]


def _unreached(house: House, held: Numbers) -> Found:
    return unreached_places(Reach(house, held.papers, held.silent), users(house, held.public))


def _cycles(house: House) -> list[Place]:
    return [(" ".join(group), len(group)) for group in cycles(house)]


def _inflections(house: House) -> list[tuple[str, str]]:
    """The files of each pair of names that differ by an ending."""
    files = {name: " ".join(module.file for module in here) for name, here in base_names(house).items()}
    return [(files[one], files[other]) for one, other in inflections(house)]


# Each measure that has places: its name, and what finds them.
MEASURES: Mapping[str, Callable[[House, Numbers], Found]] = {
    "duplicates": lambda house, _: duplicates({module.file: module.text for module in house}),
    "unreached modules": _unreached,
    "names that nothing uses": lambda house, held: unused_names(house, held.public),
    "flat folders": lambda house, _: flat_folders(house),
    "base names used three times": lambda house, _: thrice(house),
    "modules that differ by an ending": lambda house, _: _inflections(house),
    "participles as function names": lambda house, _: participles(house),
    "undocumented names": lambda house, _: undocumented(house),
    "Any": lambda house, _: uses_of_any(house),
    "fmt: skip": lambda house, _: _said(house, "# fmt: skip", "# fmt: off"),
    "imports in functions": lambda house, _: imports_in_functions(house),
    "imports in functions against the rule": lambda house, _: unlawful_lazy_imports(house),
    "files over 400 lines": lambda house, _: _long(house),
    "classes that share a name": lambda house, _: shared_class_names(house),
    "import cycles": lambda house, _: _cycles(house),
}


@cache
def places(house: House, name: str) -> Found:
    """Where one counted thing stands."""
    return MEASURES[name](house, numbers())


def measures(house: House) -> dict[str, float]:
    """Every count; duplicates as pairs per 1,000 lines."""
    counted: dict[str, float] = {name: len(places(house, name)) for name in MEASURES}
    length = max(1, sum(module.lines for module in house))
    rate = 1000 * counted.pop("duplicates") / length
    return {"duplicate pairs per 1,000 lines": rate, **counted}


def lines_of_wings(house: House) -> dict[str, int]:
    """Lines in total and by wing."""
    wings: Counter[str] = Counter()
    for module in house:
        wings[module.wing] += module.lines
    return {"total": wings.total(), **dict(sorted(wings.items()))}


def where(house: House, wanted: str, under: str = "") -> str:
    """The places of one measure, named by its first letters, those of one folder only where asked."""
    names = [name for name in MEASURES if name.startswith(wanted)]
    if not names:
        raise SystemExit(f"There is no measure '{wanted}'. Choose one of: {', '.join(MEASURES)}.")
    rows = [row for row in map(_row, places(house, names[0])) if under in row]
    folders = Counter(row.split("/")[0] for row in rows if ".py:" in row and names[0] != "duplicates")
    return "\n".join([*rows, *(f"{count:5d}  {folder}" for folder, count in folders.most_common() if count > 1)])


def _row(found: Place | tuple[str, ...] | Shared) -> str:
    if isinstance(found, Shared):
        return str(found)
    place, number, *name = found
    return f"{place}:{number} {' '.join(map(str, name))}".rstrip() if isinstance(number, int) else f"{place} ~ {number}"


def table(counts: Mapping[str, float], limits: Mapping[str, float], goals: Mapping[str, float]) -> str:
    """One row for each count: the number, its limit, what is wanted."""
    return "\n".join(
        f"{shown(count):>7}  {f'of at most {shown(limits[name])}' if name in limits else 'no limit yet':18s}"
        f"{f'(wanted: {shown(goals[name])})' if name in goals else '':18s} {name}"
        f"{'   <- too many' if count > limits.get(name, count) else ''}"
        for name, count in counts.items()
    )


def main(arguments: Sequence[str]) -> int:
    """Print the table; check, tighten, or list the places of one measure."""
    house = modules()
    if "--where" in arguments:
        under = arguments[arguments.index("--under") + 1] if "--under" in arguments else ""
        print(where(house, arguments[arguments.index("--where") + 1], under))
        return 0
    held, counted, wings = numbers(), measures(house), lines_of_wings(house)
    if "--tighten" in arguments:
        FILE.write_text(tightened(FILE.read_text("utf-8"), "limits", counted), "utf-8")
    if "--set-budgets" in arguments:
        FILE.write_text(budgeted(FILE.read_text("utf-8"), wings), "utf-8")
    held = numbers()
    print(f"{len(house)} files, {wings['total']} lines, longest {max(module.lines for module in house)}")
    print(table(counted, held.limits, held.goals))
    print("lines of each wing")
    print(table(wings, held.budgets, held.goals))
    failed = [*too_many(counted, held.limits), *too_many(wings, held.budgets)]
    return int("--check" in arguments and bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
