"""What a campaign has found, as files: maps, districts, the report, what changed; and its privacy notice."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.base.errors import InputError
from sfumato.base.files import write_whole
from sfumato.cli.collect.campaign_door import Door, asking

Name = Annotated[str, typer.Argument(help="The campaign's name.")]
Output = Annotated[
    str, typer.Option("--output", "-o", help="File to write; a map is .csv, .geojson, .parquet or .json.")
]
Rounds = Annotated[str, typer.Option(help="Closed rounds, for example 1,2.")]
Language = Annotated[str, typer.Option(help="en, fr, de or es.")]


def register(campaign: typer.Typer) -> None:
    """Add these commands to ``campaign``."""
    for command in (export, notice, report, compare):
        campaign.command()(asking(operator=False)(command))


def export(
    at: Door,
    name: Name,
    output: Output,
    cycle: Annotated[int, typer.Option(help="A closed cycle; 0: the latest.")] = 0,
    districts: Annotated[bool, typer.Option("--districts", help="One row per district.")] = False,
) -> None:
    """Write the map as a file, one row per cell, or per district."""
    ending = Path(output).suffix.lstrip(".")
    known = ("csv", "geojson", "parquet", *(() if districts else ("json",)))
    if ending not in known:
        choices = f"{', '.join(f'.{one}' for one in known[:-1])} or .{known[-1]}"
        raise InputError(f"There is no export as '{ending}'.", f"Choose {choices}.")
    what = "districts" if districts else "estimate"
    size = _kept(at, f"/api/v1/campaigns/{name}/{what}.{ending}" + (f"?cycle={cycle}" if cycle else ""), output)
    at.say({"ok": True, "output": output, "bytes": size}, f"{output}: {size} bytes")


def notice(at: Door, name: Name, output: Output, language: Language = "") -> None:
    """Write a privacy notice (HTML): a template to complete, filled in with what the campaign does.

    It is in the campaign's language unless --language says another.
    """
    size = _kept(at, f"/campaigns/{name}/privacy-notice" + (f"?language={language}" if language else ""), output)
    at.say({"ok": True, "output": output, "bytes": size}, f"{output}: {_to_complete(at, name)}")


def report(
    at: Door, name: Name, output: Output, language: Language = "", before: Rounds = "", after: Rounds = ""
) -> None:
    """Write the report: .html (print it, A4), .svg (its map) or .csv (its table), in the campaign's language.

    What changed is between --before and --after; left out: between the last two rounds.
    """
    ending = Path(output).suffix.lstrip(".")
    paths = {"html": "report", "svg": "map.svg", "csv": "report.csv"}
    if ending not in paths:
        raise InputError(f"There is no report as '{ending}'.", "Choose .html, .svg or .csv.")
    given = {"language": language, **({"before": before, "after": after} if ending == "html" else {})}
    asked = "&".join(f"{key}={value}" for key, value in given.items() if value)
    size = _kept(at, f"/campaigns/{name}/{paths[ending]}" + (f"?{asked}" if asked else ""), output)
    at.say({"ok": True, "output": output, "bytes": size}, f"{output}: {size} bytes")


_TOLD = {"more": "more", "fewer": "fewer", "none": "no difference can be told"}


def compare(at: Door, name: Name, before: Rounds, after: Rounds) -> None:
    """How the districts of some rounds differ from those of others, with intervals of the difference."""
    answer = at.ask(f"/api/v1/campaigns/{name}/compare?before={before}&after={after}")
    found = answer["comparison"]
    lines = [f"round {before} ({found['reports_before']} reports) to round {after} ({found['reports_after']} reports)"]
    lines += [
        f"  {one['name']}: {100 * one['before']:.1f} % to {100 * one['after']:.1f} %, difference "
        f"{100 * one['low']:+.1f} to {100 * one['high']:+.1f} points: {_TOLD[one['told']]}"
        for one in found["rows"]
    ]
    whose = "everybody of whom they are a random sample" if found["target"] == "population" else "those who reported"
    lines.append(f"{100 * found['level']:g} % intervals of each difference, for {whose}.")
    at.say(answer, "\n".join(lines))


_NOTICE = ("organiser", "contact", "legal_basis", "officer", "processor", "retention")


def _to_complete(at: Door, name: str) -> str:
    one = at.ask(f"/api/v1/campaigns/{name}")["campaign"]
    empty = [field for field in _NOTICE if not one[field]]
    return f"complete what is in brackets: {', '.join(empty)}" if empty else "complete; let your officer read it"


def _kept(at: Door, path: str, output: str) -> int:
    """Write what is answered there to a file, and how many bytes that were."""
    content = at.content(path)
    write_whole(output, lambda file: file.write_bytes(content))
    return len(content)
