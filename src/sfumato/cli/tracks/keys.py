"""``sfumato keys``: make a key to sign certificates with, show its words, and compare two."""

from __future__ import annotations

from pathlib import Path

import typer

from sfumato.base.errors import InputError
from sfumato.base.files import create_text, write_text
from sfumato.cli.output import AsJson, print_json
from sfumato.tracks.certificates.document import is_words, key_words
from sfumato.tracks.certificates.sign import fresh_keys, public_key_in


def register(app: typer.Typer) -> None:
    """Add ``keys`` to the app."""
    keys = typer.Typer(help="Keys that certificates are signed with: make one, show its words, compare two.")
    keys.command("make", help="Make a key: NAME.pem (private, 0600) signs, NAME.pub is for everybody.")(make)
    keys.command("show", help="The words of a key, to be read over the telephone.")(show)
    keys.command("compare", help="Are these the same key? Exit 1 if not.")(compare)
    app.add_typer(keys, name="keys", no_args_is_help=True)


def make(name: Path = typer.Argument(..., help="The files' name without its ending."), json: AsJson = False) -> None:
    """Nobody but you may read NAME.pem: whoever has it signs as you."""
    private, public = name.with_suffix(".pem"), name.with_suffix(".pub")
    secret, shown, key = fresh_keys()
    try:
        create_text(private, secret, private=True)
    except FileExistsError as error:
        raise InputError(f"{private} exists.", "Choose another name: a key is never overwritten.") from error
    write_text(public, shown)
    if json:
        print_json({"private": str(private), "public": str(public), "public_key": key, "words": key_words(key)})
        return
    typer.echo(f"{private} signs (protect --sign {private}); keep it to yourself. {public} is for whoever verifies.")
    typer.echo(f"Its words: {key_words(key)}")


def show(
    key: str = typer.Argument(..., help="A public key (PEM file or base64), or a signed certificate (JSON)."),
    json: AsJson = False,
) -> None:
    """Ask whoever signs to read theirs to you: `verify --signer` takes the words."""
    found = public_key_in(key)
    if json:
        print_json({"public_key": found, "words": key_words(found)})
        return
    typer.echo(key_words(found))


def compare(
    one: str = typer.Argument(..., help="A public key, a signed certificate, or the words of a key."),
    other: str = typer.Argument(..., help="Another."),
    json: AsJson = False,
) -> None:
    """By their words, which no two keys share."""
    words = [text.strip().lower() if is_words(text) else key_words(public_key_in(text)) for text in (one, other)]
    same = words[0].replace(" ", "-") == words[1].replace(" ", "-")
    if json:
        print_json({"same": same, "words": words})
    else:
        typer.echo("The same key." if same else f"NOT the same key: {words[0]} and {words[1]}.")
    if not same:
        raise SystemExit(1)
