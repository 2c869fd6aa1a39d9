"""``sfumato collector backup | restore | upgrade``: the database of a collector, of either kind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from sfumato.base.errors import InputError, MissingExtra
from sfumato.cli.output import AsJson, print_json

if TYPE_CHECKING:
    from sfumato.collect.service.store.backup import Held

collector = typer.Typer(no_args_is_help=True, help="Back up, restore and upgrade a collector's database.")
Database = Annotated[
    str, typer.Option(envvar="SFUMATO_DATABASE", help="sqlite:///FILE or postgresql://USER@HOST/NAME.")
]
_USUAL = "sqlite:///sfumato.db"
Done = TypeVar("Done")


def register(app: typer.Typer) -> None:
    """Add ``collector`` and its commands."""
    app.add_typer(collector, name="collector")


@collector.command()
def backup(
    to: Annotated[str, typer.Argument(help="The backup to write (one SQLite file, mode 600).")],
    database: Database = _USUAL,
    replace: Annotated[bool, typer.Option("--replace", help="Write over an older backup.")] = False,
    json: AsJson = False,
) -> None:
    """Back up the database while the collector runs. The backup holds its keys: guard it like the database."""
    held: Held = _run(lambda work: work.back_up(database, Path(to), replace=replace))
    _said(held, f"{to}: {held.campaigns} campaigns, {held.reports} reports, tables {held.revision}", json=json)


@collector.command()
def restore(
    backup: Annotated[str, typer.Argument(help="A backup of either kind of database.")],
    database: Database = _USUAL,
    json: AsJson = False,
) -> None:
    """Fill an empty database from a backup, also from SQLite to PostgreSQL or back. Never writes over one in use."""
    held: Held = _run(lambda work: work.restore(database, Path(backup)))
    _said(held, f"restored: {held.campaigns} campaigns, {held.reports} reports, tables {held.revision}", json=json)


@collector.command()
def upgrade(database: Database = _USUAL, json: AsJson = False) -> None:
    """Bring the tables to this version (serve does so too); make a backup first."""
    upgraded: tuple[str, Held] = _run(lambda work: work.upgrade(database))
    before, held = upgraded
    _said(
        held,
        f"tables {before or 'none'} -> {held.revision}: {held.campaigns} campaigns, {held.reports} reports",
        json=json,
    )


def _run(wanted: Callable[[ModuleType], Coroutine[object, object, Done]]) -> Done:
    try:
        work = import_module("sfumato.collect.service.store.backup")
    except ImportError as error:
        raise MissingExtra("sqlalchemy", "service") from error
    from_engine = import_module("sfumato.collect.service.store.engine")
    try:
        return asyncio.run(wanted(work))
    except from_engine.UNREACHABLE as error:
        found = import_module("sfumato.collect.service.store.faults").fault(error)
        raise InputError(found.what, found.advice) from error


def _said(held: Held, words: str, *, json: bool) -> None:
    if json:
        print_json({"ok": True, "campaigns": held.campaigns, "reports": held.reports, "revision": held.revision})
    else:
        typer.echo(words)
