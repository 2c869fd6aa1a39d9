"""The service's only calls into the mathematics: the first channel, and what a closed cycle publishes.

An estimate is made in a process of its own: the server goes on answering, and its memory goes back when it ends. The
child gets a snapshot on its standard input and answers on its standard output; both are this program's own, so pickled
values may pass. Small campaigns are estimated in a thread: starting a process would take longer.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec, module_from_spec
from itertools import zip_longest

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.collect import loop as collection
from sfumato.collect.estimation.tally import checked_tallies
from sfumato.collect.estimation.uncertainty import CELLS_FROM_PEOPLE, Linearised, Target, linearise
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.loop import districts as named
from sfumato.collect.loop.map_odds import map_odds
from sfumato.collect.loop.rhythm import as_reporting
from sfumato.collect.loop.told_areas import DRAWN_UP_TO
from sfumato.collect.service.models.kept import (
    Alarm,
    ChannelFacts,
    DistrictFacts,
    DistrictShare,
    EstimateFacts,
    InfluenceRange,
    LevelPerKm,
    MapOddsFacts,
    Residual,
    SharpnessFacts,
    Specification,
)
from sfumato.collect.service.rounds.signed_offers import channel_from_payload
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store.records import CellCounts, StoredCycle, StoredEstimate

_IN_A_THREAD_UP_TO = 1_000
"""Cells times cycles."""
_CHILD = "from sfumato.collect.service.rounds.cycle_estimate import child; child()"
_NICER = 5
_LEFT_OUT_BY_POT = [f"POT_BACKEND_DISABLE_{name}" for name in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW")]
"""What POT would load where it is installed, for seconds, and transport needs none of."""


@dataclass(frozen=True, slots=True, eq=False)
class EstimateTask:
    """A snapshot of the pooled cycles, the last of which is to be judged and published."""

    specification: Specification
    counts: tuple[CellCounts, ...]
    previous: FloatArray | None
    """The map of the cycle before."""
    settings: Settings
    spent_before_per_km: float | None = None
    """What the cycle before published as spent: spending never forgets cycles that are no longer pooled."""
    suspicious: tuple[int, ...] = ()
    """Earlier cycles that raised the alarm when they were closed: the average is also given without them."""
    excluded: tuple[int, ...] = ()
    """Earlier cycles that the operator left out: none of ``counts``."""


def first_channel(specification: Specification) -> GridChannel:
    """The channel of a campaign's first cycle, when nothing is known."""
    return collection.first_channel(specification.grid.to_grid(), _rules(specification, max_log_change=None))


def channel_facts(channel: GridChannel, prior: npt.ArrayLike | None) -> ChannelFacts:
    """What a channel reveals: its exact level per km, and information and distortion for ``prior`` (None: uniform)."""
    level, per_km = channel.epsilon(), 1000 * channel.grid.ground_stretch
    assumed = np.full(channel.cells, 1.0 / channel.cells) if prior is None else prior
    return ChannelFacts(
        epsilon_per_km=LevelPerKm(lower=per_km * level.lower, upper=per_km * level.upper, exact=bool(level.exact)),
        mutual_information_nats=float(channel.mutual_information(assumed)),
        distortion_m=float(channel.distortion(assumed)),
    )


def following_channel(
    specification: Specification, cycle: StoredCycle, latest: StoredEstimate | None, settings: Settings
) -> tuple[GridChannel, ChannelFacts]:
    """The channel after that of ``cycle``: it follows the latest estimate there is, under the caps.

    The tight channel stays as it is, and no channel follows reports that raised an alarm, of whichever test.
    """
    channel = channel_from_payload(cycle.payload)
    if latest is not None and specification.promise == "epsilon":
        known = latest.facts.model_dump()
        return channel, ChannelFacts.model_validate({name: known[name] for name in ChannelFacts.model_fields})
    if latest is None or latest.facts.alarm.raised:
        return channel, cycle.facts
    rules = _rules(specification, max_log_change=settings.number("log_weight_change_cap_nats"))
    following = collection.next_channel(channel, latest.probabilities, rules)
    return following, channel_facts(following, latest.probabilities)


