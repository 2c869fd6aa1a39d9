"""``sfumato campaign``: everything an operator does with campaigns of a running collector, and who may do so."""

from __future__ import annotations

import json as json_module
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from rich.table import Table

from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.things.areas import Areas
from sfumato.base.units import bounds_deg, duration_s, length_m
from sfumato.cli.collect.campaign_door import Door, Told, asking, text_option
from sfumato.cli.collect.campaign_results import register as results
from sfumato.cli.output import in_panel, print_json, table_console
from sfumato.collect.qr import qr_svg

_when_closed = in_panel("When cycles close")
Name = Annotated[str, typer.Argument(help="The campaign's name.")]
Reason = Annotated[str, typer.Option(help="Why, for the audit log.")]
Cycle = Annotated[int, typer.Argument(min=1, help="The closed cycle's number.")]
TEXTS = {
    "title": text_option("Its title on the page."),
    "question": text_option("What people are asked, in one sentence."),
    "description": text_option("What it is for, shown on its page."),
    "organiser": text_option("Who is responsible for it, by name."),
    "contact": text_option("Whom to ask: an address people can write to."),
    "language": text_option("Of its pages: en, fr, de or es; empty: the reader's."),
    "legal_basis": text_option("On what law it rests, for the privacy notice."),
    "officer": text_option("The data protection officer, for the privacy notice; or that there is none."),
    "processor": text_option("Who runs the server, under which contract, for the privacy notice."),
    "retention": text_option("Until when results are kept, for the privacy notice."),
    "ends": text_option("The day it ends by itself, for example 2027-06-30 (its end, UTC), or never."),
}

campaign = typer.Typer(
    no_args_is_help=True,
    help="Operate campaigns of a running collector: create, watch, pause, end, export, and who may do so.",
)


def register(app: typer.Typer) -> None:
    """Add ``campaign`` and its commands."""
    results(campaign)
    app.add_typer(campaign, name="campaign")


