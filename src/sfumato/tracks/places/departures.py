"""When somebody leaves: a ride that is cut at a zone still shows, by its first shared fix, about when it began.

A departure counts once a day, the first from the place on a weekday, by the sun (what a clock shows there is not
known). It is *regular* where half of the days or more lie within ten minutes of one time of day.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sfumato.base.things.traces import Trace
from sfumato.tracks.places.globe import surface
from sfumato.tracks.places.places_file import Place

FEWEST_DAYS, REGULAR, NEAR_S = 5, 0.5, 600.0
_DAY_S, _EPOCH_WEEKDAY = 86400.0, 3  # 1970-01-01 was a Thursday


@dataclass(slots=True, eq=False)
class Departures:
    """First shared fixes of rides that began in a place's zone, by day, and how long after their beginning."""

    place: Place
    _first_s: dict[int, float] = field(default_factory=dict)
    _delays_s: list[float] = field(default_factory=list)

    def add(self, original: Trace, published: Trace | None) -> None:
        """One ride, as it was recorded and as it is shared with its times."""
        start = int(np.argmin(original.times_s))
        began = surface(original.lat_deg[start], original.lon_deg[start])
        if published is None or not self.place.withheld.holds(began)[0]:
            return
        shown = float(published.times_s.min())
        self._delays_s.append(shown - float(original.times_s[start]))
        by_the_sun = shown + self.place.lon_deg / 360.0 * _DAY_S
        day = int(by_the_sun // _DAY_S)
        if (day + _EPOCH_WEEKDAY) % 7 < 5:
            self._first_s[day] = min(by_the_sun % _DAY_S, self._first_s.get(day, np.inf))

    def sentence(self) -> str:
        """What the shared times tell; empty where departures are not regular, or few."""
        times = np.sort(list(self._first_s.values()))
        if len(times) < FEWEST_DAYS:
            return ""
        near = np.abs(times[:, None] - times[None]) <= NEAR_S
        together = times[near[int(near.sum(axis=1).argmax())]]
        share = len(together) / len(times)
        if share < REGULAR:
            return ""
        middle = float(np.median(together))
        spread = max(float(np.abs(together - middle).max()), 60.0) / 60
        clock = f"{int(middle // 3600):02}:{int(middle % 3600 // 60):02}"
        after = float(np.median(self._delays_s)) / 60
        return (
            f"Shared times tell when you leave {self.place.name}: on {share:.0%} of weekdays the first shared fix is "
            f"at {clock} ± {spread:.0f} min by the sun, {after:.0f} min (median) after you left. --times shift hides "
            "the time of day."
        )