def estimate_cycle(task: EstimateTask) -> StoredEstimate:
    """Estimate from the pooled cycles and judge the last one.

    Late reports of earlier cycles count through the channel they were drawn from; those of the last are still coming in
    and count the next time.
    """
    specification, counts, settings, suspicious = task.specification, task.counts, task.settings, task.suspicious
    pairs = [(channel_from_payload(one.payload), one.everything) for one in counts[:-1]]
    pairs.append((channel_from_payload(counts[-1].payload), counts[-1].direct + counts[-1].relayed))
    alarm_p = settings.number("residual_alarm_p")
    rules = _rules(specification, max_log_change=settings.number("log_weight_change_cap_nats"), alarm_p=alarm_p)
    classes = _classes(specification, counts)
    doubted = [index for index, one in enumerate(counts) if one.cycle in suspicious]
    closed = collection.close_cycle(
        pairs, rules, previous=task.previous, classes=classes, first_cycle=max(1, counts[0].cycle), suspicious=doubted
    )
    alarm = _alarm(closed, counts[-1], alarm_p)
    unknown = np.full(pairs[-1][0].cells, np.nan)
    theta = closed.estimate.probabilities
    told, areas = _told(closed, pairs, rules)
    # Of few people the areas alone have intervals that hold.
    enough = closed.intervals is not None and closed.intervals.linear.people >= CELLS_FROM_PEOPLE
    shown = closed.intervals if enough or areas is not None else None
    cells = closed.intervals if enough else None
    spent = _spent_per_km(specification, closed, counts, task.spent_before_per_km)
    facts = EstimateFacts(
        map_odds=_map_odds(pairs[-1], theta, spent),
        sharpness=told,
        emd_to_previous_m=None if closed.moved is None else float(closed.moved),
        residual=Residual(statistic=float(closed.residual.statistic), p_value=float(closed.residual.p_value)),
        alarm=alarm,
        change_capped=bool(closed.capped) and not alarm.raised,
        influence=_worst_by_share(closed),
        spent_epsilon_per_km=spent,
        gap_nats_per_report=float(closed.estimate.gap),
        target="reporters",
        interval_level=None if shown is None else float(shown.level),
        verdict=closed.verdict.kind,
        notices=closed.notices,
        averaged_cycles=len(counts),
        excluded_cycles=tuple(sorted(task.excluded)),
        suspicious_cycles=_doubted(counts, suspicious, closed),
        cycle_class="" if classes is None else classes[-1],
        class_cycles=1 if classes is None else classes.count(classes[-1]),
        interval_words="" if shown is None else shown.words,
        influence_ranges=tuple(
            InfluenceRange(share=one.share, way=one.way, least_m=float(one.least), most_m=float(one.moved))
            for one in closed.influence
        ),
        **dict(channel_facts(pairs[-1][0], theta)),
    )
    return StoredEstimate(
        cycle=counts[-1].cycle,
        facts=facts,
        probabilities=theta,
        this_cycle=closed.this_cycle.probabilities,
        without_suspicious=None if closed.without_suspicious is None else closed.without_suspicious.probabilities,
        # The estimate is smoothed and the interval is not: it is widened where it would leave its own estimate out.
        low=unknown if cells is None else np.minimum(cells.lower, theta),
        high=unknown if cells is None else np.maximum(cells.upper, theta),
        areas=areas,
        districts=_districts(specification, closed, pairs, rules),
    )


