"""The private page of an archive's audit: what attackers reach, place by place, over the noise, and file by file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.base.drawing.drawing import bullets
from sfumato.base.units import count_of
from sfumato.pages.report.archive_map import archive_map
from sfumato.pages.report.archive_page import page, rides_of, section, table
from sfumato.tracks.folders.audit_archive import ArchiveAudit


def audit_page(found: ArchiveAudit, document: Mapping[str, Any], out: Path) -> str:
    """For the owner's eyes only: it names their files."""
    sections = []
    if found.leaks:
        sections.append(section("Can I still be found?", bullets([leak.sentence() for leak in found.leaks])))
    if found.noise is not None:
        sections.append(section("What the noise leaves", bullets(noise_lines(found))))
    if found.notes:
        sections.append(section("To note", bullets(found.notes)))
    rows = [
        (row.source, row.points_in, row.points_out, row.refused or _off(row.error_m))
        for row in found.rows
        if not row.no_track
    ]
    return page(
        "An archive audited (private)",
        "<strong>Private.</strong> This page was made from your originals. Keep it to yourself.",
        archive_map([("release", ride) for ride in rides_of(document, out)], (), "What is shared"),
        *sections,
        section("Every file", table(("file", "points in", "out", "error, per coordinate"), rows)),
    )


def noise_lines(found: ArchiveAudit) -> list[str]:
    """The attack on the noise, in a few lines."""
    noise = found.noise
    if noise is None:
        return []
    lines = [f"{noise.points} points of {count_of(found.attacked, 'file')}, attacked together."]
    for words, value in (
        ("as it is, the release is off by", noise.rms_error_raw_m),
        ("after smoothing, by", noise.rms_error_smoothed_m),
        ("the attacker's 68% interval has a half-width of", noise.interval_68_m),
    ):
        if value is not None:
            lines.append(f"Per coordinate, {words} {value:.1f} m.")
    if noise.coverage_68 is not None:
        lines.append(f"The truth lies inside that interval {noise.coverage_68:.0%} of the time.")
    return [*lines, noise.verdict]


def _off(error_m: float | None) -> str:
    return "nothing is left" if error_m is None else f"{error_m:.1f} m"
