"""Numbers and degrees as files write them: with or without N, S, E, W and °, in degrees, minutes and seconds."""

from __future__ import annotations

import math
import re

_SIDED = re.compile(
    r"""([NSEW]?)\s*([-+]?\d+\.?\d*)\s*°?\s*(?:(\d+\.?\d*)\s*['′]\s*)?(?:(\d+\.?\d*)\s*["″]\s*)?([NSEW]?)""",
    re.IGNORECASE,
)


def number(value: object) -> float | None:
    """A number, or a text that is one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def degrees(value: object) -> float | None:
    """A coordinate; None where there is none, NaN where it is no number."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    found = number(value)
    if found is None and isinstance(value, str) and (match := _SIDED.fullmatch(value.strip())):
        before, whole, minutes, seconds, after = match.groups()
        found = abs(float(whole)) + float(minutes or 0) / 60.0 + float(seconds or 0) / 3600.0
        if whole.startswith("-") or (before or after).upper() in ("S", "W"):
            found = -found
    return math.nan if found is None else found
