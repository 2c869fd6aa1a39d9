"""The house stays readable: its measures, its lazy imports, its journey and its picture."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import architecture
import journey
import pytest
from repository import ROOT

import house
from house import Module

# SciPy's own __init__ is a shell that loads its parts on first use.
SCIPY = ("scipy.linalg", "scipy.special", "scipy.optimize", "scipy.sparse", "scipy.stats", "scipy.fft")
HEAVY = (*SCIPY, "numba", "pyarrow", "pyproj", "pandas", "cryptography")


def module(name: str, text: str, file: str | None = None, *, names: tuple[str, ...] = ()) -> Module:
    return Module(name, file or name.removeprefix("sfumato.").replace(".", "/") + ".py", text, frozenset(names))


@pytest.mark.parametrize(("name", "limit"), house.LIMITS.items())
def test_no_measure_passes_its_limit(name: str, limit: int) -> None:
    found = house.measures(house.modules())[name]
    assert found <= limit, f"{name}: {found} of at most {limit}; see scripts/house.py --where '{name}'"


def test_imports_stand_in_functions_only_in_faces_packages_and_for_extras() -> None:
    rooms = house.modules()
    assert house.unlawful_lazy_imports(rooms) == []
    lazy = {(room.file, getattr(node, "module", None)) for room in rooms for node in room.lazy}
    assert lazy >= house.SPARED, "an exception that nothing needs"
    assert len(house.SPARED) <= 3
    late = "def f():\n    import scipy.linalg\n"
    assert house.unlawful_lazy_imports([module("sfumato.base.things.grid", late)]) == [("grid.py", 2)]
    assert (
        house.unlawful_lazy_imports(
            [module("sfumato.cli.grid", late), module("sfumato.tracks.io", late, "io/__init__.py")]
        )
        == []
    )
    lawful = (
        module("sfumato.cli.grid", late),
        module("sfumato.tracks.io", late, "io/__init__.py"),
        module("sfumato.base.things.grid", "async def f():\n    from h3 import cell_to_latlng\n"),
    )
    assert house.unlawful_lazy_imports(lawful) == []
    names = ("sfumato.base.things.grid", "sfumato.grid_loops")
    loops = module("sfumato.grid_loops", "import numba\n", names=names)
    caller = module(
        "sfumato.base.things.grid", "def f():\n    from sfumato import grid_loops\n", names=("sfumato", *names)
    )
    assert house.unlawful_lazy_imports([caller, loops]) == []
    assert house.unlawful_lazy_imports([caller, module("sfumato.grid_loops", "", names=names)]) == [("grid.py", 2)]
    method = module("sfumato.base.things.grid", "class A:\n    def f(self):\n        import json\n")
    assert house.unlawful_lazy_imports([method]) == [("grid.py", 3)]


def test_two_classes_of_one_name_and_what_only_a_test_uses_are_found() -> None:
    one = module("sfumato.a", "class Offering:\n    pass\n\n\nclass _Own:\n    pass\n_Own, Offering\n")
    two = module("sfumato.b", "class _Own:\n    pass\n\n\nclass Offering:\n    pass\n_Own\n")
    assert house.shared_class_names([one]) == []
    assert house.shared_class_names([one, two]) == [("a.py", 1), ("b.py", 5)]
    deaf = module("sfumato.c.d", "def nobody_asks_me():\n    pass\n@app.command()\ndef said_by_a_person():\n    pass\n")
    door = module("sfumato.c", "from sfumato.c.d import nobody_asks_me\n__all__ = ['nobody_asks_me']", "c/__init__.py")
    assert house.unused_names([deaf, door]) == [("c/d.py", 1)]
    assert house.unused_names([deaf, door, module("sfumato.e", "nobody_asks_me()")]) == []


def test_a_cycle_is_found_however_it_is_hidden() -> None:
    names = ("sfumato.a", "sfumato.b", "sfumato.c")
    hidden = [
        module(names[0], "from sfumato import b", names=("sfumato", *names)),
        module(names[1], "def f():\n    from sfumato.c import x", names=names),
        module(names[2], "if TYPE_CHECKING:\n    import sfumato.a", names=names),
    ]
    assert house.cycles(hidden) == [sorted(names)]
    assert house.cycles([*hidden[:2], module(names[2], "", names=names)]) == []


def loaded_by(code: str) -> set[str]:
    text = f"import sys\n{code}\nprint('loaded', *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return set(done.stdout.split("loaded ")[-1].split())


def test_importing_sfumato_loads_nothing_heavy_not_even_numpy() -> None:
    assert loaded_by("import sfumato").isdisjoint((*HEAVY, "scipy", "numpy", "typer", "rich"))


def test_help_loads_no_mathematics() -> None:
    code = "from sfumato.cli import app\ntry: app(['--help'])\nexcept SystemExit: pass"
    assert loaded_by(code).isdisjoint(HEAVY)


def seconds(code: str) -> float:
    """The least of several starts, so that a loaded machine does not decide."""
    text = "import time; start = time.process_time()\n" + code + "\nprint('took', time.process_time() - start)"
    runs = (subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True) for _ in range(3))
    return min(float(run.stdout.split("took ")[-1]) for run in runs)


def test_importing_sfumato_costs_less_than_numpy_and_help_little_more_than_typer() -> None:
    numpy, typer = seconds("import numpy"), seconds("import numpy, typer.main, typer.rich_utils, rich.table")
    assert seconds("import sfumato") < numpy
    code = "from sfumato.cli import app\ntry: app(['--help'])\nexcept SystemExit: pass"
    assert seconds(code) < 3.0 * typer


@pytest.mark.slow
def test_the_picture_and_the_journeys_of_the_docs_are_what_the_source_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert architecture.main(["--check"]) == 0, capsys.readouterr().out


def test_the_picture_goes_stale_when_a_room_imports_another() -> None:
    rooms = house.modules()
    here = next(module for module in rooms if module.name == "sfumato.base.errors")
    changed = Module(here.name, here.file, here.text + "\nfrom sfumato import version\n", here.names)
    drawn = architecture.drawing([changed if module is here else module for module in rooms])
    assert "errors imports version" in drawn
    assert "errors imports version" not in architecture.drawing(rooms)
    assert architecture.reduced({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": {"b"}, "b": {"c"}, "c": set()}


@pytest.mark.slow
def test_a_journey_is_short_and_no_two_files_of_it_import_each_other() -> None:
    for words, limit in journey.JOURNEYS.items():
        files = journey.command_journey(*words.split())
        assert "cli/__init__.py" in files
        assert len(files) <= (limit or 60)
        assert journey.mutual_pairs(files, house.modules()) == []


def test_every_script_says_what_it_is_and_the_table_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert house.main([]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in house.LIMITS)
    assert house.main(["--where", "Any"]) == 0
    assert Path(house.__file__).parent.name == "scripts"


def test_nothing_refers_to_a_specification_that_a_reader_cannot_open() -> None:
    words = (r"\bSpec \d", "[Tt]he specification (has|states|says)", "of the specification", "project's specification")
    pattern = re.compile("|".join(words))
    files = (path for folder in ("src", "tests", "docs", "benchmarks") for path in (ROOT / folder).rglob("*.*"))
    texts = {path: path.read_text("utf-8") for path in files if path.suffix in (".py", ".md")}
    assert len(texts) > 300
    assert [path.name for path, text in texts.items() if pattern.search(text) and path != Path(__file__)] == []