@campaign.command()
@asking(texts=TEXTS)
def create(
    at: Door,
    said: Told,
    name: Name,
    bounds: Annotated[
        str, typer.Option(help="The region: south,west,north,east in degrees; left out: where the --areas are.")
    ] = "",
    cell: Annotated[str, typer.Option(help="Side of a cell, for example 500m.")] = "500m",
    epsilon_per_km: Annotated[float, typer.Option(help="What a report may give away at most, per km.")] = 2.0,
    cycle: Annotated[str, _when_closed("A cycle is due after this long; 0: by reports only.")] = "1d",
    cycle_reports: Annotated[int, _when_closed("A cycle is due with this many tickets; 0: by time only.")] = 0,
    reporting: Annotated[str, typer.Option(help="once, every-cycle, or once-per-epoch with --epoch-cycles.")] = "once",
    epoch_cycles: Annotated[
        int, typer.Option(help="Cycles that share one report of a device; collect plan says which lasts.")
    ] = 0,
    promise: Annotated[str, typer.Option(help="epsilon or mutual-information.")] = "epsilon",
    rehearsal: Annotated[
        bool,
        typer.Option("--rehearsal", help="Only try it out, with simulated crowds; see campaign copy."),
    ] = False,
    position: Annotated[
        bool, typer.Option(help="Whether the page offers the device's position: only for *where are you now?*")
    ] = True,
    tickets: Annotated[
        str, typer.Option(help="linkable, or blind: signed unseen, for clients from 0.3.0 on.")
    ] = "linkable",
    areas: Annotated[
        Path | None, typer.Option(help="Districts whose shares are published: GeoJSON, zipped shapefile or GeoPackage.")
    ] = None,
    name_field: Annotated[str | None, typer.Option(help="The property that names a district, for example nom.")] = None,
    begins_hour: Annotated[
        int | None, _when_closed("Rounds begin at this hour (0 to 23), weeks on Mondays; left out: when one ends.")
    ] = None,
    time_zone: Annotated[str, _when_closed("Whose clock that is, for example Europe/Paris.")] = "UTC",
    cycle_classes: Annotated[
        str, _when_closed("Rounds that are alike: none, weekday-weekend, parts-of-day or both.")
    ] = "none",
    minimum_tickets: Annotated[
        int | None, _when_closed("No cycle closes with fewer tickets; left out: the collector's setting.")
    ] = None,
    minimum_cycle: Annotated[
        str | None, _when_closed("No cycle closes sooner, for example 6h; left out: the collector's setting.")
    ] = None,
) -> None:
    """Create a campaign; its first cycle is open at once."""
    known = None if areas is None else Areas.read(areas, name_field=name_field)
    if not bounds and known is None:
        raise InputError("The campaign has no region.", "Give --bounds SOUTH,WEST,NORTH,EAST or --areas FILE.")
    bounds = bounds or ",".join(f"{side:.5f}" for side in known.bounds()) if known else bounds
    south, west, north, east = bounds_deg(bounds)
    # Corners nearer than a hundredth of a square change no square's district but those cut in half.
    thinned = None if known is None else known.to_geojson(step_deg=length_m(cell) / 111_320 / 100)
    given = {
        "areas": thinned,
        "begins_hour": begins_hour,
        "time_zone": None if time_zone == "UTC" else time_zone,
        "cycle_classes": None if cycle_classes == "none" else cycle_classes,
        "cycle_duration_s": round(duration_s(cycle)) or None,
        "cycle_reports": cycle_reports or None,
        "epoch_cycles": epoch_cycles or None,
        "minimum_tickets": minimum_tickets,
        "minimum_cycle_s": None if minimum_cycle is None else round(duration_s(minimum_cycle)),
        **_texts({key: value for key, value in said.items() if key != "ends" or value not in ("", "never")}),
    }
    body: Told = {
        "name": name,
        "grid": {"south": south, "west": west, "north": north, "east": east, "cell_size_m": length_m(cell)},
        "epsilon_per_km": epsilon_per_km,
        "reporting": reporting,
        "promise": promise,
        "tickets": tickets,
        **({"rehearsal": True} if rehearsal else {}),
        **({} if position else {"offers_position": False}),
        **{key: value for key, value in given.items() if value is not None},
    }
    if not re.fullmatch("[a-z0-9][a-z0-9-]{0,62}", name):
        raise InputError(
            f"'{name}' cannot be a campaign's name, which is part of its address.",
            "Use small letters a to z, digits and hyphens; the --title may be anything.",
        )
    answer = at.ask("/api/v1/campaigns", body)
    at.say(answer, f"{name}: {answer['campaign']['cells']} cells; page: {at.address(f'/campaigns/{name}')}")
    from sfumato.cli.collect.collect_plan import no_device

    no_device(bounds, cell, epsilon_per_km)


@campaign.command()
@asking()
def copy(at: Door, rehearsal: Annotated[str, typer.Argument(help="The rehearsal's name.")], name: Name) -> None:
    """Open the real campaign that was rehearsed, under a name of its own; no report of the rehearsal goes with it."""
    answer = at.ask(f"/api/v1/campaigns/{rehearsal}/copy", {"name": name})
    at.say(answer, f"{name}: open to people; page: {at.address(f'/campaigns/{name}')}")


@campaign.command()
@asking(texts=TEXTS)
def edit(at: Door, said: Told, name: Name) -> None:
    """Change what is said about a campaign. What it promises never changes."""
    _act(at, name, "texts", _texts(said))


def _texts(said: Told) -> Told:
    """What is said about a campaign, without what is not given."""
    texts = {key: value for key, value in said.items() if value is not None}
    ends = texts.pop("ends", None)
    return texts if ends is None else {**texts, "ends_at_s": 0 if ends == "never" else _end_of_day_s(ends)}


@campaign.command("list")
@asking(operator=False)
def list_campaigns(
    at: Door, archived: Annotated[bool, typer.Option("--archived", help="Archived ones too.")] = False
) -> None:
    """The campaigns, their states and their open cycles."""
    answer = at.ask(f"/api/v1/campaigns?archived={str(archived).lower()}")
    if at.json:
        print_json(answer)
        return
    table = Table("name", "state", "cycle", "reports", "due", "title")
    for one in answer["campaigns"]:
        cycle = one["cycle"]
        numbers = (str(cycle["number"]), _counted(cycle["reports"]), _when(cycle["due_at_s"]))
        table.add_row(one["name"], one["state"], *numbers, one["title"])
    table_console().print(table)