def _districts(
    asked: Specification,
    closed: collection.ClosedCycle,
    pairs: Sequence[tuple[GridChannel, IntArray]],
    rules: collection.Rules,
) -> DistrictFacts | None:
    """The shares of named districts, over all rounds and of the last: together where reports cannot tell them apart."""
    if not asked.districts or closed.intervals is None:
        return None
    names = [one.name for one in asked.districts]
    known = named.Districts(asked.grid.to_grid(), tuple(names), asked.district_of_cell, asked.parts_of_cells)
    tallies, level = checked_tallies(pairs), closed.intervals.level
    told = named.telling(known, tallies, as_reporting(rules.reporting))
    own = linearise(tallies[-1:], closed.this_cycle.probabilities, "once")
    target: Target = "reporters" if rules.reporting == "every-cycle" else "population"
    each = named.plain_shares(known.chosen, own, target, level)

    def shares(linear: Linearised) -> tuple[DistrictShare, ...]:
        groups = told.groups(linear.reports)
        found = named.shares(named.rows_of(known, groups), linear, "reporters", level)
        together = [tuple(names[one] for one in group) for group in groups]
        rows = zip_longest(together, *(part.tolist() for part in (found.share, found.low, found.high)), fillvalue=())
        return tuple(DistrictShare(names=who, share=share, low=low, high=high) for who, share, low, high in rows)

    return DistrictFacts(
        level=level,
        average=shares(closed.intervals.linear),
        this_round=shares(own),
        each=tuple(zip(*(part.tolist() for part in (each.centre, each.low, each.high)), strict=True)),
        target=target,
    )


def _map_odds(last: tuple[GridChannel, IntArray], shares: FloatArray, spent_per_km: float) -> MapOddsFacts:
    """What the map gives away about who reported in the last cycle, were people distributed as it says."""
    found = map_odds(last[0], shares, int(last[1].sum()))
    exponent = max(math.log(found.local), spent_per_km * found.distance_m / 1000)
    return MapOddsFacts(**asdict(found), together=math.exp(min(700.0, exponent)))


def _told(
    closed: collection.ClosedCycle, pairs: Sequence[tuple[GridChannel, IntArray]], rules: collection.Rules
) -> tuple[SharpnessFacts | None, FloatArray | None]:
    """How fine the map is, and its areas: where they lie follows from the channels and the number of reports alone."""
    if closed.intervals is None or closed.estimate.probabilities.size > DRAWN_UP_TO:
        return None, None
    tallies = checked_tallies(pairs)
    grid, reports = tallies[-1].channel.grid, sum(one.total for one in tallies)
    known = collection.told_apart(tallies, as_reporting(rules.reporting))
    found = collection.sharpness(known, math.sqrt(grid.cell_height * grid.cell_width), reports)
    told = collection.areas(grid, collection.cut(grid, found.width), closed.estimate.probabilities, closed.intervals)
    facts = SharpnessFacts(
        reports=reports, width_m=found.width, finer_width_m=found.finer_width, more_reports=found.more_reports
    )
    return facts, np.column_stack([told.boxes, told.share, told.low, told.high]).ravel()


def _doubted(
    counts: Sequence[CellCounts], suspicious: Sequence[int], closed: collection.ClosedCycle
) -> tuple[int, ...]:
    """The pooled cycles that the map without suspicious ones leaves out."""
    this = {counts[-1].cycle} if closed.verdict.alarm else set()
    return tuple(sorted(this | {one.cycle for one in counts if one.cycle in suspicious}))


def _worst_by_share(closed: collection.ClosedCycle) -> dict[str, float]:
    """The farthest that any way of lying moves the map, by share."""
    worst: dict[str, float] = {}
    for one in closed.influence:
        key = f"{one.share:g}"
        worst[key] = max(worst.get(key, 0.0), float(one.moved))
    return worst


def _spent_per_km(
    specification: Specification, closed: collection.ClosedCycle, counts: Sequence[CellCounts], before: float | None
) -> float:
    """Over all cycles since the start: exact while all are pooled, then this cycle's level added to what was spent."""
    per_km = 1000 * specification.grid.to_grid().ground_stretch
    pooled = per_km * float(closed.spent.upper)
    if before is None or len(counts) >= counts[-1].cycle:
        return pooled
    this_cycle = per_km * float(closed.epsilon.upper)
    if specification.once:
        return max(before, this_cycle)
    scope = specification.ticket_scope
    within = [one for one in counts[:-1] if scope(one.cycle) == scope(counts[-1].cycle)]
    # Of an epoch only its dearest cycle counts; what is no longer pooled is taken for free, so that the sum is no less.
    already = max((per_km * channel_from_payload(one.payload).epsilon().upper for one in within), default=0.0)
    return max(pooled, before + max(0.0, this_cycle - already))


