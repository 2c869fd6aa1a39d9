"""Whole archives: every ride once, resumable, next week's added; places hidden or noise added, one summary."""

from sfumato.archives.hiding import Hidden, Hiding, hide
from sfumato.archives.job import Job, RideOutcome, Row
from sfumato.archives.protecting import protect_archive
from sfumato.archives.result import ArchiveResult
from sfumato.archives.runs import hide_archive

__all__ = ["ArchiveResult", "Hidden", "Hiding", "Job", "RideOutcome", "Row", "hide", "hide_archive", "protect_archive"]
