"""A simulated crowd that drives a real collector: each person a device of its own, drawing as real devices draw.

For demonstrations and load tests. The places are simulated; tickets, reports and the channel's checks are real.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError, SfumatoError
from sfumato.base.randomness import randomness
from sfumato.base.things.grid import Grid
from sfumato.collect.client.blind_tickets import blind_ticket, signature_from, ticket_text
from sfumato.collect.client.exact_draw import WORDS_PER_REPORT, cell_from_words, weights
from sfumato.collect.client.offer import Caps, Offer, check_offer
from sfumato.collect.client.wire import device_tag

Progress = Callable[[int], None]
_TRIES = 8


class CrowdFailed(SfumatoError, ConnectionError):
    """The server refused the crowd or could not be reached."""


@dataclass(frozen=True, slots=True)
class CrowdCycle:
    """What the crowd did in one cycle."""

    cycle: int
    version: str
    counted: int
    refused: int
    seconds: float
    closed: bool
    moved: bool = False


def people_in_cells(shares: FloatArray, source: Grid, target: Grid, people: int) -> IntArray:
    """``people`` true cells on ``target``, drawn from a city's ``shares`` on ``source`` (outside: the nearest cell).

    The map of a city that lies elsewhere is laid over the target's area, whatever its size.
    """
    uniforms = randomness(None).uniforms(people)
    homes = np.minimum(np.searchsorted(np.cumsum(shares), uniforms * float(np.sum(shares))), shares.size - 1)
    if lies_elsewhere(shares, source, target):
        row, column = np.divmod(homes, source.columns)
        at = (row * target.rows // source.rows) * target.columns + column * target.columns // source.columns
        return np.asarray(at, dtype=np.int64)
    lat_deg, lon_deg = source.centres_deg()
    return target.locate(lat_deg[homes], lon_deg[homes], snap=True)


def lies_elsewhere(shares: FloatArray, source: Grid, target: Grid) -> bool:
    """Whether most of a city's people are outside the target's area."""
    return bool(float(np.sum(shares[target.locate(*source.centres_deg()) >= 0])) < 0.5 * float(np.sum(shares)))


def draw_for(offer: Offer, cells: IntArray) -> IntArray:
    """One report for each person, drawn word by word as on a device."""
    entropy = randomness(None)
    out = np.empty(cells.size, dtype=np.int64)
    for cell in np.unique(cells):
        v, k = weights(offer.grid, offer.output_weights, int(cell), beta_per_m=offer.beta_per_m)
        for person in np.flatnonzero(cells == cell):
            out[person] = cell_from_words(v, k, entropy.words(WORDS_PER_REPORT))
    return out


def drive(
    url: str,
    campaign: str,
    *,
    shares: FloatArray,
    grid: Grid,
    people: int,
    cycles: int = 1,
    concurrency: int = 32,
    token: str = "",
    wait_s: float = 60.0,
    progress: Progress = lambda _count: None,
) -> list[CrowdCycle]:
    """Send one report of each of ``people`` in each of ``cycles`` cycles; with the operator's ``token``, close each.

    Where a device reports once, or once per epoch, other people report in every cycle; otherwise the same.
    """
    if people < 1 or cycles < 1 or concurrency < 1:
        raise InputError("There are no people, cycles or connections.", "Give at least 1 of each.")
    server = _Server(url, campaign, token)
    devices: list[bytes] = []
    homes: IntArray | None = None
    done: list[CrowdCycle] = []
    with ThreadPoolExecutor(concurrency, thread_name_prefix="crowd") as threads:
        for _ in range(cycles):
            offer = server.offer()
            if homes is None or offer.reporting != "every-cycle":
                homes = people_in_cells(shares, grid, offer.grid, people)
                devices = [os.urandom(32) for _ in range(people)]
            reports = draw_for(offer, homes)
            began = time.perf_counter()

            def send(
                person: int, offer: Offer = offer, reports: IntArray = reports, devices: list[bytes] = devices
            ) -> bool:
                counted = server.send(offer, devices[person], int(reports[person]))
                progress(1)
                return counted

            counted = sum(threads.map(send, range(people)))
            closed = server.await_close(offer.cycle, counted, wait_s)
            seconds = time.perf_counter() - began
            moved = lies_elsewhere(shares, grid, offer.grid)
            done.append(CrowdCycle(offer.cycle, offer.version, counted, people - counted, seconds, closed, moved))
            if not closed:
                break
    return done


def is_rehearsal(url: str, campaign: str, *, token: str) -> bool:
    """Whether that campaign is only tried out; one for people takes simulated reports from its operator alone."""
    status, body = _Server(url, campaign, token).about()
    found = _inside(body, "campaign")
    if status == 200 and found.get("rehearsal") is True:
        return True
    # What is being counted is told to whoever operates the campaign, and to nobody else.
    if status == 200 and _inside(found, "cycle").get("tickets") is None:
        raise InputError(
            f"{campaign} is a campaign for people: simulated reports would be counted as theirs, for good.",
            "Rehearse it (sfumato campaign create --rehearsal), or give the operator's --token-file.",
        )
    return False


class _Server:
    """The collector as the crowd sees it. Every thread has one connection for tickets and another for reports."""

    def __init__(self, url: str, campaign: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError("The URL is not one of a collector.", "Write it like http://127.0.0.1:8000.")
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._address = (parts.hostname, parts.port)
        self._home = f"{parts.path.rstrip('/')}/api/v1/campaigns/{campaign}"
        self._campaign = campaign
        self._operator = {"Authorization": f"Bearer {token}"} if token else {}
        self._local = threading.local()

    def about(self) -> tuple[int, dict[str, object]]:
        """The campaign as it is shown to whoever asks."""
        return self._call("GET", "", None, self._operator)

    def offer(self) -> Offer:
        """The open cycle's channel, checked as a device checks it."""
        status, body = self._call("GET", "/channel")
        if status != 200:
            advice = (
                "Name a campaign of that server: --campaign." if status == 404 else "Try again when it takes reports."
            )
            raise CrowdFailed(f"The server answered {status}: {body.get('error')}", advice)
        return check_offer(body, caps=Caps())

    def send(self, offer: Offer, secret: bytes, cell: int) -> bool:
        """A ticket, then the report; True if it was counted."""
        tag = device_tag(self._campaign, offer.epoch, secret)
        blinded = None if offer.tickets is None else blind_ticket(offer.tickets.modulus)
        asked = {} if blinded is None else {"blinded": blinded["blinded"]}
        status, body = self._call("POST", "/tickets", {"cycle": offer.cycle, "device": tag, **asked})
        if status != 200:
            return False
        ticket = body["ticket"]
        if blinded is not None:
            ticket = ticket_text(offer.cycle, {**blinded, "signature": signature_from(blinded, ticket)})
        report = {"cell": cell, "version": offer.version, "key": os.urandom(16).hex(), "ticket": ticket}
        return self._call("POST", "/reports", report)[0] == 200

    def await_close(self, cycle: int, counted: int, wait_s: float) -> bool:
        """Wait until the cycle is closed and its map is out; at once False if nothing will close it soon."""
        deadline = time.monotonic() + wait_s
        closed = False
        while time.monotonic() < deadline:
            if self._operator and not closed:
                self._call("POST", "/close", {}, self._operator)
            _, body = self._call("GET", "")
            now = _inside(body, "campaign")
            current = _inside(now, "cycle")
            closed = closed or _count(current, "number", cycle) > cycle
            # The next cycle opens at once; the map of this one follows.
            if closed and self._call("GET", f"/cycles/{cycle}")[0] == 200:
                return True
            size = _count(now, "cycle_reports", 0)
            nearly = 0 < size <= counted
            if not closed and current.get("state") == "open" and not self._operator and not nearly:
                return False
            time.sleep(0.3)
        return closed

    def _call(
        self, method: str, path: str, body: Mapping[str, object] | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, object]]:
        """One request, tried again while the server is busy, closing or away; a report keeps its key."""
        content = None if body is None else json.dumps(body)
        sent = {"User-Agent": "sfumato", "Content-Type": "application/json", **(headers or {})}
        last: tuple[int, dict[str, object]] = (503, {"error": "The server stayed busy."})
        for attempt in range(_TRIES):
            connection = self._connection("reports" if path == "/reports" else "other")
            try:
                connection.request(method, self._home + path, content, sent)
                reply = connection.getresponse()
                answer = _object(reply.read())
                if reply.status not in (429, 503) and not (reply.status == 409 and path == "/channel"):
                    return reply.status, answer
                last = reply.status, answer
            except (OSError, HTTPException) as error:
                connection.close()
                if attempt == _TRIES - 1:
                    raise CrowdFailed(
                        f"The server cannot be reached ({type(error).__name__}).", "Is `sfumato serve` running there?"
                    ) from error
            time.sleep(min(2.0, 0.1 * 2**attempt))
        return last

    def _connection(self, purpose: str) -> HTTPConnection:
        found: HTTPConnection | None = getattr(self._local, purpose, None)
        if found is None:
            found = self._kind(*self._address, timeout=60)
            setattr(self._local, purpose, found)
        return found


def _inside(body: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def _count(body: Mapping[str, object], name: str, otherwise: int) -> int:
    found = body.get(name)
    return found if isinstance(found, int) else otherwise


def _object(content: bytes) -> dict[str, object]:
    try:
        value = json.loads(content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
