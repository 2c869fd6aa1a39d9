"""``sfumato serve``: run the collector."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import typer

from sfumato.base.errors import InputError, MissingExtra
from sfumato.cli.output import print_json

_SERVING = "sfumato.collect.service.listening"
_CHECKING = "sfumato.collect.service.start_check"


def register(app: typer.Typer) -> None:
    """Add ``serve``."""
    app.command()(serve)


def serve(
    host: str = typer.Option("127.0.0.1", help="Address to listen on; put TLS in front before leaving this machine."),
    port: int = typer.Option(8000, min=0, max=65535, help="Port to listen on."),
    database: str = typer.Option(
        None, help="sqlite:///FILE or postgresql://USER@HOST/NAME.  [default: sqlite:///sfumato.db]", show_default=False
    ),
    city: str = typer.Option(
        None,
        help="Demonstration campaign of an empty database: paris, sf or none.  [default: paris]",
        show_default=False,
    ),
    token_file: str = typer.Option(
        None, help="Write the operator's token to this file (mode 600) instead of printing it.", show_default=False
    ),
    trusted_proxy: list[str] = typer.Option(
        None,
        help="Network of a proxy in front (CIDR), whose X-Forwarded-For names the visitor; may be repeated."
        "  [default: 127.0.0.1 and ::1]",
        show_default=False,
    ),
    tiles: str = typer.Option(
        None, help="A PMTiles file with the streets under the maps; none are fetched elsewhere.", show_default=False
    ),
    outline: str = typer.Option(None, help="A GeoJSON file with the city's outline.", show_default=False),
    workers: int = typer.Option(1, min=1, max=64, help="Processes that share the port and the database."),
    check: bool = typer.Option(
        False,
        "--check",
        help="Look at settings, database, tables, durability, clock, file modes, token and bundle, change nothing, and "
        "exit 1 if anything would go wrong.",
    ),
    json: bool = typer.Option(False, "--json", help="Print the address (or the checks) as one JSON object."),
) -> None:
    """Run a collector: its page at /, its contract at /openapi.json. Needs no setting.

    At the first start it makes its keys and prints the operator's token once. Every setting of docs/deploy.md can be
    given as an environment variable SFUMATO_NAME. SIGTERM stops it within 10 seconds with nothing lost.
    """
    if sys.platform == "win32":
        raise InputError("The collector does not run on Windows.", "Run it on Linux or macOS, or in a container.")
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtra("fastapi", "service") from error
    given = (
        ("DATABASE", database),
        ("CITY", city),
        ("OPERATOR_TOKEN_FILE", token_file),
        ("TILES", tiles),
        ("OUTLINE", outline),
        ("TRUSTED_PROXIES", ",".join(trusted_proxy) if trusted_proxy else None),
    )
    for name, value in given:
        if value is not None:
            os.environ[f"SFUMATO_{name}"] = value
    if check:
        _check(json=json)
        return
    import_module(_SERVING).serve(host=host, port=port, workers=workers, announce=lambda url: _announce(url, json=json))


def _check(*, json: bool) -> None:
    found = import_module(_CHECKING).checks()
    fine = all(one.ok for one in found)
    if json:
        told = [{"name": one.name, "ok": one.ok, "found": one.found, "advice": one.advice} for one in found]
        print_json({"ok": fine, "checks": told})
    else:
        for one in found:
            typer.echo(f"{'ok  ' if one.ok else 'FAIL'} {one.name}: {one.found}")
            if one.advice:
                typer.echo(f"       {one.advice}")
    if not fine:
        raise typer.Exit(1)


def _announce(url: str, *, json: bool) -> None:
    if json:
        print_json({"ok": True, "url": url, "operate": f"{url}operate", "openapi": f"{url}openapi.json"})
    else:
        more = f"operate it: {url}operate; contract: {url}openapi.json"
        typer.echo(f"Collector at {url} ({more}). Stop it with Ctrl-C.", err=True)
