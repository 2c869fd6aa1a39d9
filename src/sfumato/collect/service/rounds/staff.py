"""Operators: their tokens, kept as hashes and compared in constant time, and what they are told.

A token that was rotated or taken away stops opening the door within a second on every server of the database. A signed
webhook and an e-mail say that a cycle raised the alarm or a campaign ended: only what the dashboard shows everybody. A
notice is kept in the database until delivered and tried again after longer and longer pauses; the receiver knows a
repetition by its delivery number.

    x-sfumato-signature: t=<unix seconds>,v1=<HMAC-SHA256(webhook_secret, "<t>.<body>") in hex>
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import http.client
import json
import logging
import secrets
import smtplib
import ssl
import time
from collections.abc import Callable
from email.message import EmailMessage
from typing import Literal
from urllib.parse import unquote, urlsplit

from sfumato.base.errors import InputError
from sfumato.collect.service.sentences import in_language
from sfumato.collect.service.settings import LOOPBACK, Settings
from sfumato.collect.service.store.operations import Deed, Notice
from sfumato.collect.service.store.store import Store

FIRST = "operator"
FIRST_SECRET = "operator_token_sha256"
_LOOK_AGAIN_S = 1.0
LEAST_LENGTH = 32
_log = logging.getLogger("sfumato.collect.service")
PAUSES_S = (30.0, 60.0, 120.0, 300.0, 900.0, 1800.0, 3600.0, 10_800.0, 21_600.0, 43_200.0)
_WITHIN_S = 10.0
Event = Literal["alarm", "end", "test"]


def token_hash(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


class Operators:
    """Who may operate this collector."""

    def __init__(self, store: Store, settings: Settings, *, now: Callable[[], float]) -> None:
        self._store = store
        self._chosen = settings.text("operator_token")
        self._now = now
        self._hashes: dict[str, bytes] = {}
        self._look_again_at_s = 0.0

    async def load(self) -> str | None:
        """Look at the tokens, making the first one if there is none; returns it if it was made now."""
        if self._chosen:
            if len(self._chosen) < LEAST_LENGTH:
                raise InputError("The operator's token is shorter than 32 characters.", "Choose a longer one.")
            await self._store.replace_secret(FIRST_SECRET, token_hash(self._chosen))
            made = False
        else:
            token = secrets.token_urlsafe(32)
            _, made = await self._store.secret(FIRST_SECRET, token_hash(token))
        await self._look()
        return token if made else None

    async def name_of(self, token: str) -> str | None:
        """Whose token this is, or None."""
        if time.monotonic() > self._look_again_at_s:
            await self._look()
        given, found = token_hash(token), None
        for name, kept in self._hashes.items():
            if hmac.compare_digest(given, kept):
                found = name
        return found

    async def since(self) -> list[tuple[str, int | None]]:
        """Every operator's name and since when; the first is there from the start."""
        return [(FIRST, None), *((name, since) for name, (_, since) in (await self._store.audit.operators()).items())]

    async def add(self, name: str, *, who: str) -> str:
        """A new operator's token, shown once."""
        if name == FIRST:
            raise InputError(f"'{FIRST}' is the first operator's name.", "Choose another.")
        token = secrets.token_urlsafe(32)
        await self._store.audit.add_operator(name, token_hash(token), self._deed(who, "add operator", name))
        await self._look()
        return token

    async def rotate(self, name: str, *, who: str) -> str:
        """Another token for an operator, shown once; the old one stops working."""
        token = secrets.token_urlsafe(32)
        deed = self._deed(who, "rotate token", name)
        if name == FIRST:
            if self._chosen:
                raise InputError(
                    "The first operator's token comes from the setting operator_token.",
                    "Change it there and start the collector again.",
                )
            await self._store.replace_secret(FIRST_SECRET, token_hash(token))
            await self._store.audit.write(deed)
        elif not await self._store.audit.replace_token(name, token_hash(token), deed):
            raise InputError(f"There is no operator '{name}'.", "See sfumato campaign operators.")
        await self._look()
        return token

    async def remove(self, name: str, *, who: str) -> None:
        """Take a named operator's right away."""
        if name == FIRST:
            raise InputError("The first operator stays.", "Rotate its token instead.")
        if not await self._store.audit.remove_operator(name, self._deed(who, "remove operator", name)):
            raise InputError(f"There is no operator '{name}'.", "See sfumato campaign operators.")
        await self._look()

    async def _look(self) -> None:
        first = await self._store.kept_secret(FIRST_SECRET)
        named = {name: kept for name, (kept, _) in (await self._store.audit.operators()).items()}
        self._hashes = {FIRST: first, **named} if first is not None else named
        self._look_again_at_s = time.monotonic() + _LOOK_AGAIN_S

    def _deed(self, who: str, action: str, name: str) -> Deed:
        return Deed(int(self._now()), who, action, None, {"name": name})


