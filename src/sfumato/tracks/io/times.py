"""Times as files write them, read to seconds since 1970 UTC and back; a time without a zone is refused, not guessed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LARGEST, _PER_SECOND = np.array([1e11, 1e14, 1e17]), np.array([1.0, 1e3, 1e6, 1e9])


def zone_named(zone: str | tzinfo | None) -> tzinfo | None:
    """``"UTC"``, ``"+02:00"`` or a name such as ``"Europe/Vienna"``."""
    if zone is None or isinstance(zone, tzinfo):
        return zone
    text = str(zone).strip()
    if text.upper() in ("UTC", "GMT", "Z"):
        return UTC
    try:
        if text[:1] in "+-":
            return datetime.strptime(text, "%z").tzinfo
        return ZoneInfo(text)
    except Exception:
        raise InputError(
            "That time zone is not known on this machine.",
            "Write UTC, an offset such as +02:00, or a name such as Europe/Vienna.",
        ) from None


def parse_times(texts: Sequence[str], zone: str | tzinfo | None = None) -> FloatArray:
    """ISO 8601 texts as seconds since 1970 UTC; those without an offset are read in ``zone`` or refused."""
    with suppress(pa.ArrowException, UnicodeError, OverflowError):
        return _at_once(texts)
    return _parse_one_by_one(texts, zone_named(zone))


def _at_once(texts: Sequence[str]) -> FloatArray:
    stamps = pa.array(texts, pa.string()).cast(pa.timestamp("us", tz="UTC"))
    seconds: FloatArray = stamps.cast(pa.int64()).to_numpy(zero_copy_only=False) / 1e6
    return seconds


def _parse_one_by_one(texts: Sequence[str], zone: tzinfo | None) -> FloatArray:
    seconds = np.empty(len(texts))
    previous = -np.inf
    for place, text in enumerate(texts):
        moment = _moment(text, place)
        if moment.tzinfo is not None:
            previous = _seconds(moment)
        elif zone is None:
            raise InputError(
                "The times have no time zone, so the moment they mean is unknown.",
                "Say which one: zone='UTC' or zone='Europe/Vienna' (on the command line --time-zone UTC).",
            )
        else:
            # An hour that occurs twice (end of summer time) is its first occurrence unless time would run backwards.
            first = _seconds(moment.replace(tzinfo=zone))
            second = _seconds(moment.replace(tzinfo=zone, fold=1))
            previous = second if first < previous <= second else first
        seconds[place] = previous
    return seconds


def _moment(text: str, place: int) -> datetime:
    clean = re.sub(r" +([+-]\d\d:?\d\d)$", r"\1", text.strip())
    for ending in (" UTC", " GMT", " Z"):
        clean = clean.removesuffix(ending) + ("+00:00" if clean.endswith(ending) else "")
    if len(clean) >= 10 and clean[4] == "/" and clean[7] == "/":
        clean = clean.replace("/", "-", 2)
    try:
        if len(clean) < 16:  # a bare date is a day, not a moment
            raise ValueError
        return datetime.fromisoformat(clean)
    except (ValueError, OverflowError):
        raise InputError(
            f"The time of point {place + 1} cannot be read.", "Write times as 2024-05-01T12:00:00Z (ISO 8601)."
        ) from None


def _seconds(moment: datetime) -> float:
    return ((moment - _EPOCH) // _MICROSECOND) / 1e6


def parse_epochs(values: npt.ArrayLike) -> FloatArray:
    """Numbers since 1970 as seconds; milli-, micro- and nanoseconds are told by their size, one by one."""
    numbers = np.asarray(values, dtype=np.float64)
    size = np.abs(numbers)
    if not numbers.size or np.isnan(size).all():
        return numbers
    least, most = np.searchsorted(_LARGEST, (np.nanmin(size), np.nanmax(size)), side="right")
    if least == most:
        return numbers if least == 0 else numbers / _PER_SECOND[least]
    seconds: FloatArray = numbers / _PER_SECOND[np.searchsorted(_LARGEST, size, side="right")]
    return seconds


def mixed_times(values: Sequence[object], zone: str | tzinfo | None = None) -> FloatArray:
    """A list of ISO texts, or of numbers since 1970, as seconds; NaN where there is none or it cannot be read.

    Times that name no zone are refused without ``zone``: nothing tells which moment they mean.
    """
    texts = {place: value for place, value in enumerate(values) if isinstance(value, str) and value.strip()}
    numbers = {n: value for n, value in enumerate(values) if isinstance(value, int | float) and value is not True}
    seconds: FloatArray = np.full(len(values), np.nan)
    seconds[list(numbers)] = _epochs_of(list(numbers.values()))
    with suppress(pa.ArrowException, UnicodeError, OverflowError):
        seconds[list(texts)] = _at_once(list(texts.values()))
        return seconds
    counted = {place: text for place, text in texts.items() if _is_number(text)}
    if 2 * len(counted) >= len(texts):
        seconds[list(counted)] = _epochs_of(list(counted.values()))
        return seconds
    written = {place: text for place, text in texts.items() if _is_moment(text)}
    seconds[list(written)] = parse_times(list(written.values()), zone)
    return seconds


def _is_moment(text: str) -> bool:
    try:
        _moment(text, 0)
    except InputError:
        return False
    return True


def _is_number(text: str) -> bool:
    with suppress(ValueError):
        float(text)
        return True
    return False


def _epochs_of(values: Sequence[str] | Sequence[float]) -> FloatArray:
    return parse_epochs([_float(value) for value in values])


def _float(value: str | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf  # beyond all calendars


def format_times(times_s: FloatArray) -> list[str]:
    """Seconds since 1970 as ISO 8601 in UTC, with as few decimals as lose nothing down to the microsecond."""
    micros = np.rint(np.asarray(times_s) * 1e6).astype(np.int64)
    stamps = micros.astype("datetime64[us]")
    if not (micros % 1_000_000).any():
        texts = np.datetime_as_string(stamps, unit="s", casting="unsafe")
    elif not (micros % 1000).any():
        texts = np.datetime_as_string(stamps, unit="ms", casting="unsafe")
    else:
        texts = np.datetime_as_string(stamps, unit="us")
    return [f"{text}Z" for text in texts.tolist()]
