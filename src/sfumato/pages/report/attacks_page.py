"""The page of the attack suite: one line per attack in plain words, private or public."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.base.drawing.svg import bullets, element, escape
from sfumato.base.errors import InputError
from sfumato.pages.report.archive_page import Mark, archive_map
from sfumato.pages.report.parts import PRIVATE, page, section, table
from sfumato.tracks.attacks.outcomes import GOALS, HOME, WORK, Attempt, Suite, in_100
from sfumato.tracks.attacks.suite import attacker_named

FEWEST_IN_PUBLIC = 20
_PUBLIC = "Computed from originals that are not shown. Shares are of all people together; nobody is shown alone."


def attacks_page(found: Suite, *, public: bool) -> str:
    """The private page has every sentence; the public one shares over at least twenty people, and no distances."""
    if public and found.people < FEWEST_IN_PUBLIC:
        raise InputError(
            f"A public page about {found.people} people would tell about each of them.",
            f"Leave --public out, or attack at least {FEWEST_IN_PUBLIC} people.",
        )
    parts = [
        section(f"{GOALS[goal][0].upper()}{GOALS[goal][1:]}", _body(goal, found.outcomes, public=public))
        for goal in GOALS
    ]
    return page(
        "Attacks on a release" if public else "Attacks on a release (private)",
        _PUBLIC if public else PRIVATE,
        "",
        section("What was found", element("p", escape(_headline(found, public=public)))),
        "" if public else _map(found),
        *parts,
        section("What to know", bullets([*found.notes, *_meaning()])),
    )


def _map(found: Suite) -> str:
    """One person before and after, where they live and work, and where attackers think they do."""
    if found.sketch is None:
        return ""
    true = [Mark(lat, lon, "place", words=f"true {goal}") for goal, lat, lon in found.sketch.places]
    thought = [
        Mark(*one.at_deg, "guess", words=f"{one.goal}? {one.attacker}")
        for one in found.outcomes
        if one.at_deg is not None and one.goal in (HOME, WORK)
    ]
    lines = [("original", found.sketch.original), ("release", found.sketch.release)]
    drawing = archive_map(lines, [*thought, *true], "Original, release, and where attackers look for home and work")
    words = "One person, means over ten minutes: original, release, the true places, and where each attack looks."
    return section("On the map", drawing + element("p", escape(words)))


def _headline(found: Suite, *, public: bool) -> str:
    if not public:
        return found.headline()
    goals = [goal for goal in GOALS if (best := found.best(goal)) is not None and best.finds]
    return f"Better than a blind guess: {', '.join(goals)}." if goals else found.headline()


def _body(goal: str, outcomes: Sequence[Attempt], *, public: bool) -> str:
    there = [one for one in outcomes if one.goal == goal and one.after is not None]
    if not there:
        return ""
    if not public:
        return bullets(f"{one.sentence()} It knows {_knows(one)}." for one in there)
    rows = [(one.attacker, _maybe(_share(one)), _maybe(one.by_luck), _maybe(one.allowed), _knows(one)) for one in there]
    return table(("Attacker", "Found", "A blind guess", "Allowed by the certificate", "What it knows"), rows)


def _share(one: Attempt) -> float | None:
    return None if one.after is None else one.after.share


def _maybe(share: float | None) -> str:
    return "-" if share is None else in_100(share)


def _knows(one: Attempt) -> str:
    return attacker_named(one.attacker).knows


def _meaning() -> list[str]:
    return [
        "A blind guess is the same guess about somebody else, or about another moment.",
        "Moments are the first 1,500 points of each person; places and people are attacked with means over ten minutes "
        "of everything.",
        "What these attackers do not find, others may: only a certificate bounds those it names.",
    ]
