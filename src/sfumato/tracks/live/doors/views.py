"""What an audience is shown of a person, on the page and in messages: a circle that keeps calm, or a name."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from sfumato.tracks.live.audiences import Audience
from sfumato.tracks.live.bridge import Bridge
from sfumato.tracks.live.calm import REMEMBERED, CalmView, ShownCircle
from sfumato.tracks.live.store import Sight

_VIEWS_KEPT = 4096


@dataclass(frozen=True, slots=True)
class View:
    """The last thing an audience may see of a person; ``circle`` or ``name``."""

    person: str
    time_ms: int
    circle: ShownCircle | None = None
    name: str | None = None

    def to_json(self) -> dict[str, object]:
        """Plain JSON: a place with the radius that holds the truth with 68 %, or a name."""
        head: dict[str, object] = {"person": self.person, "time": self.time_ms / 1000.0}
        if self.circle is None:
            return {**head, "name": self.name}
        return {
            **head,
            "lat": round(self.circle.lat_deg, 7),
            "lon": round(self.circle.lon_deg, 7),
            "radius_68_m": round(self.circle.radius_m, 1),
        }

    def to_owntracks(self) -> dict[str, object] | None:
        """A location message; None for names, which OwnTracks has no message for."""
        if self.circle is None:
            return None
        place = {"lat": round(self.circle.lat_deg, 7), "lon": round(self.circle.lon_deg, 7)}
        accuracy = {"acc": round(self.circle.radius_m), "tid": self.person[:2], "tst": self.time_ms // 1000}
        return {"_type": "location", **place, **accuracy, "topic": f"owntracks/{self.person}/sfumato"}


class Views:
    """The calm views of everybody by audience, in memory; begun anew from what is kept after a restart."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._calm: OrderedDict[tuple[str, str], CalmView] = OrderedDict()

    def of(self, audience: Audience, person: str) -> View | None:
        """What may be seen now; None for nothing."""
        found = self._bridge.view(audience, person, most=REMEMBERED)
        return self.after(audience, found[-1], found) if found else None

    def after(self, audience: Audience, last: Sight, found: list[Sight]) -> View:
        """The view once these sights were seen."""
        if last.lat_deg is None or last.lon_deg is None:
            return View(last.person, last.time_ms, name=last.name)
        if audience.noise_m is None:
            return View(last.person, last.time_ms, ShownCircle(last.time_ms, last.lat_deg, last.lon_deg, 0.0))
        calm = self._calm_of(audience, last.person)
        for one in found:
            if one.time_ms not in calm.times_ms and one.lat_deg is not None and one.lon_deg is not None:
                calm.add(one.time_ms, one.lat_deg, one.lon_deg)
        assert calm.shown is not None
        return View(last.person, last.time_ms, calm.shown)

    def _calm_of(self, audience: Audience, person: str) -> CalmView:
        name = audience.name, person
        if name not in self._calm:
            chain = self._bridge.config.chain
            assert chain is not None
            assert audience.noise_m is not None
            self._calm[name] = CalmView(chain.mechanism(audience.noise_m).kernel())
            if len(self._calm) > _VIEWS_KEPT:
                self._calm.popitem(last=False)
        self._calm.move_to_end(name)
        return self._calm[name]
