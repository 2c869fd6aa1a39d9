"""P(y | x) over any symbols. The files of designs that the registry names are loaded when they are first asked for."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.mechanisms.channels import (
        closed_forms,
        exponential,
        frequency_oracles,
        geo_optimal,
        lip_optimal,
        planar_geometric,
        planar_laplace,
        rate_design,
        tuned,
    )

__all__ = [
    "closed_forms",
    "exponential",
    "frequency_oracles",
    "geo_optimal",
    "lip_optimal",
    "planar_geometric",
    "planar_laplace",
    "rate_design",
    "tuned",
]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return import_module(f"{__name__}.{name}")
