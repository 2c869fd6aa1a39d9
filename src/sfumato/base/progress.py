"""A bar while something takes long: on a terminal's stderr or in a notebook, and nothing where nobody looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module

from rich.console import Console
from rich.progress import Progress

SECONDS_APART = 0.1  # of two updates in a notebook, each of which is a message to the browser


@contextmanager
def progress(words: str, total: int, *, quiet: bool = False) -> Iterator[Callable[[], None]]:
    """What to call after each of ``total`` steps."""
    notebook = "ipykernel" in sys.modules
    if quiet or total < 2 or not (notebook or sys.stderr.isatty()):
        yield lambda: None
    elif notebook:
        with _in_notebook(words, total) as step:
            yield step
    else:
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(words, total=total)
            yield lambda: bar.advance(task)


@contextmanager
def _in_notebook(words: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar of HTML that is updated in place and gone at the end. It needs no widgets, which many notebooks lack."""
    done, drawn_s = 0, time.monotonic()
    begun_s = drawn_s
    handle = import_module("IPython.display").display(_bar(words, 0, total, 0.0), raw=True, display_id=True)

    def step() -> None:
        nonlocal done, drawn_s
        done += 1
        now_s = time.monotonic()
        if now_s - drawn_s >= SECONDS_APART:
            drawn_s = now_s
            handle.update(_bar(words, done, total, now_s - begun_s), raw=True)

    try:
        yield step
    finally:
        handle.update({"text/html": "", "text/plain": ""}, raw=True)


def _bar(words: str, done: int, total: int, seconds: float) -> dict[str, str]:
    left = f", about {seconds / done * (total - done):.0f} s left" if done and seconds > 2.0 else ""
    said = f"{words}: {done} of {total}{left}"
    bar = f'<progress value="{done}" max="{total}" style="width:16em;vertical-align:middle"></progress>'
    return {"text/html": f"<div>{bar} {escape(said)}</div>", "text/plain": said}
