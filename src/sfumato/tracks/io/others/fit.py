"""FIT (Garmin, Wahoo, Strava ...): read with the extra ``fitdecode``; written as GPX."""

from __future__ import annotations

import math
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any

from sfumato.base.errors import InputError, MissingExtra
from sfumato.tracks.io.draft import NO_POSITION, Draft, Reading

_SEMICIRCLE_DEG = 180.0 / (1 << 31)
_POSITION = frozenset({"position_lat", "position_long", "timestamp"})


def read(path: Path, reading: Reading) -> list[Draft]:
    """One draft; the timer's stops separate its segments, records without a position are left out."""
    try:
        import fitdecode
    except ImportError:
        raise MissingExtra("fitdecode", "geo") from None

    draft = Draft(reading, "1")
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            fitdecode.FitReader(str(path), check_crc=fitdecode.CrcCheck.RAISE) as frames,
        ):
            _collect((frame for frame in frames if frame.frame_type == fitdecode.FIT_FRAME_DATA), draft)
    except InputError:
        raise
    # A damaged FIT file makes the decoder fail in many ways of its own; none of them may show the bytes.
    except Exception:
        raise InputError("The FIT file is cut off or damaged.", "Copy it from the device again.") from None
    if not draft.lat:
        raise InputError(
            "The FIT file has no records with a position and a time.", "Indoor activities have none; use another file."
        )
    return [draft]


def _collect(messages: Any, draft: Draft) -> None:
    segment = 0
    for message in messages:
        if message.name == "event" and _value(message, "event") == "timer":
            if _value(message, "event_type") == "start" and draft.lat:
                segment = draft.segment[-1] + 1
        elif message.name == "record":
            lat, lon, when = (_value(message, name) for name in ("position_lat", "position_long", "timestamp"))
            if lat is None or lon is None:
                draft.skip(NO_POSITION)
                continue
            moment = when.timestamp() if isinstance(when, datetime) else None
            draft.add(_degrees(lat), _degrees(lon), moment, segment)
            for field in message.fields:
                if field.name not in _POSITION and field.value is not None:
                    draft.saw(field.name, field.value)
        elif message.name in ("device_info", "file_id", "file_creator"):
            draft.dropped["device"] = None
        elif message.name not in ("definition", "activity", "event"):
            draft.dropped[f"FIT {message.name}"] = None


def _degrees(value: object) -> float:
    return value * _SEMICIRCLE_DEG if isinstance(value, int | float) else math.nan


def _value(message: Any, name: str) -> Any:
    return message.get_value(name, fallback=None)
