"""The operator's day as commands: pause, resume, edit, end, archive, delete, exclude, include, and who may do so."""

from __future__ import annotations

import json as json_module
import time
from typing import Annotated

import typer

from sfumato.base.errors import InputError
from sfumato.cli.collect.campaign_request import HOME, Json, Name, Reason, TokenFile, Told, Url, ask, end_of_day_s
from sfumato.cli.output import print_json

Cycle = Annotated[int, typer.Argument(min=1, help="The closed cycle's number.")]


def register_day(campaign: typer.Typer) -> None:
    """Add the commands to ``sfumato campaign``."""
    for command in (
        pause,
        resume,
        edit,
        end,
        archive,
        delete,
        exclude,
        include,
        reschedule,
        rotate,
        operators,
        log,
        notify,
    ):
        campaign.command()(command)


def pause(name: Name, reason: Reason = "", url: Url = HOME, token_file: TokenFile = "", json: Json = False) -> None:
    """Take no reports until resumed; devices keep theirs and send them later."""
    _act(url, name, "pause", {"reason": reason}, token_file, json)


def resume(name: Name, reason: Reason = "", url: Url = HOME, token_file: TokenFile = "", json: Json = False) -> None:
    """Take reports again; the open cycle is due as much later as the pause lasted."""
    _act(url, name, "resume", {"reason": reason}, token_file, json)


def edit(
    name: Name,
    title: Annotated[str | None, typer.Option(help="Another title.")] = None,
    question: Annotated[str | None, typer.Option(help="What people are asked, in one sentence.")] = None,
    description: Annotated[str | None, typer.Option(help="What it is for, shown on its page.")] = None,
    organiser: Annotated[str | None, typer.Option(help="Who is responsible for it, by name.")] = None,
    contact: Annotated[str | None, typer.Option(help="Whom to ask, shown on its page.")] = None,
    language: Annotated[str | None, typer.Option(help="Of its pages: en, fr, de or es; empty: the reader's.")] = None,
    ends: Annotated[str | None, typer.Option(help="The day it ends by itself (2027-06-30), or never.")] = None,
    url: Url = HOME,
    token_file: TokenFile = "",
    json: Json = False,
) -> None:
    """Change what is said about a campaign. What it promises never changes."""
    texts = {
        "title": title,
        "question": question,
        "description": description,
        "organiser": organiser,
        "contact": contact,
        "language": language,
        "ends_at_s": None if ends is None else 0 if ends == "never" else end_of_day_s(ends),
    }
    _act(url, name, "texts", {key: value for key, value in texts.items() if value is not None}, token_file, json)


def end(name: Name, reason: Reason = "", url: Url = HOME, token_file: TokenFile = "", json: Json = False) -> None:
    """Never take another report. The open cycle is published if it may be; otherwise it never is."""
    answer = ask(url, f"/api/v1/campaigns/{name}/end", body={"reason": reason}, token_file=token_file)
    last = (
        "its last cycle is published" if answer["published"] else f"its last cycle is not published: {answer['reason']}"
    )
    _said(answer, f"{name} has ended; {last}", json=json)


def archive(name: Name, reason: Reason = "", url: Url = HOME, token_file: TokenFile = "", json: Json = False) -> None:
    """Take an ended campaign out of the lists; its pages and files stay."""
    _act(url, name, "archive", {"reason": reason}, token_file, json)


def delete(
    name: Name,
    confirm: Annotated[str, typer.Option(help="The campaign's name again.")],
    url: Url = HOME,
    token_file: TokenFile = "",
    json: Json = False,
) -> None:
    """Delete everything of a campaign that takes no reports. Backups keep what they hold; the name is never reused."""
    answer = ask(url, f"/api/v1/campaigns/{name}/delete", body={"confirm": confirm}, token_file=token_file)
    _said(answer, f"{name} is deleted. Backups made before still hold it: delete those too.", json=json)


def exclude(
    name: Name, cycle: Cycle, reason: Reason = "", url: Url = HOME, token_file: TokenFile = "", json: Json = False
) -> None:
    """Leave a closed cycle out of the map, which is estimated again without it."""
    _leave_out(url, name, cycle, "exclude", reason, token_file, json)


