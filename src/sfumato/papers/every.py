"""All reproductions, a few at a time in processes of their own, and what became of every claim."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

from sfumato.papers import REPRODUCTIONS, Reproduction, reproduce
from sfumato.papers.claims import Claim, unchecked
from sfumato.papers.geolife import DataNotHere

# The longest first, so that no process is left alone with one at the end.
LONGEST = (
    "cip-figure-2",
    "privic-figure-3",
    "cip-home-temperature",
    "privic-starts",
    "privic-figure-9",
    "privic-figure-8",
)


@dataclass(frozen=True, slots=True, eq=False)
class Done:
    """One finished reproduction and how long it took."""

    result: Reproduction
    seconds: float


def run_one(name: str, quick: bool) -> Done:
    """One reproduction; where its data may not ship and is not here, its claims cannot be checked."""
    began = time.perf_counter()
    try:
        result = reproduce(name, quick=quick)
    except DataNotHere as missing:
        claim = unchecked(
            f"everything about {REPRODUCTIONS[name].words}", whose=REPRODUCTIONS[name].heading, because=missing.what
        )
        result = Reproduction(name, REPRODUCTIONS[name].words, {}, (claim,), notes=(missing.advice,))
    return Done(result, time.perf_counter() - began)


def run_all(*, quick: bool, workers: int | None = None, names: Sequence[str] | None = None) -> Iterator[Done]:
    """Every reproduction as it finishes; the order is that of finishing."""
    chosen = list(REPRODUCTIONS if names is None else names)
    chosen.sort(key=lambda name: LONGEST.index(name) if name in LONGEST else len(LONGEST))
    count = min(workers or os.cpu_count() or 1, len(chosen))
    if count == 1:
        yield from (run_one(name, quick) for name in chosen)
        return
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(run_one, name, quick) for name in chosen]
        for future in as_completed(waiting):
            yield future.result()


def in_order(done: Sequence[Done]) -> list[Done]:
    """The finished reproductions in the order of the list."""
    place = {name: number for number, name in enumerate(REPRODUCTIONS)}
    return sorted(done, key=lambda one: place[one.result.name])


def all_claims(done: Sequence[Done]) -> list[Claim]:
    """Every claim of every reproduction."""
    return [claim for one in done for claim in one.result.claims]
