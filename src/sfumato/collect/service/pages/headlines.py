"""What a map can tell, in one sentence, and which rounds it is made of, in the reader's language."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.collect.service.models.kept import SharpnessFacts
from sfumato.collect.service.models.shown import ClosedCycleView
from sfumato.collect.service.pages.words import Words, words


def headline(told: SharpnessFacts, said: Words | None = None) -> str:
    """What so many reports can tell apart, and what finer would take."""
    tongue = said or words("en")
    known = {"reports": tongue.reports(told.reports)}
    if told.width_m is not None:
        known["width"] = _about(told.width_m, tongue)
    if told.more_reports is not None and told.finer_width_m is not None:
        known["more"] = tongue.count(_two_digits(told.more_reports))
        known["finer"] = _about(told.finer_width_m, tongue)
    if told.width_m is None:
        return tongue.say("head_not_yet_more" if "more" in known else "head_not_yet", **known)
    return tongue.say("head_apart" if "more" in known else "head_finest", **known)


def averaged(cycle: ClosedCycleView, said: Words) -> str:
    """The pooled map, called what it is: an average over rounds, where it is one."""
    if cycle.averaged_cycles <= 1:
        return said.say("when_round", round=cycle.cycle)
    out, first, missing = set(cycle.excluded_cycles), cycle.cycle, cycle.averaged_cycles - 1
    while missing and first > 1:
        first -= 1
        missing -= first not in out
    between = sorted(one for one in out if first < one < cycle.cycle)
    if not between:
        return said.say("when_average", first=first, last=cycle.cycle)
    return said.say("when_without", first=first, last=cycle.cycle, out=listed(between, said))


def listed(rounds: Sequence[int], said: Words) -> str:
    """2, 5 and 7."""
    numbers = [str(one) for one in rounds]
    if len(numbers) < 2:
        return "".join(numbers)
    return said.say("and", most=", ".join(numbers[:-1]), last=numbers[-1])


def _two_digits(count: int) -> int:
    """Rounded up: what is said to be enough is enough."""
    size = int("1".ljust(len(str(count)) - 1, "0"))
    return -(-count // size) * size


def _about(metres: float, said: Words) -> str:
    return said.length(float(f"{metres:.2g}"))