def _alarm(closed: collection.ClosedCycle, last: CellCounts, alarm_p: float) -> Alarm:
    reasons = list(closed.alarms)
    if last.relayed.any() and last.direct.any():
        p_value = relayed_differ_p(last.direct, last.relayed)
        if p_value < alarm_p:
            reasons.append(
                f"Relayed reports differ from those sent with tickets (p = {p_value:.1e}). The channel is kept."
            )
    return Alarm(raised=bool(reasons), reasons=tuple(reasons))


def relayed_differ_p(direct: npt.ArrayLike, relayed: npt.ArrayLike) -> float:
    """Pearson's test that two tallies through one channel come from one distribution; cells under 10 are pooled."""
    table = np.stack([np.asarray(direct), np.asarray(relayed)]).astype(np.float64)
    many = table.sum(axis=0) >= 10
    table = np.column_stack([table[:, many], table[:, ~many].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2:
        return 1.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return float(chdtrc(table.shape[1] - 1, np.sum((table - expected) ** 2 / expected)))


def _classes(specification: Specification, counts: Sequence[CellCounts]) -> tuple[str, ...] | None:
    """The class of every pooled cycle, by when it was open."""
    spans = [(one.opened_at_s, one.opened_at_s if one.closed_at_s is None else one.closed_at_s) for one in counts]
    return specification.calendar.classes_of(spans)


def _rules(specification: Specification, *, max_log_change: float | None, alarm_p: float = 0.0) -> collection.Rules:
    return collection.Rules(
        beta=specification.beta_per_m,
        promise=specification.promise,
        floor=specification.floor,
        max_log_change=max_log_change,
        reporting=specification.reporting,
        alarm_p=alarm_p,
        epoch_cycles=specification.epoch_cycles,
    )


async def estimate_apart(task: EstimateTask) -> StoredEstimate:
    """The estimate, off the event loop: in a thread if it is small, else in another process."""
    if task.specification.cell_count * len(task.counts) <= _IN_A_THREAD_UP_TO:
        return await in_daemon_thread(lambda: estimate_cycle(task))
    return await in_child(task)


async def in_child(task: EstimateTask) -> StoredEstimate:
    """The estimate in a process of its own, killed if nobody waits for it any more."""
    usual = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", *_LEFT_OUT_BY_POT), "1")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-c",
        _CHILD,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, **usual},
    )
    try:
        answer, _ = await process.communicate(pickle.dumps(task))
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
    if process.returncode != 0:
        # The child names the type of its error only: a message could quote data.
        name = answer.decode("ascii", "replace")[:80] or f"exit code {process.returncode}"
        raise RuntimeError(f"The process that estimates ended with {name}.")
    found = pickle.loads(answer)
    assert isinstance(found, StoredEstimate)
    return found


def child() -> None:
    """The other process: read a task, estimate, write the result."""
    if hasattr(os, "nice"):
        os.nice(_NICER)
    found = find_spec("ot")
    if found is not None:  # POT's transport alone: the whole of it loads scikit-learn and more, a second or two
        sys.modules["ot"] = module_from_spec(found)
    try:
        task = pickle.load(sys.stdin.buffer)
        assert isinstance(task, EstimateTask)
        answer = pickle.dumps(estimate_cycle(task))
    except BaseException as error:
        sys.stdout.write(type(error).__name__)
        sys.stdout.flush()
        raise SystemExit(1) from None
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


async def in_daemon_thread(work: Callable[[], StoredEstimate]) -> StoredEstimate:
    """Run ``work`` in a thread that does not keep the process alive: a stop never waits for an estimate."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[StoredEstimate] = loop.create_future()

    def settle(value: StoredEstimate | None, error: BaseException | None) -> None:
        if not future.done():
            future.set_exception(error) if error is not None else future.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        try:
            value, error = work(), None
        except BaseException as caught:
            value, error = None, caught
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="estimate", daemon=True).start()
    return await future
