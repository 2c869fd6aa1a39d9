"""Every attacker by name: what it does, what it assumes, what it is said to know, and where it stands.

To add one: write its file, add its row here (``docs/contributing/add_an_attacker.md``). A row names module and function
below ``sfumato.tracks.adversary``; they are loaded when the attacker is asked, so that one attack does not load them
all. What an attacker is given depends on what it attacks: those of hidden places take a
:class:`~sfumato.tracks.adversary.places.zone_view.ZoneView` and guess metres east and north of the zone's centre (None
where there is nothing to go by); those of noise take its law, or release and original, and say what is learned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

ZONES, NOISE = "hidden places", "noise"


@dataclass(frozen=True, slots=True)
class Attacker:
    """One row; ``learned_from`` names the data an attacker was fitted to, where it was."""

    name: str
    against: str
    words: str
    assumes: str
    knows: str
    home: str
    learned_from: str = ""

    @property
    def attack(self) -> Callable[..., object]:
        """The function itself."""
        module, _, name = self.home.partition(":")
        found: Callable[..., object] = getattr(import_module(f"sfumato.tracks.adversary.{module}"), name)
        return found


_RIDES = "the zone and every published ride that stops at it"
_LAW = "the law of the noise, and the mean path exactly"
_HOURS = "the law of the noise, the hours of every day, and where the places named as known are"
_STRAIGHT = "rides go on straight inside the zone"
_HOMEWARD = "rides head home when they enter the zone"
_ONE_STREET = "one street is taken more often than others"
_AS_OTHERS = "this person's rides end as those of other people do"
_GEOLIFE = "the development people of GeoLife, never on the archive at hand"

ATTACKERS = {
    row.name: row
    for row in (
        Attacker("circle", ZONES, "fits a circle through the points where rides are cut",
                 "the zone is centred on the place", _RIDES, "places.cuts:circle"),
        Attacker("crossing", ZONES, "extends the rides straight and takes where they cross",
                 _STRAIGHT, _RIDES, "places.crossings:least_squares"),
        Attacker("robust crossing", ZONES, "the same, by the least sum of distances",
                 f"most {_STRAIGHT}", _RIDES, "places.crossings:robust"),
        Attacker("crossroads", ZONES, "extends the rides straight and takes where most pairs of them cross",
                 f"some {_STRAIGHT}", _RIDES, "places.crossings:crossroads"),
        Attacker("far crossroads", ZONES, "the same with the last kilometre's direction",
                 f"some {_STRAIGHT}", _RIDES, "places.crossings:far_crossroads"),
        Attacker("headings", ZONES, "rides head home, Bayes (κ = 2), mean",
                 _HOMEWARD, _RIDES, "places.crossings:heading_mean"),
        Attacker("headings, mode", ZONES, "the same, likeliest place (whatever κ)",
                 _HOMEWARD, _RIDES, "places.crossings:heading_mode"),
        Attacker("sharp headings", ZONES, "the same with κ = 8, mean",
                 _HOMEWARD, _RIDES, "places.crossings:sharp_heading_mean"),
        Attacker("commonest exit", ZONES, "the commonest exit, half a radius inward",
                 _ONE_STREET, _RIDES, "places.cuts:inward"),
        Attacker("back along", ZONES, "the commonest exit of stops, half a radius back along the way",
                 _ONE_STREET, _RIDES, "places.cuts:back_along"),
        Attacker("middle exit", ZONES, "the median of the exits, east and north",
                 "streets run north and east", _RIDES, "places.cuts:middle"),
        Attacker("learned", ZONES, "learned from others, most belief within 100 m",
                 _AS_OTHERS, _RIDES, "places.learned:likeliest", _GEOLIFE),
        Attacker("learned, nearest", ZONES, "learned from others, least expected distance",
                 _AS_OTHERS, _RIDES, "places.learned:nearest", _GEOLIFE),
        Attacker("centre", ZONES, "the zone's centre: no ride needed",
                 "nothing", "the zone alone", "places.cuts:centre"),
        Attacker("posterior", NOISE, "smooths the release: the exact belief about every moment",
                 "the person moves like one Gaussian prior", _LAW, "posterior:believe"),
        Attacker("audit", NOISE, "the same with the original at hand, against what the certificate promises",
                 "the person moves like the kernel that fits the original best", _LAW, "audit:audit"),
        Attacker("known point", NOISE, "takes the noise off a known moment and goes on from there",
                 "the person moves like one Gaussian prior", f"{_LAW}, and one true position",
                 "known_point:known_point_loss"),
        Attacker("stop and go", NOISE, "learns the place of one stop from all the time it lasts",
                 "the person stands still for a while and moves like a member of the class otherwise",
                 f"{_LAW}, and when the stop was", "stop_and_go:stopped_loss"),
        Attacker("nights at home", NOISE, "looks at one place for many nights, through noise that continues",
                 "the place never moves", "the law of the noise, and when the person is there",
                 "repetition:stay_attack"),
        Attacker("redrawn nights", NOISE, "the same, through noise that is drawn anew every night",
                 "the place never moves", "the law of the noise, and when the person is there",
                 "repetition:redrawn_stay_attack"),
        Attacker("averaging", NOISE, "takes the mean of several releases of the same moments",
                 "nothing", "several releases of one trace", "repetition:average_of"),
        Attacker("routine, place", NOISE, "finds a place from the days on which it is visited",
                 "every day is the same", _HOURS, "routine:place_cost"),
        Attacker("routine, way", NOISE, "finds a way from the days on which it is taken",
                 "every day is the same", _HOURS, "routine:route_cost"),
        Attacker("companions", NOISE, "takes people who travel together for as many looks at one way",
                 "each has noise of their own", "who travels together", "routine:companions_cost"),
    )
}  # fmt: skip
