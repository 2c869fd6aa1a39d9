"""Pages that say how to add something, followed to the letter: their blocks, and a copy of the package for them."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from repository import ROOT

CONTRIBUTING = ROOT / "docs" / "contributing"
NOT_SOURCE = shutil.ignore_patterns("static")  # what Python and numba have compiled stays valid: the times come along


def page_text(name: str) -> str:
    """A page of docs/contributing, with the files it shows in their places, as the site shows it."""
    text = (CONTRIBUTING / f"{name}.md").read_text(encoding="utf-8")
    return re.sub(r'--8<-- "(\S+)"\n', lambda shown: (CONTRIBUTING / shown[1]).read_text(encoding="utf-8"), text)


def blocks(page: str, language: str = "python") -> list[str]:
    """The page's blocks of code in a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


def place_of(file: str) -> str:
    """Where a block says that it goes: its first line names the path."""
    where = re.match(r"# (src/\S+\.py)\n", file)
    assert where is not None
    return where.group(1)


def copied_house(to: Path) -> dict[str, str]:
    """The package's source copied below ``to/src``, and the environment in which Python takes the copy."""
    shutil.copytree(ROOT / "src" / "sfumato", to / "src" / "sfumato", ignore=NOT_SOURCE)
    return {**os.environ, "PYTHONPATH": str(to / "src")}
