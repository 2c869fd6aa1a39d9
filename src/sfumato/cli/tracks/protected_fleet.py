"""What ``protect`` does for a table of people: who travels together, and the released table."""

from __future__ import annotations

import typer

from sfumato.base.numbers.odds import odds_words
from sfumato.tracks.adversary.companions import worst_group
from sfumato.tracks.adversary.routine import companions_cost
from sfumato.tracks.io.tables.fleet_file import write_fleet
from sfumato.tracks.people.protection import ProtectedFleet

__all__ = ["companions", "write_fleet"]


def companions(done: ProtectedFleet, *, json: bool) -> dict[str, object]:
    """The worst group of a fleet, measured and printed before anything is written; for the steward, not the release."""
    found = worst_group(done.originals)
    if found.alone or done.body["mu"] is None:
        said = "Nobody was found to travel together." if found.alone else "This mechanism promises nothing for groups."
        if not json:
            typer.echo(said)
        return {"worst_group": {"people": found.people, "together_s": found.together_s, "odds_99": None}}
    cost = companions_cost(done.body, found.people)
    if not json:
        typer.echo(
            f"Worst group: {found.people} people travel together, two of them for {found.together_s / 60:.0f} minutes. "
            f"Of their common way the release gives away odds of {odds_words(cost.odds_99) or 'any size'}: leave all "
            f"but one of them out, or use --redraws {found.people}, which sizes the noise for such a group."
        )
    return {"worst_group": {"people": found.people, "together_s": found.together_s, "odds_99": cost.odds_99}}
