"""The gallery: notebooks that run whenever the documentation is built, so that no picture in it can be out of date.

A notebook is a Python file of ``docs/gallery`` in cells (``# %%``, and ``# %% [markdown]`` for text). Each becomes a
page with what its cells print and show, and an ``.ipynb`` to download, outputs included. Nothing made is committed.

python scripts/gallery.py NAME      runs one and prints its page
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
_CELL = re.compile(r"^# %%(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """Text, or code with what it printed and what its last expression shows."""

    source: str
    is_text: bool
    printed: str = ""
    html: str = ""
    plain: str = ""


def cells(source: str) -> Iterator[Cell]:
    """The cells of a notebook that has not run."""
    marks = list(_CELL.finditer(source))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        body = source[mark.end() : following.start() if following else None].strip("\n")
        if "[markdown]" in mark[1]:
            yield Cell("\n".join(re.sub("^# ?", "", line) for line in body.splitlines()), is_text=True)
        else:
            yield Cell(body, is_text=False)


def run(name: str) -> list[Cell]:
    """The cells of a notebook after it ran, from top to bottom, in one namespace."""
    names: dict[str, object] = {"__name__": "__main__"}
    return [cell if cell.is_text else _ran(cell, names, name) for cell in cells((GALLERY / f"{name}.py").read_text())]


def _ran(cell: Cell, names: dict[str, object], name: str) -> Cell:
    tree, out = ast.parse(cell.source), io.StringIO()
    shown: object = None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(out):
        exec(compile(tree, name, "exec"), names)
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), name, "eval"), names)
    return Cell(cell.source, is_text=False, printed=out.getvalue().rstrip(), **_shown(shown))


def _shown(value: object) -> dict[str, str]:
    """What a notebook would show of a value: its picture if it has one, else what it says of itself."""
    if value is None:
        return {}
    for method in ("_repr_html_", "_repr_svg_"):
        if hasattr(value, method):
            return {"html": str(getattr(value, method)())}
    return {"plain": repr(value)}


def page(name: str, ran: list[Cell]) -> str:
    """The notebook as a page of the site."""
    parts = []
    for cell in ran:
        if cell.is_text:
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if cell.printed or cell.plain:
            parts.append("```text\n" + "\n".join(text for text in (cell.printed, cell.plain) if text) + "\n```")
        if cell.html:
            # One line: Markdown would end the block at the first empty one.
            parts.append('<div class="output">' + re.sub(r"\s*\n\s*", " ", cell.html) + "</div>")
    parts.append(f"[Download this notebook]({name}.ipynb): it was run when this site was built.")
    return "\n\n".join(parts) + "\n"


def notebook(ran: list[Cell]) -> str:
    """The same as Jupyter keeps it."""
    return json.dumps({"cells": [_kept(number, cell) for number, cell in enumerate(ran)], "metadata": {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    }, "nbformat": 4, "nbformat_minor": 5}, indent=1)  # fmt: skip


def _kept(number: int, cell: Cell) -> Mapping[str, object]:
    head = {"id": f"cell-{number}", "metadata": {}, "source": cell.source}
    if cell.is_text:
        return {"cell_type": "markdown", **head}
    outputs: list[object] = []
    if cell.printed:
        outputs.append({"output_type": "stream", "name": "stdout", "text": cell.printed + "\n"})
    data = {kind: text for kind, text in (("text/html", cell.html), ("text/plain", cell.plain)) if text}
    if data:
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data})
    return {"cell_type": "code", "execution_count": number, "outputs": outputs, **head}


def names() -> list[str]:
    """The notebooks, in the order of the index."""
    return sorted(path.stem for path in GALLERY.glob("*.py"))


def title(name: str) -> str:
    """A notebook's first heading."""
    first = next(cells((GALLERY / f"{name}.py").read_text()))
    return first.source.splitlines()[0].removeprefix("# ")


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Called by MkDocs with the pages it found: each notebook is run, and its page and its file are added."""
    from mkdocs.structure.files import File

    for name in names():
        ran = run(name)
        files.append(File.generated(config, f"gallery/{name}.md", content=page(name, ran)))
        files.append(File.generated(config, f"gallery/{name}.ipynb", content=notebook(ran)))
    return files


if __name__ == "__main__":
    print(page(sys.argv[1], run(sys.argv[1])))
