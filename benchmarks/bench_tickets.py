"""What blind tickets cost: durable reports against those with linkable tickets, and tickets issued per second.

    python benchmarks/bench_tickets.py [--quick]

A collector in this process, on SQLite, with a campaign of either kind. Prepared bodies are read, checked, counted and on
disk in groups of 256 at once, of either kind in turns; what HTTP costs both is left out, so the share is the least one.
Then blinded tickets of 2048 bits are issued, each to a new device with its row on disk before the answer, and signed
alone, by Python's integers and, where it is installed, by gmpy2. Processor time counts, not the clock.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import statistics
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "helpers")]

from collector_harness import campaign_request, settings  # noqa: E402
from cryptography.hazmat.primitives.serialization import load_der_private_key  # noqa: E402

from bench_service import verdict  # noqa: E402
from sfumato.collect.service.door.answers import checked_body  # noqa: E402
from sfumato.collect.service.models.bodies import CampaignRequest, ReportRequest, TicketRequest  # noqa: E402
from sfumato.collect.service.rounds import round_key  # noqa: E402
from sfumato.collect.service.rounds.collector import Collector  # noqa: E402
from sfumato.collect.service.rounds.tickets import issue_ticket  # noqa: E402

NEEDED_SHARE, NEEDED_PER_S, NEEDED_GMPY2_PER_S = 0.5, 100, 800
BLINDED = "7" * 512
KINDS = ("linkable", "blind")
AT_ONCE = 256


def main() -> int:
    """Run, print, and return 1 if a required number is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="Fewer reports and tickets.")
    quick = parser.parse_args().quick
    passed = [*asyncio.run(collected(quick=quick)), signed(count=50 if quick else 300)]
    return 0 if all(passed) else 1


async def collected(*, quick: bool) -> list[bool]:
    """What a collector in this process does."""
    with tempfile.TemporaryDirectory() as folder:
        collector = Collector(settings(f"sqlite:///{folder}/bench.db"))
        await collector.start()
        for kind in KINDS:
            asked = campaign_request(kind, tickets=kind, minimum_tickets=10**9)
            await collector.create_campaign(CampaignRequest.model_validate(asked), who="bench")
        passed = [await reports(collector, groups=4 if quick else 20, rounds=3)]
        passed.append(await issued(collector, count=100 if quick else 300))
        await collector.stop()
    return passed


async def reports(collector: Collector, *, groups: int, rounds: int) -> bool:
    """Durable reports per second of processor time."""
    spent: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind in KINDS:
            ready = await bodies(collector, kind, groups * AT_ONCE)
            began = time.process_time()
            for at in range(0, len(ready), AT_ONCE):
                checked = [checked_body("application/json", one, ReportRequest) for one in ready[at : at + AT_ONCE]]
                known = await asyncio.gather(*(collector.count_report(kind, one) for one in checked))
                assert not any(known)
            spent[kind].append((time.process_time() - began) / len(ready))
    linkable, blind = (statistics.median(spent[kind]) for kind in KINDS)
    share = linkable / blind
    for kind in KINDS:
        _, cycle = await collector.fresh(kind)
        assert cycle.tickets == rounds * groups * AT_ONCE, "every report is in the tallies"
    print(
        f"durable reports per second of processor time: {1 / blind:.0f} with blind tickets, {1 / linkable:.0f} with "
        f"linkable ones; share {share:.2f}, needed {NEEDED_SHARE:.2f}: {verdict(share >= NEEDED_SHARE)}"
    )
    return share >= NEEDED_SHARE


async def bodies(collector: Collector, kind: str, count: int) -> list[bytes]:
    """Reports with tickets of new devices, signed here by the server's own keys: issuing costs no time in this part."""
    campaign, cycle = await collector.fresh(kind)
    kept = await collector.store.ticket_key(campaign.id, cycle.number)
    private = None if kept is None else load_der_private_key(kept, None)
    key, _ = await collector.store.secret("tickets_key", b"")

    def right() -> str:
        if private is None:
            about = {"campaign": kind, "scope": "1", "device": secrets.token_hex(32)}
            return issue_ticket(key, cycle=1, expires_at_s=int(time.time()) + 3600, **about)
        message = os.urandom(64)
        return f"2-1-{message.hex()}-{private.sign(message, round_key._PSS, round_key._HASH).hex()}"

    plain = {"version": cycle.version}
    return [
        json.dumps({"cell": secrets.randbelow(36), "key": secrets.token_hex(16), "ticket": right(), **plain}).encode()
        for _ in range(count)
    ]


async def issued(collector: Collector, *, count: int) -> bool:
    """Tickets per second of processor time, one after the other."""
    began = time.process_time()
    for number in range(count):
        asked = {"cycle": 1, "device": secrets.token_hex(32), "blinded": f"{BLINDED[:-8]}{number:08x}"}
        await collector.issue_ticket(
            "blind", checked_body("application/json", json.dumps(asked).encode(), TicketRequest)
        )
    rate = count / (time.process_time() - began)
    told = "gmpy2" if round_key.powmod_sec is not pow else "Python's integers"
    print(
        f"tickets of 2048 bits issued, each with its row on disk: {rate:.0f} per second of processor time, by {told}; "
        f"needed {NEEDED_PER_S}: {verdict(rate >= NEEDED_PER_S)}"
    )
    return rate >= NEEDED_PER_S


def signed(*, count: int) -> bool:
    """Blinded tickets signed per second of processor time, by either kind of integers."""
    good = []
    ways = [("Python's integers", int, pow, NEEDED_PER_S)]
    if round_key.powmod_sec is not pow:
        ways.append(("gmpy2", round_key.mpz, round_key.powmod_sec, NEEDED_GMPY2_PER_S))
    else:
        print("gmpy2 is not installed (pip install gmpy2): its part is left out")
    for name, number, power, needed in ways:
        round_key.mpz, round_key.powmod_sec = number, power
        key = round_key.RoundKey.new()
        began = time.process_time()
        for one in range(count):
            key.sign(bytes.fromhex(f"{BLINDED[:-8]}{one:08x}"))
        rate = count / (time.process_time() - began)
        good.append(rate >= needed)
        print(f"tickets of 2048 bits signed by {name}: {rate:.0f}/s on one core, needed {needed}: {verdict(good[-1])}")
    return all(good)


if __name__ == "__main__":
    raise SystemExit(main())
