"""What somebody who looks for one person knows of them: a few true moments, and their earlier tracks as they were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.releases.seen import SeenTrack

K_POINTS = 4


@dataclass(frozen=True, eq=False)
class KnownPerson:
    """``times_s`` and ``globe_m`` of the k moments; ``earlier``, the first half of their time."""

    times_s: FloatArray
    globe_m: FloatArray
    earlier: SeenTrack

    @classmethod
    def of(cls, original: SeenTrack, rng: np.random.Generator) -> KnownPerson:
        """Of somebody's original: k moments at random, and its earlier half."""
        at = rng.choice(len(original.slot_s), size=min(K_POINTS, len(original.slot_s)), replace=False)
        return cls(original.slot_s[at], original.globe_m[at], original.part(later=False))
