"""``sfumato campaign``: everything an operator does with campaigns of a running collector."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from sfumato.base.errors import InputError
from sfumato.base.files import write_text, write_whole
from sfumato.base.units import bounds_deg, duration_s, length_m
from sfumato.cli.collect.campaign_day import register_day
from sfumato.cli.collect.campaign_request import HOME, Json, Name, TokenFile, Told, Url, ask, end_of_day_s, request
from sfumato.cli.output import print_json, table_console
from sfumato.collect.qr import qr_svg

campaign = typer.Typer(
    no_args_is_help=True,
    help="Operate campaigns of a running collector: create, watch, pause, end, export, and who may do so.",
)


def register(app: typer.Typer) -> None:
    """Add ``campaign`` and its commands."""
    register_day(campaign)
    app.add_typer(campaign, name="campaign")


@campaign.command()
def create(
    name: Name,
    bounds: Annotated[str, typer.Option(help="The region: south,west,north,east in degrees.")],
    cell: Annotated[str, typer.Option(help="Side of a cell, for example 500m.")] = "500m",
    epsilon_per_km: Annotated[float, typer.Option(help="What a report may give away at most, per km.")] = 2.0,
    title: Annotated[str, typer.Option(help="Its title on the page.")] = "",
    question: Annotated[str, typer.Option(help="What people are asked, in one sentence.")] = "",
    description: Annotated[str, typer.Option(help="What it is for, shown on its page.")] = "",
    organiser: Annotated[str, typer.Option(help="Who is responsible for it, by name.")] = "",
    contact: Annotated[str, typer.Option(help="Whom to ask: an address people can write to.")] = "",
    language: Annotated[str, typer.Option(help="Of its pages: en, fr, de or es; empty: the reader's.")] = "",
    ends: Annotated[str, typer.Option(help="The day it ends by itself, for example 2027-06-30 (its end, UTC).")] = "",
    cycle: Annotated[str, typer.Option(help="A cycle is due after this long; 0: by reports only.")] = "1d",
    cycle_reports: Annotated[int, typer.Option(help="A cycle is due with this many tickets; 0: by time only.")] = 0,
    reporting: Annotated[str, typer.Option(help="once, every-cycle, or once-per-epoch with --epoch-cycles.")] = "once",
    epoch_cycles: Annotated[
        int, typer.Option(help="Cycles that share one report of a device; collect plan says which lasts.")
    ] = 0,
    promise: Annotated[str, typer.Option(help="epsilon or mutual-information.")] = "epsilon",
    minimum_tickets: Annotated[
        int | None, typer.Option(help="No cycle closes with fewer tickets [default: the collector's setting].")
    ] = None,
    minimum_cycle: Annotated[
        str | None, typer.Option(help="No cycle closes sooner, for example 6h [default: the collector's setting].")
    ] = None,
    url: Url = HOME,
    token_file: TokenFile = "",
    json: Json = False,
) -> None:
    """Create a campaign; its first cycle is open at once."""
    south, west, north, east = bounds_deg(bounds)
    body: Told = {
        "name": name,
        "title": title,
        "question": question,
        "description": description,
        "organiser": organiser,
        "contact": contact,
        "language": language,
        "grid": {"south": south, "west": west, "north": north, "east": east, "cell_size_m": length_m(cell)},
        "epsilon_per_km": epsilon_per_km,
        "reporting": reporting,
        "promise": promise,
        "cycle_duration_s": round(duration_s(cycle)) or None,
        "cycle_reports": cycle_reports or None,
    }
    given = {
        "ends_at_s": end_of_day_s(ends) if ends else None,
        "epoch_cycles": epoch_cycles or None,
        "minimum_tickets": minimum_tickets,
        "minimum_cycle_s": None if minimum_cycle is None else round(duration_s(minimum_cycle)),
    }
    body |= {key: value for key, value in given.items() if value is not None}
    if not re.fullmatch("[a-z0-9][a-z0-9-]{0,62}", name):
        raise InputError(
            f"'{name}' cannot be a campaign's name, which is part of its address.",
            "Use small letters a to z, digits and hyphens; the --title may be anything.",
        )
    answer = ask(url, "/api/v1/campaigns", body=body, token_file=token_file)
    _said(answer, f"{name}: {answer['campaign']['cells']} cells; page: {_page(url, name)}", json=json)
    from sfumato.cli.collect.collect_plan import no_device

    no_device(bounds, cell, epsilon_per_km)


@campaign.command("list")
def list_campaigns(
    archived: Annotated[bool, typer.Option("--archived", help="Archived ones too.")] = False,
    url: Url = HOME,
    json: Json = False,
) -> None:
    """The campaigns, their states and their open cycles."""
    answer = ask(url, f"/api/v1/campaigns?archived={str(archived).lower()}", operator=False)
    if json:
        print_json(answer)
        return
    from rich.table import Table

    table = Table("name", "state", "cycle", "reports, about", "due", "title")
    for one in answer["campaigns"]:
        cycle = one["cycle"]
        table.add_row(
            one["name"],
            one["state"],
            str(cycle["number"]),
            str(cycle["reports"]),
            _when(cycle["due_at_s"]),
            one["title"],
        )
    table_console().print(table)


@campaign.command()
def show(name: Name, url: Url = HOME, json: Json = False) -> None:
    """One campaign: what it promises, its open cycle, its last closed cycles and the cycles left out."""
    answer = ask(url, f"/api/v1/campaigns/{name}", operator=False)
    history = ask(url, f"/api/v1/campaigns/{name}/cycles", operator=False)["history"]
    if json:
        print_json({**answer, "history": history})
        return
    one = answer["campaign"]
    typer.echo(f"{one['title']} ({name}): {one['state']}, {one['cells']} cells, {one['reporting']}")
    if one["state"] in ("running", "paused"):
        typer.echo(f"at most {one['two_beta_per_km']:g} per km; open cycle {one['cycle']['number']}")
        typer.echo(f"due {_when(one['cycle']['due_at_s'])}, about {one['cycle']['reports']} reports")
    else:
        typer.echo(f"at most {one['two_beta_per_km']:g} per km; it takes no more reports")
    for cycle in history[-5:]:
        said = "ALARM" if cycle["alarm"]["raised"] else cycle["verdict"]
        out = ", left out" if cycle["excluded"] else ""
        typer.echo(f"  cycle {cycle['cycle']}: {cycle['reports']} reports, {said}{out}")


@campaign.command()
def link(
    name: Name,
    qr: Annotated[str, typer.Option(help="Write the page's address as a QR code to this SVG file.")] = "",
    url: Url = HOME,
    json: Json = False,
) -> None:
    """The addresses to give away: the page people take part on, the dashboard, the files; and a QR code."""
    ask(url, f"/api/v1/campaigns/{name}", operator=False)
    page = _page(url, name)
    files = {ending: f"{url.rstrip('/')}/api/v1/campaigns/{name}/estimate.{ending}" for ending in ("csv", "geojson")}
    found = {"page": page, "dashboard": f"{page}/dashboard", "privacy": f"{page}/privacy-notice", **files}
    if qr:
        write_text(qr, qr_svg(page, label=f"QR code of {page}"))
        found["qr"] = qr
        if urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1"):
            typer.echo("Warning: the code leads to this very machine. Print one with your site's --url.", err=True)
    if json:
        print_json({"ok": True, **found})
        return
    for what, address in found.items():
        typer.echo(f"{what:10} {address}")


@campaign.command()
def export(
    name: Name,
    output: Annotated[str, typer.Option("--output", "-o", help="File to write: .csv, .geojson, .parquet or .json.")],
    cycle: Annotated[int, typer.Option(help="A closed cycle; 0: the latest.")] = 0,
    url: Url = HOME,
    json: Json = False,
) -> None:
    """Write the map as a file, one row per cell."""
    ending = Path(output).suffix.lstrip(".")
    if ending not in ("csv", "geojson", "parquet", "json"):
        raise InputError(f"There is no export as '{ending}'.", "Choose .csv, .geojson, .parquet or .json.")
    asked = f"/api/v1/campaigns/{name}/estimate.{ending}" + (f"?cycle={cycle}" if cycle else "")
    content = request(url, asked, operator=False)
    write_whole(output, lambda path: path.write_bytes(content))
    _said({"ok": True, "output": output, "bytes": len(content)}, f"{output}: {len(content)} bytes", json=json)


@campaign.command()
def notice(
    name: Name,
    output: Annotated[str, typer.Option("--output", "-o", help="HTML file to write.")],
    language: Annotated[str, typer.Option(help="en, fr, de or es; empty: the campaign's.")] = "",
    url: Url = HOME,
    json: Json = False,
) -> None:
    """Write a privacy notice for the campaign: a template to complete, filled in with what the campaign does."""
    asked = f"/campaigns/{name}/privacy-notice" + (f"?language={language}" if language else "")
    content = request(url, asked, operator=False)
    write_whole(output, lambda path: path.write_bytes(content))
    _said({"ok": True, "output": output, "bytes": len(content)}, f"{output}: complete what is in brackets", json=json)


@campaign.command()
def close(name: Name, url: Url = HOME, token_file: TokenFile = "", json: Json = False) -> None:
    """Close the open cycle now, if it has its minimum of tickets and time. Exit 1 if it was not closed."""
    answer = ask(url, f"/api/v1/campaigns/{name}/close", body={}, token_file=token_file)
    done = "closed" if answer["closed"] else f"not closed ({answer['reason']})"
    _said(answer, f"cycle {answer['cycle']}: {done}", json=json)
    if not answer["closed"]:
        raise typer.Exit(1)


def _said(answer: Told, words: str, *, json: bool) -> None:
    if json:
        print_json(answer)
    else:
        typer.echo(words)


def _page(url: str, name: str) -> str:
    return f"{url.rstrip('/')}/campaigns/{name}"


def _when(seconds: int | None) -> str:
    return "by reports" if seconds is None else time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
