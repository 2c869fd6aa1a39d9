"""Sentences that several mechanisms share: what no noise on positions covers, and what is assumed."""

from __future__ import annotations

NOT_COVERED = (
    "The odds and delta average over traces that move like the prior class says; one fixed or atypical trace may fare "
    "worse.",
    "An adversary with a menu of known routes, roads or places (a mixture of means) can learn more.",
    "An adversary who knows where you truly were at a nearby time: knowing one point 10 s or 60 s away has been "
    "measured to give 13.3 or 2.0 times the floor.",
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
KNOWN_MEAN = "the adversary may know the mean path exactly; the noise is independent of the path"
