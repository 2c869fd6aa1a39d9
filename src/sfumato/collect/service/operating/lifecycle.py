"""An operator's day: pause, resume, texts, end, archive, delete, cycles left out, times set right.

    running ⇄ paused → ended → archived → (deleted)

Each act is one transaction with its line in the audit log. A paused campaign takes no report and closes no cycle; its
open cycle is due as much later as the pause lasted. An ended one never takes another report: its open cycle is
published if it may be (k tickets and its minimum time), and never otherwise.

Backups are made and kept on the server's own disk, never sent by HTTP: a backup holds the keys that sign channels and
tickets. Somebody who stole an operator's token can make and delete backups, and read none.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from sfumato.base.errors import InputError
from sfumato.collect.service.models.bodies import TextsRequest
from sfumato.collect.service.models.kept import CampaignState
from sfumato.collect.service.models.replies import BackupView, Refused
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.rounds.current import SteadyClock
from sfumato.collect.service.rounds.cycle_estimate import EstimateTask, estimate_apart
from sfumato.collect.service.rounds.signed_offers import refuse_brackets
from sfumato.collect.service.store.backup import back_up
from sfumato.collect.service.store.operations import Deed
from sfumato.collect.service.store.records import Campaign, StoredCycle, StoredEstimate

SCHEDULE = "schedule"
"""Who ended it, in the audit log."""
BACKUP_NAME = r"^sfumato-[0-9]{8}-[0-9]{6}\.backup$"
_MOST_BACKUPS = 50
_log = logging.getLogger("sfumato.collect.service")


@dataclass(frozen=True, slots=True)
class Ended:
    """A campaign that has ended, and whether its last cycle was published, or why not."""

    campaign: Campaign
    cycle: StoredCycle
    published: bool
    reason: str


async def pause(collector: Collector, name: str, *, who: str, reason: str = "") -> tuple[Campaign, StoredCycle]:
    """Take no report until resumed."""
    return await _move(collector, name, ("running",), "paused", who=who, action="pause", reason=reason)


async def archive(collector: Collector, name: str, *, who: str, reason: str = "") -> tuple[Campaign, StoredCycle]:
    """Take an ended campaign out of the lists; its pages and files stay where they are."""
    return await _move(collector, name, ("ended",), "archived", who=who, action="archive", reason=reason)


async def resume(collector: Collector, name: str, *, who: str, reason: str = "") -> tuple[Campaign, StoredCycle]:
    """Take reports again."""
    campaign = await collector.campaign(name)
    if not await collector.store.operations.resume(campaign.id, _deed(collector, who, "resume", name, reason=reason)):
        raise Refused(409, f"The campaign is {campaign.state}; only a paused one is resumed.")
    await collector.current.refresh()
    return await collector.fresh(name)


async def edit(collector: Collector, name: str, texts: TextsRequest, *, who: str) -> tuple[Campaign, StoredCycle]:
    """Change what is said about a campaign; what it promises never changes."""
    campaign = await collector.campaign(name)
    changes = {field: value for field, value in texts.model_dump().items() if value is not None}
    if not changes:
        raise InputError(
            "There is nothing to change.", "Give a title, question, description, organiser, contact, language or end."
        )
    if "ends_at_s" in changes:
        if 0 < changes["ends_at_s"] <= collector.now():
            raise Refused(409, "ends_at_s: it would have ended already. Choose a later end, or end it now.")
        changes["ends_at_s"] = changes["ends_at_s"] or None
    rewritten = campaign.specification.model_copy(update=changes)
    if not campaign.specification.brackets:  # what was complete stays so; campaigns from before may fill in a part
        refuse_brackets(rewritten, collector.settings)
    await collector.store.operations.rewrite(campaign.id, rewritten, _deed(collector, who, "edit", name, **changes))
    await collector.current.refresh()
    return await collector.fresh(name)


async def end(collector: Collector, name: str, *, who: str, reason: str = "") -> Ended:
    """Never take another report; publish the open cycle if it may be."""
    campaign, cycle = await _move(collector, name, ("running", "paused"), "ended", who=who, action="end", reason=reason)
    missing = collector.closer.missing(campaign, cycle) if cycle.state == "open" else "it is being closed already"
    published = not missing and await collector.closer.close(campaign, cycle)
    if published or cycle.state == "open":
        await collector.store.operations.forget_reporters(campaign.id)
        collector.store.scrubbing_due = True
    await collector.notifier.announce(
        "end",
        name=name,
        title=campaign.specification.title,
        language=campaign.specification.language,
        now_s=collector.now(),
        cycle=cycle.number,
    )
    campaign, cycle = await collector.fresh(name)
    return Ended(campaign, cycle, published, missing or ("published" if published else "somebody else is closing it"))


async def delete(collector: Collector, name: str, *, confirm: str, who: str) -> None:
    """Delete everything of a campaign that takes no reports; its name is given again only if it left no report."""
    campaign = await collector.campaign(name)
    if confirm != name:
        raise Refused(409, "confirm: write the campaign's name to delete it.")
    if campaign.state == "running":
        raise Refused(409, "A campaign that runs is not deleted; end it first.")
    log = await collector.store.log(campaign.id)
    reports = await collector.store.operations.reports_ever(campaign.id)
    last = log[-1].entry if log else ""
    deed = _deed(collector, who, "delete", name, versions=len(log), last_entry=last, reports=reports)
    await collector.store.operations.delete(campaign.id, deed)
    collector.current.forget(name)
    collector.store.scrubbing_due = True
    await collector.store.scrub()


async def leave_out(
    collector: Collector, name: str, number: int, *, yes: bool, who: str, reason: str = ""
) -> tuple[list[int], int | None]:
    """Leave a closed cycle out of the map (or take it in again) and estimate again without (with) it.

    Returns the cycles left out and the cycle whose map was revised: the latest that is not left out. Maps of earlier
    cycles stay as they were published. What devices have spent stays as it was: they have reported.
    """
    campaign = await collector.campaign(name)
    store = collector.store
    found = await store.closed_cycle(campaign.id, number)
    if found is None:
        raise Refused(404, "That cycle is not closed (yet).")
    out = set(await store.operations.cycles_left_out(campaign.id))
    if (number in out) == yes:
        raise Refused(409, f"Cycle {number} is {'already' if yes else 'not'} left out.")
    out = out | {number} if yes else out - {number}
    closed = {cycle.number: estimate for cycle, estimate in await store.closed_cycles(campaign.id)}
    kept = [cycle for cycle in sorted(closed) if cycle not in out]
    if not kept:
        raise Refused(409, "It is the only cycle; without it there is no map. End or delete the campaign instead.")
    revised = await _estimate_again(collector, campaign, closed[kept[-1]], out)
    deed = _deed(collector, who, "exclude" if yes else "include", name, cycle=number, reason=reason)
    if not await store.operations.leave_out(found[0], yes=yes, revised=revised, deed=deed):
        raise Refused(409, "Somebody else changed this cycle at the same time; look again.")
    return sorted(out), revised.cycle


async def reschedule(collector: Collector, name: str, *, who: str, reason: str = "") -> tuple[Campaign, StoredCycle]:
    """Begin the open cycle's time again now, by the machine's clock as it is: the way out after a clock was wrong."""
    campaign, cycle = await collector.fresh(name)
    if isinstance(collector.now, SteadyClock):
        collector.now.adopt()
    now_s = int(collector.now())
    deed = _deed(collector, who, "reschedule", name, was_due_at_s=cycle.due_at_s, reason=reason)
    await collector.store.operations.reschedule(
        cycle, opened_at_s=now_s, due_at_s=campaign.specification.due_at_s(now_s), deed=deed
    )
    return await collector.fresh(name)


async def _estimate_again(
    collector: Collector, campaign: Campaign, before: StoredEstimate, out: set[int]
) -> StoredEstimate:
    pooled = collector.settings.whole("pooled_cycles")
    asked = campaign.specification
    counts = await collector.store.counts(campaign.id, cells=asked.cell_count, up_to=before.cycle, pooled=pooled)
    kept = tuple(one for one in counts if one.cycle not in out)
    alarmed = tuple(cycle for cycle in await collector.store.operations.alarms_of(campaign.id) if cycle < before.cycle)
    left_out = tuple(cycle for cycle in out if cycle < before.cycle)
    result = await estimate_apart(EstimateTask(asked, kept, None, collector.settings, None, alarmed, left_out))
    as_before = ("spent_epsilon_per_km", "emd_to_previous_m")
    facts = result.facts.model_copy(update={name: getattr(before.facts, name) for name in as_before})
    if facts.map_odds is not None and before.facts.map_odds is not None:  # devices have spent what they have spent
        together = max(facts.map_odds.together, before.facts.map_odds.together)
        facts = facts.model_copy(update={"map_odds": facts.map_odds.model_copy(update={"together": together})})
    return replace(result, cycle=before.cycle, facts=facts)


async def _move(
    collector: Collector, name: str, before: tuple[CampaignState, ...], after: CampaignState, *, who: str, action: str,
    reason: str,
) -> tuple[Campaign, StoredCycle]:  # fmt: skip
    campaign = await collector.campaign(name)
    deed = _deed(collector, who, action, name, reason=reason)
    if not await collector.store.operations.change_state(campaign.id, before, after, deed):
        raise Refused(409, f"The campaign is {campaign.state}; it must be {' or '.join(before)} for this.")
    await collector.current.refresh()
    return await collector.fresh(name)


def _deed(collector: Collector, who: str, action: str, name: str, **detail: object) -> Deed:
    return Deed(int(collector.now()), who, action, name, {key: value for key, value in detail.items() if value != ""})


async def end_what_is_over(collector: Collector) -> list[str]:
    """End every campaign whose time has come; of several servers exactly one does."""
    ended = []
    for offer in await collector.offers():
        campaign = offer.campaign
        ends_at_s = campaign.specification.ends_at_s
        if campaign.state in ("running", "paused") and ends_at_s is not None and ends_at_s <= collector.now():
            try:
                await end(collector, campaign.name, who=SCHEDULE, reason="its end had come")
            except Refused:  # another server was quicker
                await collector.current.refresh()
            else:
                ended.append(campaign.name)
    return ended


async def watch_ends(collector: Collector) -> None:
    """Look now and then, for as long as the server runs."""
    pause_s = max(collector.settings.number("tick_s"), 0.2)
    while True:
        await asyncio.sleep(pause_s)
        try:
            await end_what_is_over(collector)
        except Exception as error:
            # It is tried again; the type only, a message could quote data.
            _log.warning("Looking at the campaigns' ends failed: %s", type(error).__name__)


def folder_of(collector: Collector) -> Path | None:
    """Where they are kept, or None."""
    chosen = collector.settings.text("backup_folder")
    return Path(chosen) if chosen else None


def backups_of(collector: Collector) -> list[BackupView]:
    """The backups there are, newest first."""
    folder = folder_of(collector)
    if folder is None or not folder.is_dir():
        return []
    found = sorted(folder.glob("sfumato-*.backup"), reverse=True)
    return [BackupView(name=one.name, made_at_s=int(one.stat().st_mtime), bytes=one.stat().st_size) for one in found]


async def make_backup(collector: Collector, *, who: str) -> None:
    """A new backup."""
    folder = folder_of(collector)
    if folder is None:
        raise Refused(409, "Backups are not made here: the setting backup_folder is empty.")
    if len(backups_of(collector)) >= _MOST_BACKUPS:
        raise Refused(409, f"There are {_MOST_BACKUPS} backups. Delete old ones first.")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    name = time.strftime("sfumato-%Y%m%d-%H%M%S.backup", time.gmtime(collector.now()))
    if (folder / name).exists():
        raise Refused(409, "A backup was made in this very second; wait a moment.")
    held = await back_up(collector.settings.text("database"), folder / name)
    told = {"name": name, "campaigns": held.campaigns, "reports": held.reports}
    await collector.store.audit.write(Deed(int(collector.now()), who, "backup", None, told))


async def remove_backup(collector: Collector, name: str, *, who: str) -> None:
    """Delete a backup."""
    folder = folder_of(collector)
    if folder is None or not (folder / name).is_file():
        raise Refused(404, "There is no backup of that name.")
    (folder / name).unlink()
    await collector.store.audit.write(Deed(int(collector.now()), who, "delete backup", None, {"name": name}))
