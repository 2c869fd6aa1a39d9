"""``sfumato client log``: is everybody shown the same log? ``sfumato client ledger``: what did your devices spend?"""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from rich.table import Table

from sfumato.accountant.device import Device
from sfumato.accountant.device_memory import LogHead
from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.files import write_text
from sfumato.base.units import count_of
from sfumato.cli.output import AsJson, print_json, table_console
from sfumato.collect.client.device_ledger import (
    ledger_of,
    read_ledger,
    sums,
    take_in,
    together,
    total,
    total_in_words,
    write_ledger,
)
from sfumato.collect.client.participant import Participant, witness_document
from sfumato.collect.client.public_log import SplitView, check_extends, head_at, head_words, heads_in

client = typer.Typer(
    no_args_is_help=True, help="What a participant checks: the public log of a campaign, and what devices spent."
)
log = typer.Typer(no_args_is_help=True, help="The public log of the channels a campaign published.")
ledger = typer.Typer(no_args_is_help=True, help="What your devices spent, of one budget for all collectors.")
client.add_typer(log, name="log")
client.add_typer(ledger, name="ledger")
Where = Annotated[str, typer.Option("--device", help="This device's file; left out: the one in your state folder.")]
Campaign = Annotated[str, typer.Argument(help="The campaign's page, for example https://map.example/campaigns/paris.")]
Log = list[dict[str, object]]


def register(app: typer.Typer) -> None:
    """Add ``client`` and its commands."""
    app.add_typer(client, name="client")


@log.command()
def head(
    page: Campaign,
    words: Annotated[str, typer.Argument(help="Words of a poster, a page or a friend: are they in this log?")] = "",
    output: Annotated[str, typer.Option("--output", "-o", help="Add the head to this file, to republish it.")] = "",
    json: AsJson = False,
) -> None:
    """The head of a campaign's log in words; with WORDS whether the log goes through them (exit 1 if not)."""
    person = _participant(page)
    offer, entries = person.public_log()
    last = head_at(entries, -1, public_key=offer.public_key)
    passed = [place for place, one in enumerate(entries) if head_words(str(one["entry"])) == words.strip().lower()]
    if output:
        _keep(Path(output), last)
    if json:
        known = None if not words else bool(passed)
        print_json({"ok": known is not False, **last, "words": head_words(last["entry"]), "goes_through": known})
    elif passed:
        typer.echo(f"The log goes through them: entry {passed[0]} of {len(entries)}.")
    else:
        typer.echo(f"entry {last['index']}: {head_words(last['entry'])}")
    if words and not passed:
        typer.echo("These words are not in the log that this server shows: compare the logs themselves.", err=True)
        raise typer.Exit(1)


@log.command()
def compare(
    page: Campaign,
    other: Annotated[str, typer.Argument(help="Another address of the same page, or heads: an address or a file.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Where the proof is kept.")] = "split-view.json",
    json: AsJson = False,
) -> None:
    """Compare a campaign's log with what somebody else sees. Exit 1 where they part, with the proof in a file."""
    offer, entries = _participant(page).public_log()
    key = offer.public_key
    try:
        if "/campaigns/" in other and other.startswith(("http://", "https://")):
            theirs, seen = _participant(other).public_log()
            if theirs.public_key != key:
                raise VerificationFailed("The two addresses sign with different keys.", "They are two servers.")
            for place in range(min(len(entries), len(seen))):
                check_extends(entries, head_at(seen, place, public_key=key), whose="The other address")
            shared = min(len(entries), len(seen))
        else:
            heads = list(heads_in(witness_document(other), campaign=offer.campaign, public_key=key))
            if not heads:
                raise InputError("There is no head of this campaign's log there.", "Name another address or file.")
            for one in heads:
                check_extends(entries, one, whose="Somebody else")
            shared = 1 + max(one["index"] for one in heads)
    except SplitView as split:
        write_text(output, json_module.dumps({"heads": split.heads}, indent=2) + "\n")
        if json:
            print_json({"ok": False, "parts_at": split.heads[0]["index"], "heads": split.heads, "proof": output})
        else:
            typer.echo(f"{split.what}\nThe proof, two heads signed by one key: {output}", err=True)
        raise typer.Exit(1) from split
    if json:
        print_json({"ok": True, "shared_entries": shared})
    else:
        typer.echo(f"One log: the first {shared} entries are the same.")


