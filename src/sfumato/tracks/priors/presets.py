"""Priors with a name: how people were measured to move, as figures and where they come from (figures, not data)."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.base.errors import InputError
from sfumato.base.shown import plain_fields
from sfumato.tracks.priors.kernels import Kernel, Matern32, White


@dataclass(frozen=True, slots=True, eq=False)
class Preset:
    """A prior per coordinate with its provenance."""

    name: str
    prior: Kernel
    provenance: str

    def to_dict(self) -> dict[str, object]:
        """Plain JSON."""
        return plain_fields(self)


PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "geolife-median",
            Matern32(66.0, 123.0) + White(1.0),
            "Length scale 66 s, sd 123 m, nugget 1 m: the medians of the project's first study, of Matérn-3/2 + "
            "nugget fits to 138 random GeoLife trajectories (first 320 s, at most 50 points); this kernel has the "
            "best likelihood of Matérn 1/2, 3/2, 5/2 and RBF on 85. Compare geolife-320s, which is recomputed by "
            "`python benchmarks/evidence_geolife.py --presets`.",
        ),
        Preset(
            "geolife-320s",
            Matern32(111.0, 127.0) + White(0.9),
            "Length scale 111 s, sd 127 m, nugget 0.9 m: the medians of one fit per axis to the first 320 s (at most "
            "50 points, at least 10 moments) of 1,067 random GeoLife trajectories, printed by "
            "`python benchmarks/evidence_geolife.py --presets`.",
        ),
    )
}
DEFAULT_PRESET = "geolife-median"


def preset_named(name: str) -> Preset:
    """The preset called ``name``: its ``prior`` and its provenance."""
    if name not in PRESETS:
        raise InputError(f"There is no preset prior '{name}'.", f"Choose from {', '.join(PRESETS)}.")
    return PRESETS[name]
