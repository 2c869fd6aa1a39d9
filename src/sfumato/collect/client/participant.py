"""Take part in a campaign: look at the channel, draw one report on this device, show it, and only then send it.

The order matters. :meth:`Participant.look` needs no place and no ticket. :meth:`Participant.prepare` draws the report
of this epoch once, debits it and puts it on disk *before* it returns, so that cancelling, reloading or calling again
shows the same report and never draws another, wherever the person is by then. :meth:`Participant.send` sends that
report; a resend keeps its cell, channel version and key and is counted once.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, cast

from sfumato.accountant.device import Device, debit
from sfumato.accountant.device_memory import BudgetEntry, CampaignMemory, DeviceMemory, KeptReport, KeptReveals, LogHead
from sfumato.base.errors import InputError, SfumatoError, VerificationFailed
from sfumato.collect.client.blind_tickets import blind_ticket, signature_from, ticket_text
from sfumato.collect.client.exact_draw import WORDS_PER_REPORT, cell_from_words, weights
from sfumato.collect.client.offer import (
    Caps,
    Offer,
    changed_terms,
    check_against_memory,
    check_log,
    check_offer,
    pack_log_weights,
    terms,
)
from sfumato.collect.client.public_log import check_extends, checked_log, heads_in
from sfumato.collect.client.request import RequestFailed, request, server_address
from sfumato.collect.client.reveals import Reveals
from sfumato.collect.client.wire import device_tag, epoch_turn

Delivery = Literal["counted", "counted before", "closed"]
_LONGEST_DELAY_S = 10.0


class NotSent(SfumatoError, ConnectionError):
    """The server did not take the report; it is kept and can be sent again unchanged."""


class NotYet(SfumatoError, RuntimeError):
    """It is not this device's turn: it reports in a later cycle of this epoch. Nothing was drawn or debited."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The report exactly as it will be sent, and what it gives away. ``state`` is drawn, sent or closed.

    ``send_at_s``: when it goes (in Unix seconds), where this device waits for a random moment of the round.
    """

    campaign: str
    epoch: str
    cell: int
    version: str
    cycle: int
    state: Literal["drawn", "sent", "closed"]
    drawn_now: bool
    reveals: Reveals
    send_at_s: float | None = None


class Participant:
    """One device's part in one campaign of one server."""

    def __init__(
        self,
        url: str,
        campaign: str,
        *,
        device: Device | None = None,
        caps: Caps | None = None,
        public_key: str | None = None,
        longest_delay_s: float | None = None,
        witness: str | None = None,
    ) -> None:
        """``public_key`` pins the server's key from elsewhere; without it the first key seen is pinned.

        ``longest_delay_s`` between ticket and report; None: until a random moment of the round's second half, where
        tickets are blind and rounds end by the clock, and up to 10 s elsewhere.

        ``witness``: another collector's address, or the address or file of heads that somebody republishes.
        """
        self.url: str = server_address(url)
        self.campaign = campaign
        self.device: Device = device or Device()
        self.caps: Caps = caps or Caps()
        self._key = public_key
        self._longest_delay_s = longest_delay_s
        self._witness = witness

    @property
    def _home(self) -> str:
        return f"{self.url}/api/v1/campaigns/{self.campaign}"

    @property
    def _name(self) -> str:
        return f"{self.url} {self.campaign}"

    def look(self, *, read_log: bool = True) -> Offer:
        """Fetch and check the current channel: no place, no ticket, the same request as everybody's."""
        memory = _ours(self.device.read(), self._name)
        offer = self._offered(memory)
        head = self._read_log(offer, memory) if read_log else None
        with self.device.change() as everything:
            self._keep(_ours(everything, self._name), offer, head)
        return offer

    def _offered(self, memory: CampaignMemory) -> Offer:
        document = self._json("GET", f"{self._home}/channel")
        offer = check_offer(document, caps=self.caps, pinned_key=self._key or memory.get("public_key"))
        if offer.campaign != self.campaign:
            raise VerificationFailed("The channel belongs to another campaign.", "Do not take part.")
        return offer

    def _keep(self, ours: CampaignMemory, offer: Offer, head: LogHead | None) -> None:
        """Compare an offer with what this device agreed to and saw, and remember it; what it agrees to if it is new."""
        check_against_memory(offer, ours, caps=self.caps)
        ours.setdefault("agreed", terms(offer))
        if self._key is None and ours.get("public_key") not in (None, offer.public_key):
            raise VerificationFailed("The server signs with another key than before.", "Do not take part.")
        ours["public_key"] = offer.public_key
        ours["versions"][str(offer.cycle)] = offer.version
        ours["rhythm"] = offer.rhythm
        if head is not None:
            ours["head"] = head
        if offer.cycle != ours.get("last_cycle"):
            ours["last_cycle"], ours["log_weights"] = offer.cycle, pack_log_weights(offer.output_weights)

    def _read_log(self, offer: Offer, memory: CampaignMemory) -> LogHead:
        """The head of the public log, which must go through what this device saw and what its witness republishes."""
        entries = self._json("GET", f"{self._home}/log").get("log")
        head = check_log(entries, offer, seen=memory["versions"], head=memory.get("head"))
        if self._witness is not None:
            told = witness_document(self._witness)
            known = list(heads_in(told, campaign=offer.campaign, public_key=offer.public_key))
            if not known:
                raise VerificationFailed(
                    "The witness republishes no head of this campaign's log.", "Name another witness, or none."
                )
            log = checked_log(entries, campaign=offer.campaign, public_key=offer.public_key)
            for one in known:
                check_extends(log, one, whose="The witness")
        return head

    def public_log(self) -> tuple[Offer, list[Mapping[str, object]]]:
        """The current channel and the public log, both checked; nothing is remembered."""
        offer = check_offer(self._json("GET", f"{self._home}/channel"), caps=self.caps, pinned_key=self._key)
        entries = self._json("GET", f"{self._home}/log").get("log")
        check_log(entries, offer)
        return offer, checked_log(entries, campaign=offer.campaign, public_key=offer.public_key)

    def join_again(self) -> Offer:
        """Agree to what a campaign has become since this device joined it, as to a new campaign.

        What was drawn before stays in the memory under another name, and stays spent; the ledger gets a line that says
        so. The versions seen are kept: a log that was rewritten is refused as before.
        """
        memory = _ours(self.device.read(), self._name)
        offer = self._offered(memory)
        changed = changed_terms(offer, memory)
        if not changed:
            raise InputError("The campaign is as this device joined it.", "There is nothing to agree to again.")
        head = self._read_log(offer, memory)
        with self.device.change() as everything:
            left = everything["campaigns"][self._name]
            ours: CampaignMemory = {"versions": dict(left["versions"]), "reports": {}}
            if "public_key" in left:
                ours["public_key"] = left["public_key"]
            # Refused here, nothing is left and nothing is agreed to.
            self._keep(ours, offer, head)
            everything["campaigns"][f"{self._name} (left before cycle {offer.cycle})"] = left
            everything["campaigns"][self._name] = ours
            entry: BudgetEntry = {"what": "joined again", "epsilon_per_km": 0.0, "delta": 0.0}
            entry |= {"server": self.url, "campaign": self.campaign, "name": f"changed: {', '.join(changed)}"}
            everything["entries"].append(entry)
        return offer

    def turn(self, offer: Offer) -> int:
        """The cycle in which this device reports: this one, or where one report serves an epoch, its own one of it.

        Were every device to report as soon as an epoch begins, the first cycle's map would have all the reports and the
        last none. A device that comes after its turn reports at once.
        """
        if offer.epoch_cycles is None:
            return offer.cycle
        with self.device.change() as everything:
            secret = _ours(everything, self._name).setdefault("secret", secrets.token_hex(32))
        first = offer.cycle - (offer.cycle - 1) % offer.epoch_cycles
        own = first + epoch_turn(self.campaign, offer.epoch, bytes.fromhex(secret), offer.epoch_cycles)
        return max(own, offer.cycle)

    def prepare(self, lat_deg: float, lon_deg: float, *, offer: Offer | None = None, early: bool = False) -> Prepared:
        """Draw, debit and keep this epoch's report, or return the one already drawn; the place is not kept.

        Before this device's :meth:`turn` in an epoch, and in the second half of a round whose reports wait for it,
        nothing is drawn and :class:`NotYet` is raised, unless ``early``.
        """
        offer = offer or self.look()
        turn = offer.cycle if early else self.turn(offer)
        cell = int(offer.grid.locate([lat_deg], [lon_deg], snap=True)[0])
        now_s = time.time()
        waits = not early and offer.tickets is not None and offer.tickets.round_s and self._longest_delay_s is None
        send_at_s = offer.tickets.report_moment_s(now_s) if waits and offer.tickets is not None else None
        with self.device.change() as everything:
            ours = _ours(everything, self._name)
            kept = ours["reports"].get(offer.epoch)
            if kept is not None:
                return _prepared(offer, kept, drawn_now=False)
            if turn > offer.cycle:
                raise NotYet(
                    f"This device's turn in this epoch is cycle {turn}, and this is cycle {offer.cycle}.",
                    "Come back then: reports spread over the epoch. Or report now (--now, early=True).",
                )
            if waits and send_at_s is None:
                raise NotYet(
                    "This is the second half of the round, in which only those report who asked for a ticket before.",
                    "Come back when the next round has begun. Or report now (--now, early=True), and let the moment "
                    "tell the operator which ticket was yours.",
                )
            check_against_memory(offer, ours, caps=self.caps)
            _refuse_another_address(everything, offer, self._name)
            waited_s = now_s - max(_drawn_at_s(everything, self._name), default=0)
            if waited_s < self.caps.minimum_epoch_s:
                raise InputError(
                    f"This device drew a report for this campaign {max(0, waited_s) / 60:.0f} minutes ago.",
                    f"It draws at most one every {self.caps.minimum_epoch_s / 60:.0f} min, however fast cycles close.",
                )
            entry: BudgetEntry = {
                "what": "report",
                "epsilon_per_km": offer.reveals.epsilon_per_km,
                "delta": 0.0,
                "server": self.url,
                "campaign": self.campaign,
                "epoch": offer.epoch,
            }
            debit(everything, entry)
            v, k = weights(offer.grid, offer.output_weights, cell, beta_per_m=offer.beta_per_m)
            drawn: KeptReport = {
                "cell": cell_from_words(v, k, [secrets.randbits(64) for _ in range(WORDS_PER_REPORT)]),
                "version": offer.version,
                "cycle": offer.cycle,
                "key": secrets.token_hex(16),
                "state": "drawn",
                "drawn_at_s": int(now_s),
                "reveals": cast(KeptReveals, asdict(offer.reveals)),
            }
            if offer.tickets is not None:
                drawn["ticket"] = blind_ticket(offer.tickets.modulus)
            if send_at_s is not None:
                drawn["send_at_s"] = send_at_s
            ours["reports"][offer.epoch] = drawn
        return _prepared(offer, drawn, drawn_now=True)

    def send(self, epoch: str | None = None, *, wait: Callable[[float], None] = time.sleep) -> Delivery:
        """Send the kept report of ``epoch`` (the latest by default): ticket, a random delay, then the report.

        Ticket and report go over separate connections and share no identifier the client could avoid. A report that
        waits for its moment (``send_at_s``) may be left: its ticket is kept, and sending again waits for the rest. One
        whose moment passed before it had a ticket is not sent, unless ``longest_delay_s`` is given.
        """
        with self.device.change() as everything:
            ours = _ours(everything, self._name)
            if not ours["reports"]:
                raise InputError("No report has been drawn.", "Call prepare first, and look at what it shows.")
            epoch = epoch if epoch is not None else list(ours["reports"])[-1]
            if epoch not in ours["reports"]:
                raise InputError(f"No report has been drawn for epoch {epoch}.", "Call prepare first.")
            report = ours["reports"][epoch].copy()
            secret = ours.setdefault("secret", secrets.token_hex(32))
        waits = self._longest_delay_s is None and "send_at_s" in report
        if waits and time.time() > report["send_at_s"] and "signature" not in report.get("ticket", {}):
            if self._is_over(report["cycle"]):
                self._mark(epoch, "closed")
                return "closed"
            raise NotSent(
                "The report's moment passed before its ticket was signed: sent now, the times would tell whose it is.",
                "Leave it, or accept that and send it: --longest-delay 10, longest_delay_s=10.",
            )
        status, answer = self._ask_ticket(epoch, report, device_tag(self.campaign, epoch, bytes.fromhex(secret)))
        if status == 200:
            longest_s = _LONGEST_DELAY_S if self._longest_delay_s is None else self._longest_delay_s
            wait(max(secrets.SystemRandom().random() * longest_s, report.get("send_at_s", 0.0) - time.time()))
            kept = {"cell": report["cell"], "version": report["version"], "key": report["key"]}
            status, answer = self._call("POST", f"{self._home}/reports", {**kept, "ticket": answer.get("ticket")})
        if status == 200:
            self._mark(epoch, "sent")
            return "counted before" if answer.get("duplicate") else "counted"
        if status == 410 or (status == 409 and self._is_over(report["cycle"])):
            if report["state"] != "sent":
                self._mark(epoch, "closed")
            return "counted before" if report["state"] == "sent" else "closed"
        raise NotSent(
            f"The server answered {status}: {answer.get('error')}", "The report is kept: send it again later."
        )

    def _ask_ticket(self, epoch: str, report: KeptReport, tag: str) -> tuple[int, Mapping[str, object]]:
        """The server's answer with the report's ticket in it, without its blinding and kept where tickets are blind."""
        kept, asked = report.get("ticket"), {"cycle": report["cycle"], "device": tag}
        if kept is None:
            return self._call("POST", f"{self._home}/tickets", asked)
        if "signature" not in kept:
            status, answer = self._call("POST", f"{self._home}/tickets", {**asked, "blinded": kept["blinded"]})
            if status != 200:
                return status, answer
            kept = {**kept, "signature": signature_from(kept, answer.get("ticket"))}
            with self.device.change() as everything:
                _ours(everything, self._name)["reports"][epoch]["ticket"] = kept
        return 200, {"ticket": ticket_text(report["cycle"], kept)}

    def _is_over(self, cycle: int) -> bool:
        status, document = self._call("GET", f"{self._home}/channel", None)
        try:
            return status == 200 and int(json.loads(str(document["payload"]))["cycle"]) > cycle
        except (ValueError, TypeError, KeyError, RecursionError):
            return False

    def _mark(self, epoch: str, state: Literal["sent", "closed"]) -> None:
        with self.device.change() as everything:
            _ours(everything, self._name)["reports"][epoch]["state"] = state

    def _json(self, method: str, address: str) -> Mapping[str, object]:
        status, answer = self._call(method, address, None)
        if status != 200:
            advice = "Check its name and the address." if status == 404 else "Try again later."
            raise NotSent(f"The server answered {status}: {answer.get('error')}", advice)
        return answer

    def _call(self, method: str, address: str, body: Mapping[str, object] | None) -> tuple[int, Mapping[str, object]]:
        try:
            return request(method, address, body)
        except RequestFailed as error:
            raise NotSent(f"The server cannot be reached ({error}).", "Try again later.") from error


