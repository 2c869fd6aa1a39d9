"""A scanner for true coordinates in whatever a program says, in any way a coordinate is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

NEAR_DEG = 1.1e-3


def _numbers(text: str) -> Iterator[float]:
    for match in re.finditer(r"\d+[.,]\d{3,}", text):  # decimals
        yield float(match.group().replace(",", "."))
    for match in re.finditer(r"(\d+)[.,](\d)(\d{2,})e([+-]?\d+)", text, re.IGNORECASE):
        yield float(match.group().replace(",", "."))
    for match in re.finditer(r"\d{6,}", text):  # microdegrees and their relatives
        for power in range(3, 10):
            yield float(match.group()) / 10**power
    for match in re.finditer(r"(\d{1,3})\D{1,3}(\d{1,2}(?:[.,]\d+)?)(?:\D{1,3}(\d{1,2}(?:[.,]\d+)?))?", text):
        degrees, minutes, seconds = (float((part or "0").replace(",", ".")) for part in match.groups())
        if minutes < 60 and ("°" in match.group() or "'" in match.group()):
            yield degrees + minutes / 60 + seconds / 3600
    for match in re.finditer(r"\b(\d{1,3})(\d{2}[.,]\d{2,})", text):  # NMEA
        yield float(match.group(1)) + float(match.group(2).replace(",", ".")) / 60


def coordinates_in(text: str, true: Iterable[float]) -> list[float]:
    """The true coordinates that the text gives away, to a thousandth of a degree."""
    said = list(_numbers(text))
    return [value for value in true if any(abs(number - abs(value)) < NEAR_DEG for number in said)]