@campaign.command()
@asking(operator=False)
def show(at: Door, name: Name) -> None:
    """One campaign: what it promises, its open cycle, its last closed cycles and the cycles left out."""
    answer = at.ask(f"/api/v1/campaigns/{name}")
    history = at.ask(f"/api/v1/campaigns/{name}/cycles")["history"]
    one = answer["campaign"]
    lines = ["A REHEARSAL: its reports may be simulated."] if one.get("rehearsal") else []
    lines.append(f"{one['title']} ({name}): {one['state']}, {one['cells']} cells, {one['reporting']}")
    if one["state"] in ("running", "paused"):
        lines.append(f"at most {one['two_beta_per_km']:g} per km; open cycle {one['cycle']['number']}")
        lines.append(f"due {_when(one['cycle']['due_at_s'])}, reports so far: {_counted(one['cycle']['reports'])}")
    else:
        lines.append(f"at most {one['two_beta_per_km']:g} per km; it takes no more reports")
    for cycle in history[-5:]:
        said = "ALARM" if cycle["alarm"]["raised"] else cycle["verdict"]
        out = ", left out" if cycle["excluded"] else ""
        lines.append(f"  cycle {cycle['cycle']}: {cycle['reports']} reports, {said}{out}")
    at.say({**answer, "history": history}, "\n".join(lines))


@campaign.command()
@asking(operator=False)
def link(
    at: Door,
    name: Name,
    qr: Annotated[str, typer.Option(help="Write the page's address as a QR code to this SVG file.")] = "",
) -> None:
    """The addresses to give away: the page people take part on, the dashboard, the files; and a QR code."""
    at.ask(f"/api/v1/campaigns/{name}")
    page = at.address(f"/campaigns/{name}")
    files = {ending: at.address(f"/api/v1/campaigns/{name}/estimate.{ending}") for ending in ("csv", "geojson")}
    found = {"page": page, "dashboard": f"{page}/dashboard", "privacy": f"{page}/privacy-notice", **files}
    if qr:
        write_text(qr, qr_svg(page, label=f"QR code of {page}"))
        found["qr"] = qr
        if urlsplit(at.url).hostname in ("127.0.0.1", "localhost", "::1"):
            typer.echo("Warning: the code leads to this very machine. Print one with your site's --url.", err=True)
    at.say({"ok": True, **found}, "\n".join(f"{what:10} {address}" for what, address in found.items()))


@campaign.command()
@asking()
def close(at: Door, name: Name) -> None:
    """Close the open cycle now, if it has its minimum of tickets and time. Exit 1 if it was not closed."""
    answer = at.ask(f"/api/v1/campaigns/{name}/close", {})
    done = "closed" if answer["closed"] else f"not closed ({answer['reason']})"
    at.say(answer, f"cycle {answer['cycle']}: {done}")
    if not answer["closed"]:
        raise typer.Exit(1)


_ACTS = {
    "pause": "Take no reports until resumed; devices keep theirs and send them later.",
    "resume": "Take reports again; the open cycle is due as much later as the pause lasted.",
    "archive": "Take an ended campaign out of the lists; its pages and files stay.",
    "reschedule": "Begin the open cycle's time again now, by the machine's clock: the way out after a clock was wrong.",
}


def _act_command(act: str) -> None:
    def run(at: Door, name: Name, reason: Reason = "") -> None:
        _act(at, name, act, {"reason": reason})

    run.__doc__ = _ACTS[act]
    campaign.command(act)(asking()(run))


for _name in _ACTS:
    _act_command(_name)


@campaign.command()
@asking()
def end(at: Door, name: Name, reason: Reason = "") -> None:
    """Never take another report. The open cycle is published if it may be; otherwise it never is."""
    answer = at.ask(f"/api/v1/campaigns/{name}/end", {"reason": reason})
    last = "is published" if answer["published"] else f"is not published: {answer['reason']}"
    at.say(answer, f"{name} has ended; its last cycle {last}")


