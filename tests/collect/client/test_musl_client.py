"""The script that resolves the small client for Alpine sees what is compiled, and for what."""

from __future__ import annotations

import runpy
import zipfile
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "scripts" / "musl_client.py"


def test_compiled_files_of_other_wheels_than_musls_are_named(tmp_path: Path) -> None:
    for name, files in {
        "plain-1-py3-none-any.whl": {"plain/a.py": b"x = 1\n"},
        "good-1-cp312-cp312-musllinux_1_2_x86_64.whl": {"good/_c.abi3.so": b"\x7fELF...."},
        "bad-1-py3-none-any.whl": {"bad/tool": b"\x7fELF", "bad/b.so.2": b"linked"},
    }.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for path, content in files.items():
                archive.writestr(path, content)
    names, size, compiled, foreign = runpy.run_path(str(SCRIPT))["looked_at"](tmp_path)
    assert len(names) == 3
    assert size == 6 + 8 + 4 + 6
    assert sorted(compiled) == ["bad/b.so.2", "bad/tool", "good/_c.abi3.so"]
    assert sorted(foreign) == ["bad-1-py3-none-any.whl: bad/b.so.2", "bad-1-py3-none-any.whl: bad/tool"]
