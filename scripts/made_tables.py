"""Tables that are made from the code when the documentation is built, so that none of them can be out of date.

A page holds a mark, such as ``<!-- settings -->``, on a line of its own; the table takes its place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by MkDocs with a page's text: marks become tables."""
    return made(markdown)


def made(markdown: str) -> str:
    """A page's text with the tables that it asks for."""
    for name, table in TABLES.items():
        mark = f"<!-- {name} -->"
        if mark in markdown:
            markdown = markdown.replace(mark, table())
    return markdown


def settings() -> str:
    """Every setting of the collector, with its default and what it means."""
    from sfumato.collect.service.settings import TABLE

    rows = (
        f"| `{one.name}` | {f'`{one.default}`' if one.default != '' else '(empty)'} | {one.meaning} |" for one in TABLE
    )
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows])


def moved_modules() -> str:
    """Where the modules of 0.2.0 are, and what to use instead of those that were taken out."""
    from sfumato.moved import GONE, MOVED

    there = (f"| `{old}` | {', '.join(f'`{home}`' for home in homes)} |" for old, homes in sorted(MOVED.items()))
    gone = (f"| `{old}` | taken out. {advice} |" for old, advice in GONE.items())
    return "\n".join(["| until 0.2.0 | now |", "|---|---|", *there, *gone])


def implications() -> str:
    """What implies what, of all notions of privacy."""
    sys.path.append(str(Path(__file__).parent))  # MkDocs runs this file alone, out of its folder
    from map_of_notions import table

    return table()


def attackers() -> str:
    """Every attacker of the suite, with what it knows, what bounds it, and what helps."""
    from sfumato.tracks.adversary.attackers import ATTACKERS, SUITE

    bounds = {"worst_loss": "the loss of a moment", "stay_loss": "the loss of a stay", "": "no"}
    rows = (
        f"| [{one.name}](attackers/{one.name.replace(' ', '_')}.md) | {one.words}; believes: {one.assumes} | "
        f"{one.knows} | {bounds[one.bounded_by]} | {one.mitigation} |"
        for one in ATTACKERS.values()
        if one.against in SUITE
    )
    head = "| attacker | what it does | what it knows | bounded by a certificate | what helps |"
    return "\n".join([head, "|---|---|---|---|---|", *rows])


def practices() -> str:
    """Every mechanism that is compared, and what it promises."""
    from sfumato.tracks.attacks.practices.registry import MECHANISMS_COMPARED

    rows = (f"| {one.name} | {one.words} | {one.promises} |" for one in MECHANISMS_COMPARED.values())
    return "\n".join(["| mechanism | what it does | what it promises |", "|---|---|---|", *rows])


def attack_matrix() -> str:
    """What the best attacker of each goal finds, by mechanism."""
    sys.path.append(str(Path(__file__).parent))  # MkDocs runs this file alone, out of its folder
    from attacker_pages import matrix

    return matrix()


def rooms() -> str:
    """Every folder of the house with what it is for."""
    sys.path.append(str(Path(__file__).parent))  # MkDocs runs this file alone, out of its folder
    from architecture import rooms_table
    from house_source import modules

    return rooms_table(modules())


TABLES: dict[str, Callable[[], str]] = {
    "settings": settings,
    "moved modules": moved_modules,
    "implications": implications,
    "rooms": rooms,
    "attackers": attackers,
    "practices": practices,
    "attack matrix": attack_matrix,
}
