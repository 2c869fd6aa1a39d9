"""Whoever takes a release at its word."""

from __future__ import annotations

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray:
    """Every position as it was released."""
    return seen.path_m
