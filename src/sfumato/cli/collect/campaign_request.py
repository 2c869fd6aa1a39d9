"""How operators' commands ask a collector: one request with the operator's token, one answer or one sentence."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from sfumato.base.errors import InputError

Url = Annotated[str, typer.Option(envvar="SFUMATO_URL", help="The collector's address.")]
TokenFile = Annotated[
    str,
    typer.Option(
        "--token-file",
        envvar="SFUMATO_TOKEN_FILE",
        help="File with the operator's token; otherwise the variable SFUMATO_OPERATOR_TOKEN is read.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")]
Name = Annotated[str, typer.Argument(help="The campaign's name.")]
Reason = Annotated[str, typer.Option(help="Why, for the audit log.")]
Told = dict[str, Any]
HOME = "http://127.0.0.1:8000"
_WITHIN_S = 600


def ask(url: str, path: str, *, body: Told | None = None, token_file: str = "", operator: bool = True) -> Told:
    """The collector's answer; POST if there is a body. A refusal is an error with the collector's own words."""
    content = request(url, path, body=body, token_file=token_file, operator=operator)
    try:
        answer = json.loads(content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise InputError(f"{url} does not answer like a collector.", "Check --url.")
    return answer


def request(url: str, path: str, *, body: Told | None = None, token_file: str = "", operator: bool = True) -> bytes:
    """The same as bytes, for files."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise InputError("The collector's address is not an http or https URL.", "Write it like https://map.example.")
    headers = {"user-agent": "sfumato", "accept": "application/json"}
    if operator:
        headers["authorization"] = f"Bearer {_token(token_file)}"
    data = None
    if body is not None:
        data = json.dumps(body).encode("utf-8")
        headers["content-type"] = "application/json"
    asked = urllib.request.Request(f"{url.rstrip('/')}{path}", data=data, headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=_WITHIN_S) as reply:
            content: bytes = reply.read()
            return content
    except urllib.error.HTTPError as error:
        raise _refusal(error) from error
    except OSError as error:
        raise InputError(f"No collector answers at {url}.", "Is it running? Check --url.") from error


def end_of_day_s(day: str) -> int:
    """The end of a day written like 2027-06-30, in UTC, as Unix seconds."""
    try:
        first = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError as error:
        raise InputError(f"'{day}' is no day.", "Write it like 2027-06-30.") from error
    return int(first.timestamp()) + 86_400


def _refusal(error: urllib.error.HTTPError) -> InputError:
    try:
        told = json.loads(error.read())
        details = [line for line in told["errors"] if line != told["error"]]
        words = " ".join([str(told["error"]), *details])
    except (ValueError, KeyError, TypeError):
        words = str(error.reason)
    return InputError(f"The collector answered {error.code}: {words}")


def _token(token_file: str) -> str:
    if token_file:
        try:
            return Path(token_file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise InputError(f"The token's file {token_file} cannot be read.", "Check --token-file.") from error
    token = os.environ.get("SFUMATO_OPERATOR_TOKEN", "")
    if not token:
        raise InputError("This needs the operator's token.", "Set SFUMATO_OPERATOR_TOKEN, or say --token-file FILE.")
    return token
