"""A bar while something takes long: on a terminal's stderr or in a notebook, and nothing where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress


@contextmanager
def progress(words: str, total: int, *, quiet: bool = False) -> Iterator[Callable[[], None]]:
    """What to call after each of ``total`` steps."""
    notebook = "ipykernel" in sys.modules
    if quiet or total < 2 or not (notebook or sys.stderr.isatty()):
        yield lambda: None
        return
    with Progress(console=Console(stderr=not notebook), transient=True) as bar:
        task = bar.add_task(words, total=total)
        yield lambda: bar.advance(task)
