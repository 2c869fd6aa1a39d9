"""The picture of the house and the ways through it, drawn and walked."""

from __future__ import annotations

import sys
from pathlib import Path

import architecture
import house_numbers
import journey
import made_tables
import pytest
from house_source import Module, modules
from journey_ways import WAYS


@pytest.fixture(scope="module")
def rooms() -> tuple[Module, ...]:
    return modules()


@pytest.fixture(scope="module")
def walks() -> dict[str, journey.Journey]:
    """All ways, walked once."""
    return journey.journeys()


@pytest.mark.slow
@pytest.mark.xdist_group("journeys")
def test_the_picture_and_the_tables_of_the_docs_are_what_the_source_says(
    walks: dict[str, journey.Journey], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(architecture, "journeys", lambda _: walks)
    assert architecture.main(["--check"]) == 0, capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.xdist_group("journeys")
@pytest.mark.parametrize("name", WAYS)
def test_a_journey_is_short_and_no_two_files_of_it_import_each_other(
    name: str, rooms: tuple[Module, ...], walks: dict[str, journey.Journey]
) -> None:
    files = walks[name]
    assert set(files) <= {room.file for room in rooms}
    assert "cli/__init__.py" in files or name == "SERVICE"
    assert "register" not in files.values(), "looking a command up is not on the way"
    assert journey.too_long({name: files}, rooms, house_numbers.numbers().journeys) == []


def test_a_way_that_is_too_long_and_files_that_import_each_other_are_told() -> None:
    names = frozenset({"sfumato.a", "sfumato.b"})
    rooms = [
        Module("sfumato.a", "a.py", "import sfumato.b\n", names),
        Module("sfumato.b", "b.py", "def f():\n    import sfumato.a\n", names),
    ]
    walk = {"a.py": "f", "b.py": "g"}
    assert journey.too_long({"TRACE": walk}, rooms, {"TRACE": 1}) == [
        "2 files on the way of TRACE, at most 1",
        "a.py and b.py import each other, on the way of TRACE",
    ]
    assert journey.too_long({"TRACE": {"a.py": "f"}}, rooms, {"TRACE": 1}) == []


def test_every_way_has_its_limit_and_a_goal_that_is_no_higher() -> None:
    held = house_numbers.numbers()
    assert set(held.journeys) == set(WAYS)
    assert all(held.goals[name] <= limit for name, limit in held.journeys.items())


def test_a_file_is_on_the_way_when_one_of_its_functions_acts_and_not_when_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "sfumato"
    home.mkdir()
    (home / "__init__.py").write_text("")
    (home / "acts.py").write_text("def act():\n    from sfumato import asleep, late\n    return late.help()\n")
    (home / "asleep.py").write_text("def made():\n    return 1\n\n\nMADE = made()\n")
    (home / "late.py").write_text("def help():\n    return 2\n")
    for name in [name for name in sys.modules if name.partition(".")[0] == "sfumato"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    acts = __import__("sfumato.acts").acts
    try:
        assert journey.walked(acts.act) == {"acts.py": "act", "late.py": "help"}
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "sfumato"]:
            del sys.modules[name]


def test_a_change_of_room_is_a_file_of_another_folder_than_the_one_before() -> None:
    assert journey.changes_of_room(["cli/a.py", "cli/b.py", "tracks/io/c.py", "tracks/io/d.py", "cli/e.py"]) == 2
    assert architecture.journey_table(["cli/a.py", "cli/b.py", "tracks/io/c.py", "cli/e.py"]).splitlines() == [
        "4 files, 2 changes of room:",
        "**cli/** a, b;",
        "**tracks/io/** c;",
        "**cli/** e.",
    ]


def test_the_picture_has_every_wing_with_its_rooms_and_goes_stale_with_an_import(rooms: tuple[Module, ...]) -> None:
    drawn = architecture.drawing(rooms)
    assert all(f">{wing}</text>" in drawn for floor in architecture.floors() for wing in floor)
    folders = {Path(room.file).parts[1] for room in rooms if room.file.count("/") > 1}
    assert all(f">{folder}/</text>" in drawn for folder in folders)
    lowest, highest = architecture.floors()[-1][0], architecture.floors()[0][0]
    here = next(room for room in rooms if room.wing == highest and lowest not in architecture.wing_imports([room]))
    graph = architecture.wing_imports(rooms)
    assert graph[lowest].isdisjoint({highest}), "imports point down"
    changed = Module(here.name, here.file, f"import sfumato.{lowest}\n", here.names | {f"sfumato.{lowest}"})
    assert lowest in architecture.wing_imports([changed])[highest]
    assert architecture.reduced({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": {"b"}, "b": {"c"}, "c": set()}


def test_boxes_of_one_floor_stand_beside_each_other_and_hold_their_rooms() -> None:
    inside = {"tracks": [f"room{number}/" for number in range(12)], "collect": ["loop/"], "base": ["files"]}
    placed = architecture.boxes([["tracks", "collect"], ["base"]], inside)
    assert placed["tracks"].x + placed["tracks"].width <= placed["collect"].x
    assert placed["tracks"].y == placed["collect"].y < placed["base"].y
    assert sum(placed["tracks"].lines, ()) == tuple(inside["tracks"])
    assert all(box.x >= 0 and box.x + box.width <= 920 for box in placed.values())


def test_every_room_is_in_the_table_with_the_first_sentence_of_its_door(rooms: tuple[Module, ...]) -> None:
    table = architecture.rooms_table(rooms)
    doors = [room for room in rooms if room.is_door and "/" in room.file]
    assert table.count("\n") == len(doors) - 1
    assert all(f"- `{Path(door.file).parent.as_posix()}/` " in table for door in doors)
    assert table in made_tables.made((architecture.ROOT / "docs" / "architecture.md").read_text("utf-8"))
    text = "<!-- rooms -->\n\nold\n\n<!-- end -->\nafter\n"
    assert architecture.page(text, {"rooms": "new"}) == text.replace("old", "new")
    with pytest.raises(SystemExit, match="no place for 'journey: TRACE'"):
        architecture.page(text, {"journey: TRACE": "new"})
