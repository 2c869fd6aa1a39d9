"""``sfumato live``: share where you are, blurred, delayed or by zone, with the people you choose."""

from __future__ import annotations

import secrets
import sys
import time
from importlib import import_module
from pathlib import Path

import typer

from sfumato.base.errors import InputError, MissingExtra
from sfumato.base.units import count_of, duration_s, format_duration
from sfumato.cli.output import AsJson, print_json
from sfumato.cli.tracks.archive_faces import passphrase_in
from sfumato.tracks.live.audiences import LiveConfig, load_config, token_hash
from sfumato.tracks.live.bridge import Bridge
from sfumato.tracks.live.pipe import run_pipe
from sfumato.tracks.live.promises import COPIED, EXAMPLE, audience_words, cost_rows, earlier_words, promise_words
from sfumato.tracks.live.store import STORE_FILE, LiveStore, live_key

_LONGEST_LINK_S = 31_557_600.0
_CONFIG = typer.Argument(..., metavar="CONFIG", help="The TOML file that names audiences (`sfumato live example`).")
_PASSPHRASE = typer.Option(None, help="Open sealed places files with the passphrase in this file.")
_AUDIENCE = typer.Argument(..., help="An audience of the file.")
_PERSON = typer.Option("me", help="Whose positions.")


def register(app: typer.Typer) -> None:
    """Add ``live`` to the app."""
    live = typer.Typer(help="Share where you are, blurred, delayed or by zone, with the people you choose.")
    for command, words in (
        (example, "Print a file to begin with."),
        (check, "Say who sees what, when and until when, and what a year of it costs."),
        (token, "Make a token for a device or an audience."),
        (run, "Serve: phones post, audiences read. Needs the extra [live]."),
        (pipe, "Positions as lines of JSON on stdin, what audiences see on stdout."),
        (link, "Make a link to a page with one person's circle; it ends by itself."),
        (revoke, "End links at once."),
        (pause, "From now on nothing leaves for an audience."),
        (forget, "Delete what was kept for an audience."),
    ):
        live.command(command.__name__, help=words)(command)
    app.add_typer(live, name="live", no_args_is_help=True)


def _say(words: str, *, json: bool, **values: object) -> None:
    if json:
        print_json({"ok": True, **values})
    else:
        typer.echo(words)


def example(json: AsJson = False) -> None:
    """A file to begin with, on stdout."""
    _say(EXAMPLE.rstrip("\n"), json=json, toml=EXAMPLE)


def check(config: Path = _CONFIG, json: AsJson = False) -> None:
    """Nothing is changed or sent."""
    asked = load_config(config)
    audiences, promises = [audience_words(one, asked) for one in asked.audiences], promise_words(asked)
    if (asked.folder / STORE_FILE).exists():
        store = LiveStore(asked.folder, live_key(asked.folder))
        promises += [*([COPIED] if store.is_copy else []), *earlier_words(store.processes(), asked.chain)]
        paused = [name for name, spans in store.pauses().items() if any(until is None for _, until in spans)]
        promises += [f"{name} is PAUSED (`sfumato live pause {config} {name} --end` ends it)." for name in paused]
        for name, (count, until_ms) in store.links(int(1000 * time.time())).items():
            last = format_duration(until_ms / 1000.0 - time.time())
            promises.append(f"{count_of(count, 'link')} of {name} open, the last for {last}.")
        for name, (count, since_ms) in store.waiting(int(1000 * time.time())).items():
            age = format_duration(time.time() - since_ms / 1000.0)
            promises.append(f"{count_of(count, 'position')} to be sent on to {name} did not arrive yet, one for {age}.")
        for name, what, status, count, last_ms in store.refusals():
            age = format_duration(time.time() - last_ms / 1000.0)
            said = f"{count_of(count, 'position')} of {name} set aside: its {what} server answered {status}"
            promises.append(f"{said}, the last {age} ago. They are not sent again.")
        if left := len(store.kept_topics()):
            promises.append(
                f"{count_of(left, 'retained message')} of the broker not taken back yet: let the bridge run."
            )
        store.close()
    costs = cost_rows(asked)
    if json:
        rows = [{"what": what, "odds": odds} for what, odds in costs]
        print_json({"ok": True, "audiences": audiences, "promises": promises, "year": rows})
        return
    for line in (*audiences, "", *promises):
        typer.echo(line)
    if costs:
        typer.echo("\nNot covered: odds between two places 200 m apart, 99 in 100, for the finest blurred audience:")
        for what, odds in costs:
            typer.echo(f"  {what:<56}{odds}")


def token(json: AsJson = False) -> None:
    """The token goes into the phone or to the audience, its hash into the file."""
    made = secrets.token_urlsafe(32)
    said = f"token (shown once): {made}\nin the file:        {token_hash(made)}"
    _say(said, json=json, token=made, hash=token_hash(made))


