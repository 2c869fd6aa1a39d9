"""What the house counts is there: each measure finds what was put into a small made-up tree, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import house_duplicates
import house_imports
import house_names
import house_numbers
import house_reach
import pytest
from house_source import Module

import house

LOOP = """\
def first(rows, scale):
    total = 0.0
    for row in rows:
        if row.width > scale:
            total += row.width / scale
        else:
            total -= row.height * scale
    return total
"""
TOML = """\
[limits]
"duplicate pairs per 1,000 lines" = 2.50
Any = 7  # and its aliases

[goals]
Any = 3

[lines]
total = 100
base = 40

[journeys]
TRACE = 30

[reach]
public = []
silent = []
papers = ["papers"]
"""


def tree(texts: Mapping[str, str]) -> tuple[Module, ...]:
    """Modules as they would be read from these files."""
    dotted = {file: ("sfumato." + file[:-3].replace("/", ".")).removesuffix(".__init__") for file in texts}
    dotted = {file: "sfumato" if name == "sfumato.__init__" else name for file, name in dotted.items()}
    names = frozenset(dotted.values())
    return tuple(Module(dotted[file], file, text, names) for file, text in texts.items())


def test_six_lines_that_stand_twice_are_one_pair_whatever_their_names() -> None:
    renamed = LOOP
    for old, new in (("first", "second"), ("total", "sum_m"), ("rows", "ways"), ("row", "way"), ("scale", "unit")):
        renamed = renamed.replace(old, new)
    found = house_duplicates.duplicates({"a.py": "import os\n\n\n" + LOOP, "tracks/b.py": renamed})
    assert [(pair.first, pair.first_lines, pair.second, pair.second_lines) for pair in found] == [
        ("a.py", (4, 11), "tracks/b.py", (1, 8))
    ]
    assert (found[0].length, found[0].identical) == (8, False)
    assert "8 lines  a.py:4-11 ~ tracks/b.py:1-8  same shape" in str(found[0])


def test_a_file_that_repeats_itself_is_one_pair_and_to_the_letter_is_said() -> None:
    found = house_duplicates.duplicates({"a.py": LOOP + "\n\n" + LOOP})
    assert [(pair.first_lines, pair.second_lines, pair.identical) for pair in found] == [((1, 8), (11, 18), True)]


def test_imports_comments_docstrings_fields_and_short_runs_are_no_duplicates() -> None:
    imports = "".join(f"from sfumato.a{number} import (\n    b,\n    c,\n)\n" for number in range(9))
    prose = '"""One.\n\nTwo words.\nThree words.\nFour.\nFive.\nSix.\nSeven.\n"""\n' + "# why, and why not\n" * 9
    fields = "@dataclass(frozen=True, slots=True, eq=False)\nclass A:\n" + "".join(f"    x{n}: int\n" for n in range(9))
    short = "\n".join(LOOP.splitlines()[:5]) + "\n"
    for text in (imports, prose, short):
        assert house_duplicates.duplicates({"a.py": text, "b.py": text}) == []
    other = fields.replace("x", "y").replace("class A", "class B")
    assert house_duplicates.duplicates({"a.py": fields, "b.py": other}) == [], "alike, and nothing to share"
    assert len(house_duplicates.duplicates({"a.py": fields, "b.py": fields})) == 1, "the same record twice"


def test_what_stands_in_more_than_eight_places_is_a_form_and_no_duplicate() -> None:
    eight = {f"m{number}.py": LOOP for number in range(8)}
    assert len(house_duplicates.duplicates(eight)) == 8 * 7 // 2
    assert house_duplicates.duplicates(eight | {"m8.py": LOOP}) == []


REACHED = {
    "__init__.py": "_HOMES = {'Trace': 'sfumato.traces'}\n__all__ = ['Trace']\n",
    "traces.py": "class Trace:\n    def cut(self): ...\n",
    "cli/__init__.py": "for name in ('hide', 'show'):\n    import_module(f'sfumato.cli.{name}')\n",
    "cli/hide.py": "def run():\n    from sfumato.places import find\n    find('sfumato.noise:Noise')\n",
    "places/__init__.py": "from sfumato.places.finding import find\nfrom sfumato.places.lost import lose\n",
    "places/finding.py": "def find(): ...\n",
    "noise.py": "class Noise: ...\n",
}


def unreached(texts: Mapping[str, str], **options: tuple[str, ...]) -> list[str]:
    return [one.file for one in house_reach.Reach(tree(texts), **options).unreached(("sfumato", "sfumato.cli"))]


def test_commands_strings_tables_and_doors_reach_and_nothing_else_does() -> None:
    assert unreached(REACHED) == []
    assert unreached(REACHED | {"places/lost.py": "def lose(): ...\n"}) == ["places/lost.py"], "a door only hands it on"
    assert unreached(REACHED | {"alone.py": "x = 1\n"}) == ["alone.py"]
    rows = {
        "cli/rows.py": 'AT = "sfumato.far"\nROW = f"{AT}.off:make"\n',
        "far/__init__.py": "",
        "far/off.py": "x = 1\n",
    }
    assert "far/off.py" not in unreached(REACHED | rows | {"cli/__init__.py": "import sfumato.cli.rows\n"})
    assert unreached(REACHED | {"cli/other.py": "x = 1\n"}) == ["cli/other.py"], "no string completes the f-string"
    typed = REACHED | {"typed.py": "x = 1\n", "noise.py": "if TYPE_CHECKING:\n    from sfumato.typed import x\n"}
    assert unreached(typed) == ["typed.py"]
    assert unreached(REACHED | {"noise.py": "from sfumato import alone\n", "alone.py": "x = 1\n"}) == []
    said = REACHED | {"noise.py": '"""See\n\nsfumato.alone"""\n', "alone.py": "x = 1\n"}
    assert unreached(said) == ["alone.py"], "a docstring leads nowhere"


def test_strings_that_are_put_together_reach_what_they_name() -> None:
    doors = {"a/__init__.py": "", "a/b/__init__.py": "", "a/b/one.py": "x = 1\n", "a/two.py": "x = 1\n"}
    for said in (
        "HOMES = {'one': 'sfumato.a.b', 'two': 'sfumato.a'}\nimport_module(f'{HOMES[name]}.{name}')\n",
        "for name in ('b.one', 'two'):\n    import_module(f'sfumato.a.{name}')\n",
        "for name in ('one:run', 'two:run'):\n    import_module(f'sfumato.a.{inner(name)}{name}')\n",
    ):
        assert unreached(REACHED | doors | {"noise.py": said}) == []
        assert unreached(REACHED | doors | {"noise.py": said.replace("one", "gone")})[-1] == "a/b/one.py"


def test_folders_named_to_a_library_are_reached_and_tables_of_old_names_are_silent() -> None:
    moved = {
        "store.py": "where = 'sfumato.store_of:steps'\n",
        "store_of/__init__.py": "",
        "store_of/steps/1_a.py": "x = 1",
    }
    assert unreached(REACHED | moved | {"noise.py": "import sfumato.store\n"}) == []
    old = REACHED | {"alone.py": "x = 1\n", "moved.py": "NEW = {'sfumato.was': 'sfumato.alone'}\n"}
    old["noise.py"] = "import sfumato.moved\n"
    assert unreached(old) == []
    assert unreached(old, silent=("sfumato.moved",)) == ["alone.py"]


def test_what_only_the_papers_reach_belongs_into_their_wing() -> None:
    texts = REACHED | {
        "cli/show.py": "from sfumato.papers import figure\n",
        "papers/__init__.py": "",
        "papers/figure.py": "from sfumato import chain\nfrom sfumato.papers import printed\n",
        "papers/printed.py": "x = 1\n",
        "chain.py": "x = 1\n",
    }
    assert unreached(texts) == ["chain.py"]
    assert unreached(texts | {"noise.py": "import sfumato.chain\n"}) == []


def test_roots_are_the_door_the_console_script_and_what_is_run_as_a_module() -> None:
    texts = {"demo.py": "if __name__ == '__main__':\n    run()\n", "client/__main__.py": "", "other.py": ""}
    roots = house_reach.users(tree(texts), ("sfumato.client",))
    assert roots == {"sfumato", "sfumato.cli", "sfumato.demo", "sfumato.client.__main__", "sfumato.client"}


def unused(texts: Mapping[str, str]) -> list[str]:
    return [name for _, _, name in house_reach.unused_names(tree(texts))]


def test_names_that_only_they_themselves_or_the_unused_use_are_found() -> None:
    deaf = "def alone():\n    return helper(alone())\ndef helper(x):\n    return x\n"
    assert unused({"a.py": deaf}) == ["alone", "helper"]
    assert unused({"a.py": deaf, "b.py": "from sfumato.a import helper\nhelper(1)\n"}) == ["alone"]
    assert unused({"a.py": deaf, "__init__.py": "__all__ = ['alone']\n"}) == [], "a public name"
    assert unused({"a.py": deaf, "b/__init__.py": "from sfumato.a import alone\n__all__ = ['alone']\n"}) == [
        "alone",
        "helper",
    ], "a door only hands it on"
    assert unused({"a.py": deaf, "b.py": "TABLE = {'mine': 'sfumato.a:alone'}\n"}) == []
    assert unused({"a.py": deaf, "b.py": '"""As in alone."""\n'}) == ["alone", "helper"]


def test_commands_and_what_a_library_calls_are_used() -> None:
    registered = "@app.command()\ndef said_by_a_person():\n    pass\n@post(router, '/x')\ndef asked():\n    pass\n"
    compiled = "@loop(cache=True)\ndef swept():\n    pass\n"
    assert unused({"a.py": compiled}) == ["swept"], "a decorator that only changes it is no user"
    protocol = "class Wire(asyncio.Protocol):\n    def data_received(self):\n        pass\nWire()\n"
    public = "class Trace:\n    def cut(self):\n        pass\n    def _own(self):\n        pass\n"
    assert unused({"a.py": registered + protocol}) == []
    assert unused({"a.py": public, "__init__.py": "__all__ = ['Trace']\n"}) == ["_own"]


def test_folders_base_names_and_endings() -> None:
    wide = tree({f"wide/m{number}.py": "" for number in range(15)} | {"narrow/a.py": ""})
    assert house_names.flat_folders(wide) == []
    assert house_names.flat_folders((*wide, *tree({"wide/__init__.py": ""}))) == [("wide/", 16)]
    cells = {"a/cells.py": "", "b/cells.py": "", "a/__init__.py": "", "b/__init__.py": "", "c/__init__.py": ""}
    assert house_names.thrice(tree(cells)) == []
    assert house_names.thrice(tree(cells | {"c/cells.py": ""})) == [("cells", 3, "a/cells.py b/cells.py c/cells.py")]
    words = ("protect", "protecting", "protection", "statement", "statements", "plan", "planes", "file", "filling")
    assert house_names.inflections(tree({f"{word}.py": "" for word in words})) == [
        ("protect", "protecting"),
        ("protect", "protection"),
        ("protecting", "protection"),
        ("statement", "statements"),
    ]
    assert house_names.inflections(tree({"one_area.py": "", "two_areas.py": "", "channel.py": ""})) == []


def test_participles_are_counted_where_they_name_a_public_deed() -> None:
    text = "".join(f"def {name}(): ...\n" for name in ("dealt", "judged", "_laid", "read", "speed", "judged_people"))
    text += "class A:\n    @property\n    def sealed(self): ...\n    def drawn(self): ...\n"
    assert [name for _, _, name in house_names.participles(tree({"a.py": text}))] == ["dealt", "judged", "drawn"]


def test_any_is_counted_behind_its_other_names_where_they_are_imported_too() -> None:
    one = "Json = dict[str, Any]\nDocument = Json\n\n\ndef f(x: Json, y: Document) -> Any: ...\n"
    two = "from sfumato.a import Json\n\n\ndef g(x: Json) -> None: ...\n"
    mine = "Json = dict[str, int]\n\n\ndef g(x: Json) -> None: ...\n"
    assert len(house_names.uses_of_any(tree({"a.py": one}))) == 5
    assert len(house_names.uses_of_any(tree({"a.py": one, "b.py": two}))) == 6
    assert len(house_names.uses_of_any(tree({"a.py": one, "b.py": two, "c.py": "def Json(): ...\nJson\n"}))) == 6
    assert len(house_names.uses_of_any(tree({"c.py": mine}))) == 0


def test_undocumented_and_doubled_names_are_found() -> None:
    text = (
        '"""Said."""\n\n\ndef bare(): ...\ndef _own(): ...\n@overload\ndef one(): ...\nclass Told:\n    """Told."""\n'
    )
    assert house_names.undocumented(tree({"a.py": text, "b.py": "x = 1\n", "__init__.py": ""})) == [
        ("a.py", 4),
        ("b.py", 1),
    ]
    one, two = "class Offer: ...\nclass _Own: ...\n", "class _Own: ...\n\nclass Offer: ...\n"
    assert house_names.shared_class_names(tree({"a.py": one})) == []
    assert house_names.shared_class_names(tree({"a.py": one, "b.py": two})) == [("a.py", 1), ("b.py", 3)]


def test_imports_stand_in_functions_only_in_faces_doors_and_for_extras_and_loops() -> None:
    late = "def f():\n    import scipy.linalg\n"
    unlawful = house_imports.unlawful_lazy_imports
    assert unlawful(
        tree({"grid.py": late, "cli/a.py": late, "collect/service/a.py": late, "io/__init__.py": late})
    ) == [("grid.py", 2)]
    assert unlawful(tree({"grid.py": "async def f():\n    from h3 import cell_to_latlng\n"})) == []
    caller = {"__init__.py": "", "grid.py": "def f():\n    from sfumato import grid_loops\n"}
    assert unlawful(tree(caller | {"grid_loops.py": "import numba\n"})) == []
    assert unlawful(tree(caller | {"grid_loops.py": ""})) == [("grid.py", 2)]
    assert unlawful(tree({"a.py": "class A:\n    def f(self):\n        import json\n"})) == [("a.py", 3)]
    assert len(house_imports.imports_in_functions(tree({"a.py": late, "cli/b.py": late}))) == 1, "commands load late"
    assert len(house_imports.imports_in_functions(tree({"a.py": "def f():\n    import_module('a.b')\n"}))) == 1


def test_a_cycle_is_found_however_it_is_hidden() -> None:
    hidden = {
        "__init__.py": "",
        "a.py": "from sfumato import b",
        "b.py": "def f():\n    from sfumato.c import x",
        "c.py": "if TYPE_CHECKING:\n    import sfumato.a",
    }
    assert house_imports.cycles(tree(hidden)) == [["sfumato.a", "sfumato.b", "sfumato.c"]]
    assert house_imports.cycles(tree(hidden | {"c.py": ""})) == []


def test_a_limit_is_a_ratchet_that_falls_with_the_count_and_never_rises() -> None:
    held = house_numbers.numbers(TOML)
    assert house_numbers.too_many({"Any": 8, "other": 99}, held.limits) == ["Any: 8 of at most 7"]
    assert house_numbers.too_many({"Any": 7}, held.limits) == []
    lower = house_numbers.tightened(TOML, "limits", {"Any": 5, "duplicate pairs per 1,000 lines": 2.4444})
    assert lower == TOML.replace("Any = 7", "Any = 5").replace("= 2.50\n", "= 2.45\n")
    assert house_numbers.numbers(lower).limits["duplicate pairs per 1,000 lines"] >= 2.4444
    assert house_numbers.tightened(TOML, "limits", {"Any": 9, "duplicate pairs per 1,000 lines": 3.0}) == TOML


def test_a_budget_of_lines_is_raised_by_a_row_that_says_why() -> None:
    row = '\n[[raised]]\nwing = "base"\nby = 12\nwhy = "a second projection, after three loops became one"\n'
    assert house_numbers.numbers(TOML + row).budgets == {"total": 100, "base": 52}
    with pytest.raises(ValueError, match="without a reason"):
        house_numbers.numbers(TOML + row.replace("a second projection, after three loops became one", "needed"))
    with pytest.raises(ValueError, match="'attic' has no budget"):
        house_numbers.numbers(TOML + row.replace('"base"', '"attic"'))
    rewritten = house_numbers.budgeted(TOML, {"total": 90, "tracks": 50, "root": 40})
    assert house_numbers.numbers(rewritten).budgets == {"total": 90, "tracks": 50, "root": 40}
    assert house_numbers.numbers(rewritten).journeys == {"TRACE": 30}


def test_lines_are_counted_by_wing_and_what_stands_beside_the_folders_is_the_root() -> None:
    rooms = tree(
        {"__init__.py": "x\n", "errors.py": "x\nx\n", "tracks/io/gpx.py": "x\nx\nx\n", "cli/__init__.py": "x\n"}
    )
    assert house.lines_of_wings(rooms) == {"total": 7, "cli": 1, "root": 3, "tracks": 3}
