"""What blind tickets cost: durable reports against those with linkable tickets, and tickets issued per second.

    python benchmarks/bench_tickets.py [--quick]

wrk sends prepared reports to one collector on SQLite with a campaign of either kind, in turns; the collector's own
processor time counts, so that what else runs on the machine does not. Then blinded tickets of 2048 bits are issued over
HTTP, each to a new device with its row on disk before the answer, and signed alone, by Python's integers and, where it
is installed, by gmpy2.
"""

from __future__ import annotations

import argparse
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

import httpx  # noqa: E402
from collector_harness import CollectorProcess, about, channel, create, run  # noqa: E402
from cryptography.hazmat.primitives.serialization import load_der_private_key  # noqa: E402

from bench_service import tickets_key, verdict, wrk  # noqa: E402
from needs import need  # noqa: E402
from sfumato.collect.service.rounds import round_key  # noqa: E402
from sfumato.collect.service.rounds.tickets import issue_ticket  # noqa: E402
from sfumato.collect.service.store.store import Store  # noqa: E402

NEEDED_SHARE, NEEDED_PER_S, NEEDED_GMPY2_PER_S = 0.5, 100, 800
BLINDED = "7" * 512
KINDS = ("linkable", "blind")


def main() -> int:
    """Run, print, and return 1 if a required number is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="Fewer reports and tickets.")
    quick = parser.parse_args().quick
    need("wrk")
    with tempfile.TemporaryDirectory() as folder, CollectorProcess(f"sqlite:///{folder}/bench.db") as collector:
        passed = [reports(collector, Path(folder), seconds=2 if quick else 5, rounds=3 if quick else 5)]
        passed += [issued(collector, count=100 if quick else 400), signed(count=50 if quick else 300)]
    return 0 if all(passed) else 1


def reports(collector: CollectorProcess, folder: Path, *, seconds: int, rounds: int) -> bool:
    """Durable reports per second of the collector's processor time, the first round left out."""
    spent: dict[str, list[float]] = {kind: [] for kind in KINDS}
    answered = dict.fromkeys(KINDS, 0)
    for kind in KINDS:
        create(collector.visitor, kind, tickets=kind, minimum_tickets=10**9)
    for _ in range(rounds + 1):
        for kind, times in spent.items():
            write_bodies(folder / "bodies", collector, kind, count=7_000 * seconds)
            before = processor_s(collector)
            result = wrk(collector, f"/api/v1/campaigns/{kind}/reports", folder / "bodies", seconds)
            assert result["failed"] == 0, result
            times.append((processor_s(collector) - before) / result["requests"])
            answered[kind] += int(result["requests"])
    linkable, blind = (statistics.median(spent[kind][1:]) for kind in KINDS)
    share = linkable / blind
    time.sleep(0.5)
    kept = all(about(collector.visitor, kind)["cycle"]["tickets"] >= count for kind, count in answered.items())
    print(
        f"durable reports per second of the collector's processor time: {1 / blind:.0f} with blind tickets, "
        f"{1 / linkable:.0f} with linkable ones; share {share:.2f}, needed {NEEDED_SHARE:.2f}: "
        f"{verdict(share >= NEEDED_SHARE)}; every answered report is in the tallies: {verdict(kept)}"
    )
    return share >= NEEDED_SHARE and kept


def write_bodies(path: Path, collector: CollectorProcess, kind: str, *, count: int) -> None:
    """Reports with tickets of new devices, signed here by the server's own keys: issuing costs no time in this part."""

    async def round_keys() -> bytes:
        store = Store(collector.database)
        found = next(one for one in await store.campaigns() if one.name == "blind")
        kept = await store.ticket_key(found.id, 1)
        await store.close()
        assert kept is not None
        return kept

    private, key = load_der_private_key(run(round_keys()), None), tickets_key(collector.database)
    version, expires_at_s = channel(collector.visitor, kind)["version"], int(time.time()) + 3600
    with path.open("w") as file:
        for _ in range(count):
            if kind == "blind":
                message = os.urandom(64)
                right = f"2-1-{message.hex()}-{private.sign(message, round_key._PSS, round_key._HASH).hex()}"
            else:
                about = {"campaign": kind, "scope": "1", "device": secrets.token_hex(32)}
                right = issue_ticket(key, cycle=1, expires_at_s=expires_at_s, **about)
            body = {"cell": secrets.randbelow(36), "version": version, "key": secrets.token_hex(16), "ticket": right}
            file.write(json.dumps(body) + "\n")


def issued(collector: CollectorProcess, *, count: int) -> bool:
    """Tickets per second of the collector's processor time, asked for one after the other on one connection."""
    with httpx.Client(base_url=collector.url, timeout=60) as visitor:
        before = processor_s(collector)
        for number in range(count):
            asked = {"cycle": 1, "device": secrets.token_hex(32), "blinded": f"{BLINDED[:-8]}{number:08x}"}
            answer = visitor.post("/api/v1/campaigns/blind/tickets", json=asked)
            assert answer.status_code == 200, answer.text
        rate = count / (processor_s(collector) - before)
    told = "gmpy2" if round_key.powmod_sec is not pow else "Python's integers"
    print(
        f"tickets of 2048 bits issued over HTTP: {rate:.0f} per second of the collector's processor time, by {told}; "
        f"needed {NEEDED_PER_S}: {verdict(rate >= NEEDED_PER_S)}"
    )
    return rate >= NEEDED_PER_S


def processor_s(collector: CollectorProcess) -> float:
    """The processor time the collector has used, in seconds."""
    assert collector.process is not None
    fields = Path(f"/proc/{collector.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