@campaign.command()
@asking()
def delete(at: Door, name: Name, confirm: Annotated[str, typer.Option(help="The campaign's name again.")]) -> None:
    """Delete everything of a campaign that takes no reports. Backups keep what they hold.

    Its name is given again only if it never had a report.
    """
    answer = at.ask(f"/api/v1/campaigns/{name}/delete", {"confirm": confirm})
    at.say(answer, f"{name} is deleted. Backups made before still hold it: delete those too.")


def _leave_out_command(act: str, words: str) -> None:
    def run(at: Door, name: Name, cycle: Cycle, reason: Reason = "") -> None:
        answer = at.ask(f"/api/v1/campaigns/{name}/cycles/{cycle}/{act}", {"reason": reason})
        out = ", ".join(map(str, answer["excluded"])) or "none"
        at.say(answer, f"cycles left out: {out}; the map of cycle {answer['revised_cycle']} was estimated again")

    run.__doc__ = words
    campaign.command(act)(asking()(run))


_leave_out_command("exclude", "Leave a closed cycle out of the map, which is estimated again without it.")
_leave_out_command("include", "Take a cycle that was left out into the map again.")


@campaign.command()
@asking()
def rotate(
    at: Door, operator: Annotated[str, typer.Argument(help="Whose token; 'operator' is the first one.")] = "operator"
) -> None:
    """Another token for an operator, printed once; the old one stops working within a second."""
    answer = at.ask(f"/api/v1/operators/{operator}/rotate", {})
    at.say(answer, f"Token of {operator} (shown once, keep it): {answer['token']}")


@campaign.command()
@asking()
def operators(
    at: Door,
    add: Annotated[str, typer.Option(help="Name of a new operator; its token is printed once.")] = "",
    remove: Annotated[str, typer.Option(help="Name of an operator whose right ends.")] = "",
) -> None:
    """Who may operate this collector; add or remove a colleague."""
    if add and remove:
        raise InputError("Add or remove, not both.", "Say it in two commands.")
    if add:
        answer = at.ask("/api/v1/operators", {"name": add})
        at.say(answer, f"Token of {add} (shown once, keep it): {answer['token']}")
        return
    answer = at.ask(f"/api/v1/operators/{remove}/remove", {}) if remove else at.ask("/api/v1/operators")
    at.say(answer, "\n".join(one["name"] for one in answer["operators"]))


@campaign.command()
@asking()
def log(at: Door, name: Annotated[str, typer.Argument(help="Only this campaign.")] = "") -> None:
    """The audit log: who did what, oldest first."""
    answer = at.ask("/api/v1/audit" + (f"?campaign={name}" if name else ""))
    lines = []
    for one in answer["entries"]:
        when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(one["at_s"]))
        detail = " ".join(f"{key}={value}" for key, value in json_module.loads(one["detail"]).items())
        lines.append(f"{when}  {one['operator']}  {one['action']}  {one['campaign'] or ''}  {detail}".rstrip())
    at.say(answer, "\n".join(lines))


@campaign.command()
@asking()
def notify(at: Door, test: Annotated[bool, typer.Option("--test", help="Send a test notice.")] = False) -> None:
    """Send a test notice by every way the collector is set up for (webhook, e-mail)."""
    if not test:
        raise InputError("There is one thing to do here.", "Say --test to send a test notice.")
    answer = at.ask("/api/v1/notices/test", {})
    ways = ", ".join(answer["ways"]) or "nowhere: set SFUMATO_WEBHOOK_URL or SFUMATO_SMTP_URL"
    at.say(answer, f"A test notice is on its way: {ways}")


def _act(at: Door, name: str, act: str, body: Told) -> None:
    answer = at.ask(f"/api/v1/campaigns/{name}/{act}", body)
    one = answer["campaign"]
    at.say(answer, f"{one['title']} ({name}): {one['state']}, cycle {one['cycle']['number']}")


def _end_of_day_s(day: str) -> int:
    """The end of a day written like 2027-06-30, in UTC, as Unix seconds."""
    try:
        first = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError as error:
        raise InputError(f"'{day}' is no day.", "Write it like 2027-06-30.") from error
    return int(first.timestamp()) + 86_400


def _counted(reports: int | None) -> str:
    return "told to operators (SFUMATO_OPERATOR_TOKEN)" if reports is None else str(reports)


def _when(seconds: int | None) -> str:
    return "by reports" if seconds is None else time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
