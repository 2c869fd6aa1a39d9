"""A table of people attacked person by person: how losses and errors are distributed, and who is worst off.

The *loss at their times* is exact, from the law of the noise and each person's own times (nothing of the original). The
attack itself (:mod:`sfumato.tracks.adversary.audit`) needs the original and is private. Of a large fleet some people
are attacked, and the first points of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from sfumato.accountant.compose import composed_losses
from sfumato.base.arrays import evenly
from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import mu_of, odds_at
from sfumato.base.shown import ShownAnswer
from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.audit import Audit, audit
from sfumato.tracks.certificates.verify import terms_of

MOST_PEOPLE, MOST_POINTS, MOST_LOSSES = 200, 3000, 1000
People = Sequence[tuple[str | None, Trace]]


@dataclass(frozen=True, slots=True)
class PersonLoss:
    """What one person's times give away: the loss per m² and the odds at the certificate's radius (None: unstated)."""

    person: str | None
    points: int
    loss_at_times: float | None
    odds_at_times: float | None


@dataclass(frozen=True, slots=True, eq=False)
class PersonAudit:
    """One person attacked with the original at hand."""

    person: str | None
    audit: Audit


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FleetAudit(ShownAnswer):
    """Everybody's losses, the attacks on (some of) them, and what a reader must know. Private."""

    people: int
    losses: tuple[PersonLoss, ...]
    persons: tuple[PersonAudit, ...]
    notes: tuple[str, ...] = ()

    @property
    def worst(self) -> PersonAudit:
        """Whom the adversary comes nearest to, after smoothing."""
        return min(self.persons, key=lambda one: one.audit.left_m)

    @property
    def unprotected(self) -> tuple[str, ...]:
        """People whose release is their original, to the metre."""
        return tuple(str(one.person) for one in self.persons if one.audit.unprotected)

    @property
    def broken(self) -> tuple[str, ...]:
        """People for whom the promise was not kept."""
        return tuple(str(one.person) for one in self.persons if one.audit.holds is False)

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        rows = [{"person": one.person, **one.audit.to_dict()} for one in self.persons]
        return {
            "private": True,
            "people": self.people,
            "losses": [asdict(one) for one in self.losses],
            "persons": rows,
            "worst_person": self.worst.person,
            "unprotected": list(self.unprotected),
            "broken": list(self.broken),
            "notes": list(self.notes),
        }


def person_losses(releases: People, certificate: Mapping[str, object]) -> tuple[PersonLoss, ...]:
    """The exact loss at each person's own times, from the release and its certificate alone.

    Of more than a thousand people a thousand, evenly chosen.
    """
    terms = terms_of(certificate)
    radius_m, own = terms.target.radius_m, terms.own_times
    out = []
    for k in evenly(len(releases), MOST_LOSSES).tolist():
        person, trace = releases[k]
        times = (trace.times_s,) if own else ()
        loss = composed_losses(terms.mechanism.losses(times), terms.mechanism.redraws).loss_at_times
        odds = None if loss is None else odds_at(mu_of(loss, radius_m))
        out.append(PersonLoss(person, len(trace), loss, odds))
    return tuple(out)


def audit_fleet(
    originals: People,
    releases: People,
    certificate: Mapping[str, object],
    *,
    prior: str = "fit",
    step: Callable[[], None] = lambda: None,
) -> FleetAudit:
    """Attack everybody (at most two hundred, evenly chosen) with the original at hand; ``step`` after each."""
    if [person for person, _ in originals] != [person for person, _ in releases]:
        raise InputError("The original and the release hold different people.", "Give the release of this original.")
    chosen, notes = attacked_people(len(originals)), []
    if len(chosen) < len(originals):
        notes.append(f"{len(chosen)} of {len(originals)} people, evenly chosen, were attacked.")
    if any(len(originals[k][1]) > MOST_POINTS for k in chosen):
        notes.append(f"Of tracks of more than {MOST_POINTS} points the first {MOST_POINTS} were attacked.")
    found = []
    for k in chosen:
        one, other = (first_points(people[k][1], MOST_POINTS) for people in (originals, releases))
        found.append(PersonAudit(originals[k][0], audit(one, other, certificate, prior=prior, held_out=False)))
        step()
    return FleetAudit(len(originals), person_losses(releases, certificate), tuple(found), tuple(notes))


def attacked_people(people: int) -> list[int]:
    """Which of so many people are attacked."""
    return [int(k) for k in evenly(people, MOST_PEOPLE)]


def first_points(trace: Trace, points: int) -> Trace:
    """The trace, cut after so many points."""
    if len(trace) <= points:
        return trace
    return Trace(*(getattr(trace, name)[:points] for name in ("lat_deg", "lon_deg", "times_s", "segment")))
