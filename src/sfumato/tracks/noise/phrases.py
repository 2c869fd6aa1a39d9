"""Sentences that several mechanisms share: what no noise on positions covers, and what is assumed."""

from __future__ import annotations

import re

NOT_COVERED = (
    "A routine: the same way, or the same hours at the same places, repeated over days. Every repetition is another "
    "look at the same thing, and the noise of many days averages out; `sfumato cost` computes what it costs.",
    "A regular place (home, work, a school) whenever another regular place of yours is known: the noise learnt at the "
    "one gives the other away, more with every day; `sfumato cost` computes how much. Withhold regular places "
    "(`sfumato hide`).",
    "People who travel together: k companions on one way, each with noise of their own, are k looks at one way.",
    "The odds and delta average over traces that move like the prior class says; one fixed or atypical trace may fare "
    "worse, so may you against somebody who believes that you move otherwise than you do, and somebody who stops and "
    "goes is not Gaussian.",
    "A moment or a pair of places picked after seeing the release: 99 times in 100 is for one picked beforehand, and "
    "for odds in favour of where you were. In favour of either place the limit is odds_99_either_way.",
    "An adversary with a menu of known routes, roads or places (a mixture of means) can learn more; so can whoever "
    "learns the roads from other people's releases, which shows the constant part of a long release's noise.",
    "An adversary who knows where you truly were at some moment: from there they know the noise, and the moments "
    "around it.",
    "Coordinates that depend on each other with a lag (zigzags, streets in a grid, laps): what is north now was east "
    "before, and both are looks at the same thing. Over the class there is no limit (`sfumato cost --laps` computes "
    "laps); for people who tend to turn one way round there is one: if_turning.",
    "Questions about several moments together (direction, speed, the shape of the path) beyond the losses stated.",
    "The times themselves, the gaps between them, the number of points and of segments: they are released as they are.",
    "The whole-degree cell (about 100 km) the path lies in.",
    "Two different positions given for one moment: they get the same noise, so their difference is released as it is.",
    "Anything you asked to keep, and what you tell or publish elsewhere.",
    "Noise state, seed and private report: whoever reads one of them can undo the protection.",
)
STAYS_NOT_COVERED = (
    "A place returned to on many days, or stayed at for longer than the longest length scale: this mechanism has no "
    "constant share, so an unknown place is learned from a long stay."
)
FITTED_WARNING = (
    "The prior was fitted to this very trace, so the noise's shape is chosen from private data: the claim 'nothing was "
    "chosen from the trace' does not hold for this release."
)
INDEPENDENT_AXES = "the two coordinates are independent of each other, in some fixed rotation of the map"
TURN_TOGETHER = (
    "the two coordinates are independent of each other in some fixed rotation of the map, or turn together: a law that "
    "does not change when the map is turned"
)
KNOWN_MEAN = "the adversary may know the mean path exactly; the noise is independent of the path"
_ABOUT_PEOPLE = (
    (
        r"Anything you asked to keep, and what you tell or publish",
        "Anything that was kept, and what is told or published",
    ),
    (
        r"so may you against (.*?) that you move otherwise than you do",
        r"so may they against \1 that they move otherwise",
    ),
    (r"\byou (stay|move)\b", r"a person \1s"),
    (r"\byou (truly |also )?were\b", r"a person \1was"),
    (r"\byou might\b", "a person might"),
    (r"\bof yours\b", "of theirs"),
    (r"\b([Yy])our\b", "their"),
)


def about_people(text: str) -> str:
    """The same sentence about the people of a table: whoever reads it is none of them."""
    for said, instead in _ABOUT_PEOPLE:
        text = re.sub(said, instead, text)
    return text
