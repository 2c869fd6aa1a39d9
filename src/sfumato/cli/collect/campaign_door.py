"""How operators' commands ask a collector: one request with the operator's token, one answer or one sentence."""

from __future__ import annotations

import inspect
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from sfumato.base.errors import InputError
from sfumato.cli.output import AsJson, print_json

_WHERE = "Which collector"
Url = Annotated[str, typer.Option(envvar="SFUMATO_URL", help="The collector's address.", rich_help_panel=_WHERE)]
TokenFile = Annotated[
    str,
    typer.Option(
        envvar="SFUMATO_TOKEN_FILE",
        help="File with the operator's token; otherwise the variable SFUMATO_OPERATOR_TOKEN is read.",
        rich_help_panel=_WHERE,
    ),
]
Told = dict[str, Any]
HOME = "http://127.0.0.1:8000"
_WITHIN_S = 600


@dataclass(frozen=True, slots=True)
class Door:
    """A collector as one command sees it: its address, the file of the token, and how the answer is printed."""

    url: str = HOME
    json: bool = False
    token_file: str | None = None
    """None: what anybody may read, and operators in more detail."""

    def address(self, path: str) -> str:
        """The address of a path, as people type it."""
        return f"{self.url.rstrip('/')}{path}"

    def ask(self, path: str, body: Told | None = None) -> Told:
        """The answer; POST if there is a body. A refusal is an error with the collector's own words."""
        content = self.content(path, body)
        try:
            answer = json.loads(content)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise InputError(f"{self.url} does not answer like a collector.", "Check --url.")
        return answer

    def content(self, path: str, body: Told | None = None) -> bytes:
        """The same as bytes, for files."""
        if urlsplit(self.url).scheme not in ("http", "https"):
            advice = "Write it like https://map.example."
            raise InputError("The collector's address is not an http or https URL.", advice)
        headers = {"user-agent": "sfumato", "accept": "application/json"}
        token = (
            os.environ.get("SFUMATO_OPERATOR_TOKEN", "")
            if self.token_file is None
            else operators_token(self.token_file)
        )
        if token:
            headers["authorization"] = f"Bearer {token}"
        data = None
        if body is not None:
            data = json.dumps(body).encode("utf-8")
            headers["content-type"] = "application/json"
        try:
            asked = urllib.request.Request(self.address(path), data=data, headers=headers)
            with urllib.request.urlopen(asked, timeout=_WITHIN_S) as reply:
                content: bytes = reply.read()
                return content
        except urllib.error.HTTPError as error:
            raise _refusal(error) from error
        except OSError as error:
            raise InputError(f"No collector answers at {self.url}.", "Is it running? Check --url.") from error

    def say(self, answer: Told, words: str) -> None:
        """Print the answer, as JSON or in words."""
        if self.json:
            print_json(answer)
        else:
            typer.echo(words)


def text_option(words: str) -> object:
    """An option of what people read, left out as None."""
    return Annotated[str | None, typer.Option(help=words, rich_help_panel="What people read")]


def asking(
    *, operator: bool = True, texts: Mapping[str, object] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command whose first argument is a :class:`Door`: ``--url``, ``--token-file`` (operators) and ``--json``.

    With ``texts``, options by name, its second is what was given for each.
    """
    words = dict(texts or {})

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        known = inspect.signature(command, eval_str=True)
        added = {"url": (Url, HOME), **({"token_file": (TokenFile, "")} if operator else {}), "json": (AsJson, False)}
        every = {**{name: (kind, None) for name, kind in words.items()}, **added}
        kind = inspect.Parameter.KEYWORD_ONLY
        options = [inspect.Parameter(name, kind, default=one[1], annotation=one[0]) for name, one in every.items()]

        @wraps(command)
        def run(*arguments: Any, **given: Any) -> None:
            door, said = ({name: given.pop(name) for name in names} for names in (added, words))
            command(Door(**door), *([said] if words else []), *arguments, **given)

        run.__signature__ = known.replace(parameters=[*list(known.parameters.values())[2 if words else 1 :], *options])  # type: ignore[attr-defined]
        return run

    return decorate


def _refusal(error: urllib.error.HTTPError) -> InputError:
    try:
        told = json.loads(error.read())
        details = [line for line in told["errors"] if line != told["error"]]
        words = " ".join([str(told["error"]), *details])
    except (ValueError, KeyError, TypeError):
        words = str(error.reason)
    return InputError(f"The collector answered {error.code}: {words}")


def operators_token(token_file: str) -> str:
    """The operator's token, from its file or from the environment."""
    if token_file:
        try:
            return Path(token_file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise InputError(f"The token's file {token_file} cannot be read.", "Check --token-file.") from error
    token = os.environ.get("SFUMATO_OPERATOR_TOKEN", "")
    if not token:
        raise InputError("This needs the operator's token.", "Set SFUMATO_OPERATOR_TOKEN, or say --token-file FILE.")
    return token
