"""How often the times alone tell an operator whose ticket came with which report, where tickets are blind.

    python benchmarks/evidence_tickets.py [--reports 20000] [--page docs/operator_threats.md]

People come at random moments of a round of 24 hours, ask for a ticket, and report after a delay:

* a page cannot stay open, so the delay is uniform up to 10 s. Every way to give each report one of the tickets of the
  10 s before it is then equally likely, and the operator's best guess for a report is the ticket that most of those
  ways give it. They are counted exactly, by a sum over the sets of tickets that are still out at each moment;
* a client that keeps running asks in the first half of the round and reports at a uniform moment of the second. Every
  order of the tickets is then equally likely whatever the times are: the best guess is right once in n.

Both are tried on simulated people too: the guesses that were right are counted beside what was computed.
``--page`` writes the table into the page. Exits with 1 when what was computed and what was counted do not agree.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import numpy as np

DAY_S, DELAY_S = 86_400, 10.0
PEOPLE = (10, 100, 1_000, 10_000, 30_000)
BEGIN, END = "<!-- linking: written by benchmarks/evidence_tickets.py -->", "<!-- end of linking -->"
Ways = dict[frozenset[int], float]


def best_guesses(tickets: np.ndarray, reports: np.ndarray, *, delay_s: float) -> tuple[np.ndarray, np.ndarray]:
    """For each report the ticket that most ways give it, and the share of the ways that do. Both in order of time."""
    events = sorted([(t, 0, i) for i, t in enumerate(tickets)] + [(t, 1, j) for j, t in enumerate(reports)])
    ends = tickets + delay_s
    before: list[Ways] = []
    ways: Ways = {frozenset(): 1.0}
    for now, kind, number in events:
        before.append(ways)
        ways = _after(ways, now, kind, number, ends)
    after: Ways = dict.fromkeys(ways, 1.0)
    guesses, shares = np.zeros(len(reports), int), np.zeros(len(reports))
    for (now, kind, number), out in zip(reversed(events), reversed(before), strict=True):
        back: Ways = {}
        weight: dict[int, float] = {}
        for state, count in out.items():
            if any(ends[ticket] < now for ticket in state):
                continue
            if kind == 0:
                back[state] = after.get(state | {number}, 0.0)
                continue
            total = 0.0
            for ticket in state:
                found = after.get(state - {ticket}, 0.0)
                total += found
                weight[ticket] = weight.get(ticket, 0.0) + count * found
            back[state] = total
        top = max(back.values())
        after = {state: count / top for state, count in back.items() if count > 0}
        if kind == 1:
            guesses[number] = max(weight, key=lambda one: weight[one])
            shares[number] = weight[guesses[number]] / sum(weight.values())
    return guesses, shares


def _after(ways: Ways, now: float, kind: int, number: int, ends: np.ndarray) -> Ways:
    """The ways to have these tickets out after one event, scaled so that they stay finite."""
    following: Ways = {}
    for state, count in ways.items():
        if any(ends[ticket] < now for ticket in state):
            continue  # a ticket whose report never came: no such way
        for one in [state | {number}] if kind == 0 else [state - {ticket} for ticket in state]:
            following[one] = following.get(one, 0.0) + count
    top = max(following.values())
    return {state: count / top for state, count in following.items()}


def page(rng: np.random.Generator, people: int, reports: int) -> tuple[float, float]:
    """How often the best guess is right where people use a page: as computed, and as counted."""
    shares, right = [], []
    part = min(people, 2_000)  # people of one stretch of the round, at the same rate
    while len(shares) < reports:
        asked = np.sort(rng.uniform(0, DAY_S * part / people, part))
        sent = asked + rng.uniform(0, DELAY_S, part)
        order = np.argsort(sent)
        guesses, share = best_guesses(asked, sent[order], delay_s=DELAY_S)
        shares.extend(share)
        right.extend(guesses == order)
    return float(np.mean(shares)), float(np.mean(right))


def waiting(rng: np.random.Generator, people: int, reports: int) -> float:
    """How often "first asked, first reported" is right where everybody waits; any other rule does as well."""
    right = []
    while len(right) < reports:
        asked = rng.uniform(0, DAY_S / 2, people)
        sent = rng.uniform(DAY_S / 2, DAY_S, people)
        right.extend(np.argsort(np.argsort(asked)) == np.argsort(np.argsort(sent)))
    return float(np.mean(right))


def main() -> int:
    """Print the table, and write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=20_000, help="of each number of people")
    parser.add_argument("--page", type=Path, help="write the table into this page")
    chosen = parser.parse_args()
    rng, good = np.random.default_rng(9474), True
    lines = ["| people a round of 24 h | page, delay up to 10 s | client that waits |", "|---|---|---|"]
    for people in PEOPLE:
        computed, counted = page(rng, people, chosen.reports)
        spread = math.sqrt(2 * computed * (1 - computed) / chosen.reports)  # those who are mixed up are so in pairs
        chance = waiting(rng, people, max(chosen.reports, 2 * people))
        good &= abs(computed - counted) <= 5 * spread + 1e-3 and abs(chance - 1 / people) <= 5 / math.sqrt(people * 1e4)
        lines.append(f"| {people:,} | {100 * computed:.3g} of 100 | 1 of {people:,} |")
        print(f"{lines[-1]}   (counted: page {100 * counted:.3g}, waiting {100 * chance:.3g} of 100)", flush=True)
    if chosen.page:
        start, rest = chosen.page.read_text(encoding="utf-8").split(BEGIN)
        table = "\n".join(lines)
        chosen.page.write_text(f"{start}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