def _ours(everything: DeviceMemory, name: str) -> CampaignMemory:
    ours = everything["campaigns"].setdefault(name, {"versions": {}, "reports": {}})
    ours.setdefault("versions", {})
    ours.setdefault("reports", {})
    return ours


def _drawn_at_s(everything: DeviceMemory, name: str) -> list[int]:
    """When reports were drawn for a campaign, also before this device joined it again."""
    known = everything["campaigns"].items()
    mine = [memory for one, memory in known if one == name or one.startswith(f"{name} (left")]
    return [report["drawn_at_s"] for memory in mine for report in memory.get("reports", {}).values()]


def _prepared(offer: Offer, kept: KeptReport, *, drawn_now: bool) -> Prepared:
    # What the report gives away is what the channel it was drawn from gives away, not the channel of today.
    told = Reveals(**kept["reveals"]) if "reveals" in kept else offer.reveals
    return Prepared(
        campaign=offer.campaign,
        epoch=offer.epoch,
        cell=kept["cell"],
        version=kept["version"],
        cycle=kept["cycle"],
        state=kept["state"],
        drawn_now=drawn_now,
        reveals=told,
        send_at_s=kept.get("send_at_s"),
    )


def witness_document(where: str) -> object:
    """What a witness republishes: a file, an address that ends in .json, or another collector's ``/api/v1/heads``."""
    if not where.startswith(("http://", "https://")):
        try:
            return json.loads(Path(where).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"The witness {where} cannot be read.", "Give a file of heads, or an address.") from error
    address = where if where.endswith(".json") else f"{server_address(where)}/api/v1/heads"
    try:
        status, answer = request("GET", address, None)
    except RequestFailed as error:
        raise NotSent(f"The witness cannot be reached ({error}).", "Try again later, or name another.") from error
    if status != 200:
        raise NotSent(f"The witness answered {status}.", "Name another.")
    return answer


def _refuse_another_address(everything: DeviceMemory, offer: Offer, name: str) -> None:
    """Two addresses that sign one campaign with one key are one server: one report per epoch through both."""
    for other, memory in everything["campaigns"].items():
        same = other != name and other.rpartition(" ")[2] == offer.campaign
        if same and memory.get("public_key") == offer.public_key and offer.epoch in memory.get("reports", {}):
            raise InputError(
                "This device already drew this campaign's report through another address of the same server.",
                f"Use {other.rpartition(' ')[0]} again: a second report of one cycle would reveal more.",
            )
