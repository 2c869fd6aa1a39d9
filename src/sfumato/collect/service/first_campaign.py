"""The campaign of an empty server, so that its page shows something: a city, 10,000 reports or a day per cycle."""

from __future__ import annotations

from sfumato.base.errors import InputError
from sfumato.collect.cities import city as city_counts
from sfumato.collect.loop.loop import DEFAULT_PROMISE
from sfumato.collect.service.models.kept import GridFields, Specification
from sfumato.collect.service.settings import Settings

_TITLES = {"paris": "Demonstration: Paris", "sf": "Demonstration: San Francisco"}
_BETA_PER_M = 0.001


def demonstration(city: str, settings: Settings) -> tuple[str, Specification]:
    """The name and specification of the demonstration campaign of ``city``."""
    if city not in _TITLES:
        raise InputError(f"There is no demonstration of '{city}'.", "Choose paris, sf or none.")
    grid = city_counts(city).grid
    assert grid is not None
    return city, Specification(
        title=_TITLES[city],
        grid=GridFields.of(grid),
        beta_per_m=_BETA_PER_M,
        cycle_duration_s=settings.whole("cycle_duration_s"),
        cycle_reports=10_000,
        minimum_cycle_s=5,
        minimum_tickets=settings.whole("minimum_tickets"),
        floor=settings.number("floor"),
        reporting="once",
        promise=DEFAULT_PROMISE,
        relayed=False,
        relayed_cap_reports=settings.whole("relayed_cap_reports"),
    )
