"""The campaign of an empty server, so that its page shows something: a city, 10,000 reports or a day per cycle."""

from __future__ import annotations

from typing import Any

from sfumato.errors import InputError
from sfumato.grid import Grid
from sfumato.service.settings import Settings

_TITLES = {"paris": "Demonstration: Paris", "sf": "Demonstration: San Francisco"}
_BETA_PER_M = 0.001


def demonstration(city: str, settings: Settings) -> tuple[str, dict[str, Any]]:
    """The name and specification of the demonstration campaign of ``city``."""
    if city not in _TITLES:
        raise InputError(f"There is no demonstration of '{city}'.", "Choose paris, sf or none.")
    return city, {
        "title": _TITLES[city],
        "grid": city_grid(city).to_dict(),
        "beta_per_m": _BETA_PER_M,
        "cycle_duration_s": settings.whole("cycle_duration_s"),
        "cycle_reports": 10_000,
        "minimum_cycle_s": 5,
        "minimum_tickets": settings.whole("minimum_tickets"),
        "floor": settings.number("floor"),
        "reporting": "every-cycle",
        "relayed": False,
        "relayed_cap_reports": settings.whole("relayed_cap_reports"),
    }


def city_grid(city: str) -> Grid:
    """The published grid of the city's check-ins [Biswas2023], in metres."""
    if city == "paris":
        rows, columns, south, west, height, width = 11, 15, 48.8286, 2.2855, 0.00427, 0.0066
    else:
        rows, columns, south, west, height, width = 16, 24, 37.7228, -122.5153, 0.0044875, 0.005683
    return Grid.from_bounds(south, west, south + rows * height, west + columns * width, shape=(rows, columns))
