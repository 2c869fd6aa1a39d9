"""P(y | x) over any symbols. The files of designs that the registry names are loaded when they are first asked for."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.channels.designs import exponential, rate_design, tuned
    from sfumato.channels.designs.geo import geo_optimal, planar_geometric, planar_laplace
    from sfumato.channels.designs.lip import closed_forms, lip_optimal

__all__ = [
    "closed_forms",
    "exponential",
    "geo_optimal",
    "lip_optimal",
    "planar_geometric",
    "planar_laplace",
    "rate_design",
    "tuned",
]
_HOMES = {
    "closed_forms": "sfumato.channels.designs.lip",
    "exponential": "sfumato.channels.designs",
    "geo_optimal": "sfumato.channels.designs.geo",
    "lip_optimal": "sfumato.channels.designs.lip",
    "planar_geometric": "sfumato.channels.designs.geo",
    "planar_laplace": "sfumato.channels.designs.geo",
    "rate_design": "sfumato.channels.designs",
    "tuned": "sfumato.channels.designs",
}


def __getattr__(name: str) -> ModuleType:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return import_module(f"{_HOMES[name]}.{name}")
