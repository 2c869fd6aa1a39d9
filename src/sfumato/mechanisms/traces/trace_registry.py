"""The mechanisms for traces by name, and rebuilt from what a certificate says about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import InputError
from sfumato.mechanisms.traces.chosen_secrets import SecretNoise
from sfumato.mechanisms.traces.independent import IndependentNoise
from sfumato.mechanisms.traces.interface import TraceNoise
from sfumato.mechanisms.traces.mixed import MixedNoise
from sfumato.mechanisms.traces.multiscale.ladder import Ladder
from sfumato.mechanisms.traces.multiscale.noise import MultiscaleNoise
from sfumato.mechanisms.traces.planar_laplace import LaplaceNoise
from sfumato.mechanisms.traces.prior_shaped import PriorShapedNoise
from sfumato.priors.classes import PriorClass
from sfumato.priors.kernels import kernel_from_dict

TRACE_MECHANISMS = ("multiscale", "prior-shaped", "mixed", "independent", "planar-laplace")
NEED_PRIOR = ("prior-shaped", "mixed")
_PLACEHOLDER_KEY = bytes(32)  # only says "continuing"; nothing is ever drawn from it


def mechanism_from_dict(values: Mapping[str, Any]) -> TraceNoise:
    """The mechanism that ``parameters()`` described, without any key: good for recomputing, not for drawing."""
    try:
        name, noise_m, redraws = str(values["name"]), float(values["noise_m"]), int(values["redraws"])
        if name == "multiscale":
            return MultiscaleNoise(
                Ladder.from_dict(values["ladder"]),
                noise_m,
                PriorClass.from_dict(values["prior_class"]),
                redraws,
                _PLACEHOLDER_KEY if values["continuing"] else None,
            )
        if name == "prior-shaped":
            return PriorShapedNoise(kernel_from_dict(values["prior"]), noise_m, bool(values["fitted"]), redraws)
        if name == "mixed":
            return MixedNoise(
                kernel_from_dict(values["prior"]),
                noise_m,
                float(values["white_share"]),
                bool(values["fitted"]),
                redraws,
            )
        if name == "independent":
            return IndependentNoise(noise_m, PriorClass.from_dict(values["prior_class"]), redraws)
        if name == "secrets":
            return SecretNoise.from_dict(values)
        if name == "planar-laplace":
            return LaplaceNoise(float(values["epsilon_per_m"]), redraws)
    except (KeyError, TypeError) as error:
        raise InputError("The mechanism is described wrongly.", "A field is missing or has the wrong type.") from error
    raise InputError(f"There is no mechanism '{name}'.", f"Choose from {', '.join(TRACE_MECHANISMS)}.")
