"""Priors with a name: how people were measured to move, as figures and where they come from (figures, not data)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.errors import InputError
from sfumato.priors.kernels import Kernel, Matern32, White


@dataclass(frozen=True, slots=True, eq=False)
class Preset:
    """A prior per coordinate with its provenance."""

    name: str
    prior: Kernel
    provenance: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"name": self.name, "prior": self.prior.to_dict(), "provenance": self.provenance}


PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "geolife-median",
            Matern32(66.0, 123.0) + White(1.0),
            "Length scale 66 s, sd 123 m, nugget 1 m: medians of Matérn-3/2 + nugget fits to 138 random GeoLife "
            "trajectories (first 320 s, at most 50 points); on 85 of them this kernel has the best likelihood of "
            "Matérn 1/2, 3/2, 5/2 and RBF. Recomputed by `python benchmarks/evidence_geolife.py --presets`.",
        ),
    )
}
DEFAULT_PRESET = "geolife-median"


def preset_named(name: str) -> Preset:
    """The preset called ``name``: its ``prior`` and its provenance."""
    if name not in PRESETS:
        raise InputError(f"There is no preset prior '{name}'.", f"Choose from {', '.join(PRESETS)}.")
    return PRESETS[name]
