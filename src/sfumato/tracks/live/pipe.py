"""Positions as lines: one JSON object each in, one for each audience out, as fast as a pipe gives them."""

from __future__ import annotations

import json
import math
import os
import select
import time
from collections.abc import Callable, Iterator

from sfumato.base.errors import InputError
from sfumato.tracks.live.bridge import Bridge, Taken
from sfumato.tracks.live.positions import Position, from_line
from sfumato.tracks.live.store import Sight

_READ_BYTES = 1 << 18
_LOOK_EVERY_S = 0.2
_TIDY_S = 60.0
_LONGEST_LINE = 1 << 16


def run_pipe(bridge: Bridge, source: int, write: Callable[[str], object], *, person: str = "me") -> None:
    """Until the source ends; every line that was there is one batch, answered after it is in the store."""
    looked = 0.0
    tidied_s = -math.inf
    for lines in _batches(source):
        if time.monotonic() - tidied_s >= _TIDY_S:
            bridge.tidy()
            tidied_s = time.monotonic()
        answers, positions = list[str | None](), list[Position]()
        for line in lines:
            try:
                positions.append(from_line(line, person))
                answers.append(None)
            except InputError as error:
                answers.append(json.dumps({"error": f"{error.what} {error.advice}".strip()}))
        taken = iter(bridge.take(positions) if positions else [])
        said = [_answer(next(taken)) if answer is None else answer for answer in answers]
        now = time.monotonic()
        look = not lines or now - looked > _LOOK_EVERY_S
        due = bridge.due() if look else []
        looked = now if look else looked
        said += [sight_line(one) for one in due]
        text = "\n".join(filter(None, said))
        if text:
            write(text + "\n")
        if due:
            bridge.store.mark_sent(due)


def _answer(taken: Taken) -> str:
    """What everybody sees at once, a line for each audience."""
    if taken.outcome == "second":
        return '{"error": "Another place of this moment was shared: two of one moment would share their noise."}'
    now = [sight_line(one) for one in taken.sights if not one.held and not one.unsent]
    return "\n".join(now)


def sight_line(one: Sight) -> str:
    """One JSON object."""
    head = f'{{"audience": "{one.audience}", "person": {json.dumps(one.person)}, "time": {one.time_ms / 1000.0:.3f}'
    if one.lat_deg is None:
        return f'{head}, "name": {json.dumps(one.name)}}}'
    return f'{head}, "lat": {one.lat_deg:.7f}, "lon": {one.lon_deg:.7f}}}'


def _batches(source: int) -> Iterator[list[bytes]]:
    """The whole lines that are there, as soon as there are any; an empty list now and then."""
    rest = b""
    while True:
        ready, _, _ = select.select([source], [], [], _LOOK_EVERY_S)
        if not ready:
            yield []
            continue
        more = os.read(source, _READ_BYTES)
        *lines, rest = (rest + more).split(b"\n")
        if not more and rest:
            lines.append(rest)
        if len(rest) > _LONGEST_LINE:
            raise InputError("A line is longer than 64 KiB.", "Send one JSON object a line.")
        if found := [line for line in lines if line.strip()]:
            yield found
        if not more:
            yield []
            return
