"""Whole archives: every ride once, resumable, next week's added; places hidden or noise added, one summary."""

from sfumato.tracks.folders.archives.hiding import Hidden, Hiding, hide
from sfumato.tracks.folders.archives.job import Job, RideOutcome, Row
from sfumato.tracks.folders.archives.protecting import protect_archive
from sfumato.tracks.folders.archives.result import ArchiveResult
from sfumato.tracks.folders.archives.runs import hide_archive

__all__ = ["ArchiveResult", "Hidden", "Hiding", "Job", "RideOutcome", "Row", "hide", "hide_archive", "protect_archive"]