@ledger.command()
def show(
    files: Annotated[list[str] | None, typer.Argument(help="Exported ledgers; none: this device's own.")] = None,
    device: Where = "",
    json: AsJson = False,
) -> None:
    """What was spent, by collector and campaign, and all together in the words of a privacy notice."""
    found = together([read_ledger(one) for one in files]) if files else ledger_of(_device(device))
    epsilon, delta = total(found)
    if json:
        each = [
            {"server": server, "about": about, "entries": count, "epsilon_per_km": spent}
            for (server, about), (count, spent) in sums(found).items()
        ]
        words = total_in_words(found)
        print_json({"ok": True, "epsilon_per_km": epsilon, "delta": delta, "words": words, "campaigns": each})
        return
    table = Table("collector", "campaign", "entries", "epsilon per km")
    for (server, about), (count, spent) in sums(found).items():
        table.add_row(server or "–", about, str(count), f"{spent:.4g}")
    table_console().print(table)
    typer.echo(total_in_words(found))
    if not files:
        budget = _device(device).budget()
        typer.echo(f"Budget: {budget.spent_per_km:.4g} of {budget.cap_per_km:g} per km spent.")


@ledger.command("export")
def export_ledger(
    output: Annotated[str, typer.Option("--output", "-o", help="File to write (mode 600).")],
    device: Where = "",
    json: AsJson = False,
) -> None:
    """Write this device's ledger for another device: what was spent where, no report, no place and no secret."""
    found = ledger_of(_device(device))
    write_ledger(output, found)
    if json:
        print_json({"ok": True, "output": output, "entries": len(found["entries"])})
    else:
        typer.echo(f"{output}: {count_of(len(found['entries']), 'entry', 'entries')}. {total_in_words(found)}")


@ledger.command()
def merge(
    files: Annotated[
        list[str], typer.Argument(help="Ledgers that other devices, or a lost copy of this one, exported.")
    ],
    device: Where = "",
    json: AsJson = False,
) -> None:
    """Enter into this device what others spent: one budget for all. Merging twice counts once."""
    here = _device(device)
    count = take_in(here, [read_ledger(one) for one in files])
    budget = here.budget()
    if json:
        print_json({"ok": True, "new": count, "spent_per_km": budget.spent_per_km, "cap_per_km": budget.cap_per_km})
        return
    new = count_of(count, "new entry", "new entries")
    typer.echo(f"{new}. Budget: {budget.spent_per_km:.4g} of {budget.cap_per_km:g} per km spent.")
    if budget.left_per_km == 0:
        typer.echo("This device sends nothing more: together the cap is reached.")


def _device(path: str) -> Device:
    found = Device(path or None)
    if found.is_new:
        raise InputError(f"There is no device's memory at {found.path}.", "Name it: --device FILE.")
    return found


def _participant(page: str) -> Participant:
    parts = urlsplit(page)
    home, _, rest = page.partition("/campaigns/")
    name = rest.partition("/")[0].partition("?")[0]
    if parts.scheme not in ("http", "https") or not name:
        raise InputError(f"{page} is not a campaign's page.", "Write it like https://map.example/campaigns/paris.")
    return Participant(home, name)


def _keep(path: Path, last: LogHead) -> None:
    """Add a head to a file of heads, in the place of an older one of the same log."""
    found = witness_document(str(path)) if path.exists() else {"heads": []}
    kept = found.get("heads") if isinstance(found, dict) else None
    if not isinstance(kept, list):
        raise InputError(f"{path.name} is no file of heads.", "Name another file.")
    same = (last["campaign"], last["public_key"])
    others = [one for one in kept if (one.get("campaign"), one.get("public_key")) != same]
    write_text(path, json_module.dumps({"heads": [*others, last]}, indent=2) + "\n")