class Notifier:
    """The ways to this collector's operator, and what is on them."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self.ways = ways(settings)

    async def look(self, *, now_s: float) -> None:
        """Announce alarms nobody was told of, and deliver what is due."""
        for name, asked, cycle, facts in await self._store.operations.take_unnoticed():
            if facts.alarm.raised:
                await self.announce(
                    "alarm",
                    name=name,
                    title=asked.title,
                    language=asked.language,
                    now_s=now_s,
                    cycle=cycle,
                    reasons=facts.alarm.reasons,
                )
        if not self.ways:
            return
        for notice in await self._store.outbox.take(now_s=now_s, pauses_s=PAUSES_S):
            try:
                await asyncio.to_thread(self._deliver, notice, now_s)
            except Exception as error:  # whatever a mail server or a stranger's endpoint does
                last = notice.attempts + 1 >= len(PAUSES_S)
                if last or notice.attempts == 0:
                    then = "it is given up" if last else "it is tried again"
                    _log.error("A notice by %s was not delivered (%s); %s.", notice.way, type(error).__name__, then)
            else:
                await self._store.outbox.mark_delivered(notice)

    async def announce(
        self,
        event: Event,
        *,
        name: str,
        title: str,
        now_s: float,
        language: str = "",
        cycle: int | None = None,
        reasons: tuple[str, ...] = (),
    ) -> None:
        """Put a notice on every way there is, with the language of its campaign: an e-mail is written in it."""
        told = {"event": event, "campaign": name, "title": title, "cycle": cycle, "reasons": list(reasons)}
        told["language"] = language or "en"
        words = {"alarm": f"Alarm in cycle {cycle} of {name}", "end": f"{name} has ended", "test": f"A test of {name}"}
        body = json.dumps({**told, "at_s": int(now_s)}, ensure_ascii=False, sort_keys=True)
        subject = in_language(words[event], language or "en")
        await self._store.outbox.put(self.ways, subject=f"[sfumato] {subject}", body=body, now_s=int(now_s))

    def _deliver(self, notice: Notice, now_s: float) -> None:
        if notice.way == "webhook":
            post(notice, now_s, url=self._settings.text("webhook_url"), secret=self._settings.text("webhook_secret"))
        else:
            mail(notice, self._settings)


def ways(settings: Settings) -> tuple[str, ...]:
    """The ways these settings open, checked."""
    found = []
    url = settings.text("webhook_url")
    if url:
        if urlsplit(url).scheme not in ("https", "http") or not urlsplit(url).hostname:
            raise InputError("The setting webhook_url is no http or https address.", "Write https://host/path.")
        if len(settings.text("webhook_secret")) < 16:
            raise InputError("A webhook needs webhook_secret, at least 16 characters.", "The receiver checks with it.")
        found.append("webhook")
    server = settings.text("smtp_url")
    if server:
        if urlsplit(server).scheme not in ("smtp", "smtps") or not urlsplit(server).hostname:
            raise InputError(
                "The setting smtp_url is no mail server.", "Write smtp://USER:PASSWORD@HOST:587 or smtps://."
            )
        if not settings.text("email_to") or not settings.text("email_from"):
            raise InputError("E-mail needs email_to and email_from.", "Set SFUMATO_EMAIL_TO and SFUMATO_EMAIL_FROM.")
        found.append("email")
    return tuple(found)


def signature(secret: str, body: bytes, *, at_s: int) -> str:
    """What the webhook's receiver recomputes."""
    made = hmac.digest(secret.encode("utf-8"), f"{at_s}.".encode() + body, hashlib.sha256).hex()
    return f"t={at_s},v1={made}"


def post(notice: Notice, now_s: float, *, url: str, secret: str) -> None:
    """Deliver by webhook: to that address and, whatever it answers, to no other; raises unless the answer is 2xx."""
    body = notice.body.encode("utf-8")
    headers = {
        "content-type": "application/json",
        "user-agent": "sfumato",
        "x-sfumato-delivery": str(notice.id),
        "x-sfumato-signature": signature(secret, body, at_s=int(now_s)),
    }
    place = urlsplit(url)
    kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    connection = kind(str(place.hostname), place.port, timeout=_WITHIN_S)
    try:
        path = f"{place.path or '/'}?{place.query}" if place.query else place.path or "/"
        connection.request("POST", path, body=body, headers=headers)
        status = connection.getresponse().status
    finally:
        connection.close()
    if not 200 <= status < 300:
        raise ConnectionError(f"The webhook answered {status}.")


def mail(notice: Notice, settings: Settings) -> None:
    """Deliver by e-mail through the operator's own server; never without TLS except on this machine."""
    server = urlsplit(settings.text("smtp_url"))
    host = str(server.hostname)
    message = EmailMessage()
    message["Subject"] = notice.subject
    message["From"] = settings.text("email_from")
    message["To"] = settings.text("email_to")
    message.set_content(_words(json.loads(notice.body)))
    secure = ssl.create_default_context()
    if server.scheme == "smtps":
        connection: smtplib.SMTP = smtplib.SMTP_SSL(host, server.port or 465, timeout=_WITHIN_S, context=secure)
    else:
        connection = smtplib.SMTP(host, server.port or 587, timeout=_WITHIN_S)
    with connection:
        if server.scheme == "smtp" and (host not in (*LOOPBACK, "localhost") or connection.has_extn("starttls")):
            connection.starttls(context=secure)
        if server.username:
            connection.login(unquote(server.username), unquote(server.password or ""))
        connection.send_message(message)


def _words(told: dict[str, object]) -> str:
    language, reasons = str(told.get("language", "en")), told["reasons"]
    about = [f"Campaign: {told['campaign']} ({told['title']})"]
    if told["cycle"] is not None:
        about.append(f"Cycle: {told['cycle']}")
    why = [f"- {in_language(str(reason), language)}" for reason in reasons] if isinstance(reasons, list) else []
    more = "The dashboard of the campaign shows the rest. To leave a cycle out: sfumato campaign exclude."
    lines = [*(in_language(line, language) for line in about), *why, in_language(more, language)]
    return "\n".join(lines) + "\n"