def run(
    config: Path = _CONFIG,
    host: str = typer.Option("127.0.0.1", help="The address to listen on; put a proxy with TLS in front."),
    port: int = typer.Option(8077, help="The port to listen on."),
    receiver: str | None = typer.Option(None, help="Read a receiver, too: anna@localhost:2947 (gpsd, or NMEA by TCP)."),
    passphrase_file: Path | None = _PASSPHRASE,
    json: AsJson = False,
) -> None:
    """No request, position or name is ever logged. SIGTERM stops it; killed at any moment it goes on where it was."""
    asked = load_config(config)
    try:
        serve = import_module("sfumato.tracks.live.doors.always_on").serve
    except ImportError as error:
        raise MissingExtra(error.name or "starlette", "live") from error
    _say(f"http://{host}:{port}", json=json, url=f"http://{host}:{port}")
    serve(asked, host=host, port=port, passphrase=passphrase_in(passphrase_file), receiver=_receiver(receiver))


def _receiver(text: str | None) -> tuple[str, str, int] | None:
    if text is None:
        return None
    person, _, where = text.partition("@")
    host, _, port = where.rpartition(":")
    if not (person and host and port.isdigit()):
        raise InputError("That is no receiver.", "Write it like anna@localhost:2947.")
    return person, host, int(port)


def pipe(
    config: Path = _CONFIG,
    person: str = _PERSON,
    durable: bool = typer.Option(False, "--durable", help="On the disk before each answer: survives a power cut, too."),
    passphrase_file: Path | None = _PASSPHRASE,
    json: bool = typer.Option(True, "--json", help="Lines are JSON with or without it."),
) -> None:
    """{"lat": 48.85, "lon": 2.35, "time": 1790000000} in; one line for every audience that may see it out."""
    bridge = _bridge(load_config(config), passphrase_file, durable=durable)

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    run_pipe(bridge, sys.stdin.fileno(), write, person=person)


def link(
    config: Path = _CONFIG,
    audience: str = _AUDIENCE,
    person: str = _PERSON,
    lasts: str = typer.Option("24h", "--for", help="After this it is gone, e.g. 8h or 1week."),
    json: AsJson = False,
) -> None:
    """What the link shows is what the audience sees; whoever has it sees it."""
    asked = load_config(config)
    one, lasts_s = asked.audience(audience), duration_s(lasts)
    if not one.sees_person(person) or one.sees == "nothing":
        raise InputError(f"{audience} sees nothing of {person}.", "Name whom it sees in the file.")
    if not 60.0 <= lasts_s <= _LONGEST_LINK_S:
        raise InputError("A link lasts from a minute to a year.", "Say --for 24h.")
    made = secrets.token_urlsafe(32)
    _store(asked).add_link(token_hash(made), audience, person, int(1000 * (time.time() + lasts_s)))
    made = f"{asked.url or 'http://127.0.0.1:8077'}/s/{made}"
    _say(made, json=json, link=made, lasts_s=lasts_s)


def revoke(
    config: Path = _CONFIG,
    audience: str = _AUDIENCE,
    link: str | None = typer.Option(None, help="Only this link; else all of the audience."),
    json: AsJson = False,
) -> None:
    """Whoever opens them then gets 404."""
    asked = load_config(config)
    whose, store = asked.audience(audience), _store(asked)
    gone = store.revoke(whose.name, link and token_hash(link.rstrip("/").rsplit("/", 1)[-1]))
    _say(f"{count_of(gone, 'link')} ended.", json=json, ended=gone)


def pause(
    config: Path = _CONFIG,
    audience: str = _AUDIENCE,
    end: bool = typer.Option(False, "--end", help="End the pause."),
    json: AsJson = False,
) -> None:
    """What is measured meanwhile is never shown to it."""
    asked = load_config(config)
    store, name, now_ms = _store(asked), asked.audience(audience).name, int(1000 * time.time())
    if end:
        store.end_pause(name, now_ms)
    else:
        store.pause(name, now_ms)
    said = f"{audience} sees again what is measured from now on." if end else f"Nothing leaves for {audience}."
    _say(said, json=json, audience=audience, paused=not end)


def forget(
    config: Path = _CONFIG,
    audience: str = _AUDIENCE,
    person: str | None = typer.Option(None, help="Only this person's; else everybody's."),
    json: AsJson = False,
) -> None:
    """What was sent elsewhere cannot be taken back."""
    asked = load_config(config)
    one = asked.audience(audience)
    gone, kept = _store(asked).forget(one.name, person), sorted({to.partition(":")[0] for to in one.send})
    at = "".join(
        " The broker's retained message goes while the bridge runs."
        if kind == "mqtt"
        else f" What its {kind} server has stays there."
        for kind in kept
    )
    _say(f"{count_of(gone, 'position')} deleted.{at}", json=json, deleted=gone, receivers=kept)


def _store(asked: LiveConfig) -> LiveStore:
    store = LiveStore(asked.folder, live_key(asked.folder))
    store.open_or_close(asked.names)
    return store


def _bridge(asked: LiveConfig, passphrase_file: Path | None, *, durable: bool) -> Bridge:
    key = live_key(asked.folder)
    store = LiveStore(asked.folder, key, durable=durable)
    return Bridge(asked, key, store, passphrase=passphrase_in(passphrase_file), piped=True)
