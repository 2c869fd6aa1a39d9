"""Every attacker by name: what it does, what it assumes, what it is said to know, and where it stands.

To add one: write its file, add its row here (``docs/contributing/add_an_attacker.md``). A row names module and function
below ``sfumato.tracks.adversary``; they are loaded when the attacker is asked, so that one attack does not load them
all. What an attacker is given depends on what it attacks: those of hidden places take a
:class:`~sfumato.tracks.adversary.places.zone_view.ZoneView` and guess metres east and north of the zone's centre (None
where there is nothing to go by); those of noise take its law, or release and original, and say what is learned. Those
of *moments*, *regular places* and *people* are the suite that ``sfumato audit --attacks`` runs: they take a
:class:`~sfumato.tracks.adversary.releases.seen.SeenTrack` and what they are told besides
(:class:`~sfumato.tracks.adversary.releases.seen.Knowledge`), or what they know of one person and every release.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

ZONES, NOISE = "hidden places", "noise"
MOMENTS, REGULAR, STAYS, PEOPLE = "moments", "regular places", "stays", "people"
SUITE = (MOMENTS, REGULAR, STAYS, PEOPLE)


@dataclass(frozen=True, slots=True)
class Attacker:
    """One row; ``learned_from`` names the data an attacker was fitted to, where it was.

    ``bounded_by`` is the number of a certificate that holds against this attacker (the loss of a moment, or of a stay),
    for people of its class; empty where none does. ``mitigation`` is what helps, and what it costs.
    """

    name: str
    against: str
    words: str
    assumes: str
    knows: str
    home: str
    learned_from: str = ""
    bounded_by: str = ""
    mitigation: str = ""

    @property
    def attack(self) -> Callable[..., object]:
        """The function itself."""
        module, _, name = self.home.partition(":")
        inside = module if self.learned_from == OWN else f"sfumato.tracks.adversary.{module}"
        found: Callable[..., object] = getattr(import_module(inside), name)
        return found


OWN, OTHERS = "the code of whoever asks", "every second person of the data at hand, never the one attacked"
MOMENT, STAY = "worst_loss", "stay_loss"

_RIDES = "the zone and every published ride that stops at it"
_LAW = "the law of the noise, and the mean path exactly"
_HOURS = "the law of the noise, the hours of every day, and where the places named as known are"
_STRAIGHT = "rides go on straight inside the zone"
_HOMEWARD = "rides head home when they enter the zone"
_ONE_STREET = "one street is taken more often than others"
_AS_OTHERS = "this person's rides end as those of other people do"
_SHOWN, _AND_LAW = "the release alone", "the release, and the law of its noise where one is stated"
_MORE_NOISE = "correlated noise (multiscale): smoothing gains little; a track is as far off as the noise is large"
_HIDE = "`sfumato hide`: the place is cut out off-centre, with all points around it"
_ROUTINE = "leave regular days out, or withhold the places; noise alone does not last"
_TIMES = "release fewer, coarser or shifted times, and a short period under new ids"
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
        Attacker("as released", MOMENTS, "takes the release at its word", "nothing", _SHOWN,
                 "releases.moments.as_released:guess", bounded_by=MOMENT, mitigation=_MORE_NOISE),
        Attacker("smoothing", MOMENTS, "the posterior of the path under a prior that suits most people",
                 "Matérn-3/2, 900 s, 4 km", _AND_LAW, "releases.moments.likely_path:population",
                 bounded_by=MOMENT, mitigation=_MORE_NOISE),
        Attacker("fitted smoothing", MOMENTS, "the same under the prior that suits this release best",
                 "one of twelve Matérn-3/2 priors", _AND_LAW, "releases.moments.likely_path:best_fit",
                 bounded_by=MOMENT, mitigation=_MORE_NOISE),
        Attacker("correlated smoothing", MOMENTS, "the same for noise of unknown law that continues for a while",
                 "one of twelve priors and twelve kinds of noise", _SHOWN, "releases.moments.likely_path:unknown_law",
                 mitigation=_MORE_NOISE),
        Attacker("turning", MOMENTS, "the same for people who tend to turn one way round",
                 "east and north depend on each other", _AND_LAW, "releases.moments.one_way_round:guess",
                 mitigation="`--turning`: a third more noise covers it"),
        Attacker("repeated releases", MOMENTS, "the mean of several releases of the same moments, smoothed",
                 "noise was drawn anew each time", "a folder, or a file, that holds all of them",
                 "releases.moments.repeated_releases:guess",
                 mitigation="keep the noise of a moment (`--state`), or say how many there are (`--redraws`)"),
        Attacker("stops", MOMENTS, "the same, and one place for every stop of five minutes",
                 "people stop and go", _AND_LAW, "releases.moments.stops:guess",
                 mitigation="end a track where you stop, or withhold the place"),
        Attacker("remapping", MOMENTS, "moves every point to where other people usually are",
                 "you are where others are", f"{_AND_LAW}, and the releases of others",
                 "releases.moments.remapping:guess", mitigation="more noise than the crowd's places are apart"),
        Attacker("kept fields", MOMENTS, "adds up the speed and course that were kept",
                 "both are exact", f"{_AND_LAW}, with its kept speed and course",
                 "releases.moments.kept_fields:guess", mitigation="keep neither (the default)"),
        Attacker("kept altitude", MOMENTS, "looks for places that are as high as the altitude that was kept",
                 "a place is always as high", f"{_AND_LAW}, with its kept altitude, and other people's true tracks",
                 "releases.moments.kept_altitude:guess",
                 mitigation="keep no altitude (the default)"),
        Attacker("known moments", MOMENTS, "takes the noise off moments it knows, and what follows from it elsewhere",
                 "noise continues", f"{_AND_LAW}, and true positions (--knows)",
                 "releases.moments.known_moments:guess", mitigation="do not share days on which others saw you"),
        Attacker("roads", MOMENTS, "walks along known roads (hidden Markov model, forward and backward)",
                 "people stay on roads", f"{_AND_LAW}, and roads or other people's true tracks",
                 "releases.moments.roads:guess", mitigation="noise much wider than the streets are apart"),
        Attacker("learned path", MOMENTS, "a small recurrent network that learnt to undo releases (`[learned]`)",
                 "you move as others do", f"{_AND_LAW}, and releases and originals of others",
                 "releases.moments.learned_path:guess", OTHERS, mitigation="as for roads and smoothing: more noise"),
        Attacker("nights averaged", REGULAR, "the mean of all nights, or of all working hours",
                 "one is there at those hours", _AND_LAW, "releases.regular.averaging:hours",
                 bounded_by=STAY, mitigation=_HIDE),
        Attacker("known place", REGULAR, "the same, less the noise that shows at a place it knows",
                 "noise continues from place to place", f"{_AND_LAW}, and the other place (--knows)",
                 "releases.regular.averaging:known_place", mitigation=_HIDE),
        Attacker("ends of rides", REGULAR, "the mean of the fullest neighbourhood of the ends of rides",
                 "rides begin and end there", _AND_LAW, "releases.regular.commonest_end:guess",
                 bounded_by=STAY, mitigation=_HIDE),
        Attacker("zone inversion", REGULAR, "fits circles through the ends of rides; the middles of the two best",
                 "a zone is centred on the place", _SHOWN, "releases.regular.zone_inversion:guess",
                 mitigation=_HIDE),
        Attacker("extrapolation", REGULAR, "goes on straight from the ends of rides to where most of them cross",
                 _STRAIGHT, _SHOWN, "releases.regular.zone_inversion:extrapolate",
                 mitigation="a wider zone (1,600 m)"),
        Attacker("stays", STAYS, "the ten fullest neighbourhoods of ends and ten-minute means",
                 "people stay where they are often", _AND_LAW, "releases.regular.commonest_end:stays",
                 mitigation=_ROUTINE),
        Attacker("few moments", PEOPLE, "holds four true moments of one person against every release",
                 "nothing", "four true moments of the person, and the releases of all",
                 "releases.people.few_moments:score", mitigation=_TIMES),
        Attacker("top places", PEOPLE, "holds the three places somebody was at most against the later half of releases",
                 "habits last", "the earlier half of the person's track as it was, and the releases of all",
                 "releases.people.top_places:score", mitigation=_TIMES),
        Attacker("hours and shape", PEOPLE, "compares hours, weekdays and how densely somebody records",
                 "habits last", "the earlier half of the person's times, and the times of all releases",
                 "releases.people.activity:score", mitigation=_TIMES),
        Attacker("earlier tracks", PEOPLE, "matches the person's earlier rides (subsequence time warping)",
                 "rides are repeated", "the earlier half of the person's track as it was, and the releases of all",
                 "releases.people.earlier_tracks:score", mitigation=_ROUTINE),
    )
}  # fmt: skip