def include(
    name: Name, cycle: Cycle, reason: Reason = "", url: Url = HOME, token_file: TokenFile = "", json: Json = False
) -> None:
    """Take a cycle that was left out into the map again."""
    _leave_out(url, name, cycle, "include", reason, token_file, json)


def reschedule(
    name: Name, reason: Reason = "", url: Url = HOME, token_file: TokenFile = "", json: Json = False
) -> None:
    """Begin the open cycle's time again now, by the machine's clock: the way out after a clock was wrong."""
    _act(url, name, "reschedule", {"reason": reason}, token_file, json)


def rotate(
    operator: Annotated[str, typer.Argument(help="Whose token; 'operator' is the first one.")] = "operator",
    url: Url = HOME,
    token_file: TokenFile = "",
    json: Json = False,
) -> None:
    """Another token for an operator, printed once; the old one stops working within a second."""
    answer = ask(url, f"/api/v1/operators/{operator}/rotate", body={}, token_file=token_file)
    _said(answer, f"Token of {operator} (shown once, keep it): {answer['token']}", json=json)


def operators(
    add: Annotated[str, typer.Option(help="Name of a new operator; its token is printed once.")] = "",
    remove: Annotated[str, typer.Option(help="Name of an operator whose right ends.")] = "",
    url: Url = HOME,
    token_file: TokenFile = "",
    json: Json = False,
) -> None:
    """Who may operate this collector; add or remove a colleague."""
    if add and remove:
        raise InputError("Add or remove, not both.", "Say it in two commands.")
    if add:
        answer = ask(url, "/api/v1/operators", body={"name": add}, token_file=token_file)
        _said(answer, f"Token of {add} (shown once, keep it): {answer['token']}", json=json)
        return
    if remove:
        answer = ask(url, f"/api/v1/operators/{remove}/remove", body={}, token_file=token_file)
    else:
        answer = ask(url, "/api/v1/operators", token_file=token_file)
    _said(answer, "\n".join(one["name"] for one in answer["operators"]), json=json)


def log(
    name: Annotated[str, typer.Argument(help="Only this campaign.")] = "",
    url: Url = HOME,
    token_file: TokenFile = "",
    json: Json = False,
) -> None:
    """The audit log: who did what, oldest first."""
    answer = ask(url, "/api/v1/audit" + (f"?campaign={name}" if name else ""), token_file=token_file)
    lines = []
    for one in answer["entries"]:
        when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(one["at_s"]))
        detail = " ".join(f"{key}={value}" for key, value in json_module.loads(one["detail"]).items())
        lines.append(f"{when}  {one['operator']}  {one['action']}  {one['campaign'] or ''}  {detail}".rstrip())
    _said(answer, "\n".join(lines), json=json)


def notify(
    test: Annotated[bool, typer.Option("--test", help="Send a test notice.")] = False,
    url: Url = HOME,
    token_file: TokenFile = "",
    json: Json = False,
) -> None:
    """Send a test notice by every way the collector is set up for (webhook, e-mail)."""
    if not test:
        raise InputError("There is one thing to do here.", "Say --test to send a test notice.")
    answer = ask(url, "/api/v1/notices/test", body={}, token_file=token_file)
    ways = ", ".join(answer["ways"]) or "nowhere: set SFUMATO_WEBHOOK_URL or SFUMATO_SMTP_URL"
    _said(answer, f"A test notice is on its way: {ways}", json=json)


def _act(url: str, name: str, act: str, body: Told, token_file: str, json: bool) -> None:
    answer = ask(url, f"/api/v1/campaigns/{name}/{act}", body=body, token_file=token_file)
    one = answer["campaign"]
    _said(answer, f"{one['title']} ({name}): {one['state']}, cycle {one['cycle']['number']}", json=json)


def _leave_out(url: str, name: str, cycle: int, act: str, reason: str, token_file: str, json: bool) -> None:
    path = f"/api/v1/campaigns/{name}/cycles/{cycle}/{act}"
    answer = ask(url, path, body={"reason": reason}, token_file=token_file)
    out = ", ".join(map(str, answer["excluded"])) or "none"
    _said(answer, f"cycles left out: {out}; the map of cycle {answer['revised_cycle']} was estimated again", json=json)


def _said(answer: Told, words: str, *, json: bool) -> None:
    if json:
        print_json(answer)
    else:
        typer.echo(words)
