"""What every campaign takes right now, as this server last read it.

Routes and the clock read at the same time, and a reading that began earlier may end later. It never replaces one that
began after it: a campaign that an operator paused, ended or deleted would take reports again, in this server only,
until somebody changed it once more.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from sqlalchemy.exc import NoResultFound

from sfumato.collect.service.answers import Refused
from sfumato.collect.service.store import Campaign, Destination, Store, StoredCycle

DELETED = Refused(410, "That campaign was deleted by its operator.")


@dataclass(frozen=True, slots=True, eq=False)
class CurrentOffer:
    """What a campaign takes right now."""

    campaign: Campaign
    cycle: StoredCycle
    cells: int
    destination: Destination


class CurrentOffers:
    """One for each campaign's name."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._offers: dict[str, CurrentOffer] = {}
        self._began = count(1)
        self._last: dict[str, int] = {}  # when the reading began that was kept

    def get(self, name: str) -> CurrentOffer | None:
        """That of a campaign, if it is known."""
        return self._offers.get(name)

    def all(self) -> list[CurrentOffer]:
        """Every campaign's, oldest first."""
        return sorted(self._offers.values(), key=lambda offer: offer.campaign.id)

    async def reload(self, campaign: Campaign) -> CurrentOffer:
        """As it is in the database now, its campaign too; 410 if that was deleted."""
        began = next(self._began)
        found = await self._store.campaign(campaign.id)
        if found is None:
            self.forget(campaign.name)
            raise DELETED
        offer = await self._read(found, began)
        if campaign.name not in self._offers:
            raise DELETED
        return offer

    async def refresh(self) -> None:
        """Look at every campaign again."""
        began = next(self._began)
        found = await self._store.campaigns()
        for campaign in found:
            with suppress(NoResultFound):  # deleted meanwhile
                await self._read(campaign, began)
        for gone in set(self._offers) - {campaign.name for campaign in found}:
            if self._last[gone] < began:  # else it was made meanwhile
                self.forget(gone)

    def forget(self, name: str) -> None:
        """A campaign that is no longer there."""
        self._offers.pop(name, None)
        self._last[name] = next(self._began)

    async def _read(self, campaign: Campaign, began: int) -> CurrentOffer:
        cycle = await self._store.current_cycle(campaign.id)
        asked = campaign.specification
        destination = Destination(
            campaign.id, cycle.number, asked.ticket_scope(cycle.number), asked.relayed_cap_reports
        )
        offer = CurrentOffer(campaign, cycle, asked.cell_count, destination)
        if began < self._last.get(campaign.name, 0):
            return self._offers.get(campaign.name, offer)
        self._offers[campaign.name], self._last[campaign.name] = offer, began
        return offer
