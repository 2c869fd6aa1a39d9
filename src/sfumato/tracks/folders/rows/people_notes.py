"""What is noted of people bucket by bucket: what they lose at their own times, and who travels together.

*Losses* are quantiles over everybody, or over a sample that every reader draws again. The loss at a person's times is
that of ``loss_at_times`` in a track's certificate, and it only grows with further moments (whoever ignores a point
knows less). So some of a person's moments bound it from below, and ``worst_loss``, which holds at any times, from
above; with at most :data:`MOMENTS` moments a person's loss is known. Of more than :data:`PEOPLE` people those are
chosen whose ids, as released, have the smallest hashes. The hash is public: engines, partitions and resumed jobs choose
the same people, and so does whoever checks the release, which shows times.

*What it tells.* Nothing that is not in the release; where that does not show everybody's own intervals, nothing is
stated. The certificate may travel alone: it has quantiles of :data:`LEAST_PEOPLE` people or more, never the least or
the largest, in three figures, since the digits of a loss would be those of one person's intervals.

*Who met* is noted in one private file for each bucket, the same when it is done again, with at most so many keys that
all of them together stay small however many rows there are (:mod:`sfumato.tracks.adversary.companions`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from heapq import nsmallest
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from sfumato.accountant.compose import composed_losses
from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.tracks.adversary.companions import MOST_KEYS, Meetings, WorstGroup, all_meetings, meetings, worst_of
from sfumato.tracks.certificates.build import ReleasedFiles, Terms, certificate_body
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.folder_fields import Crowd, OwnLosses
from sfumato.tracks.folders.rows.dataset import (
    BucketNote,
    JobTally,
    Moments,
    Parts,
    statement_of,
)
from sfumato.tracks.folders.staging import FolderStatement
from sfumato.tracks.io.times import zone_named
from sfumato.tracks.losses.exact_losses import stated_grid
from sfumato.tracks.noise.interface import TraceMechanism
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.noise import Noise
from sfumato.tracks.plan import Times

PEOPLE, MOMENTS, LEAST_PEOPLE = 100, 32, 20
PERCENT = (10, 25, 50, 75, 90)
SLACK = 1e-6  # of a loss that another machine factorises
NO_NOISE = "Not stated: no noise was added, so there is no loss to compute."
FEW = f"Not stated: of fewer than {LEAST_PEOPLE} people it would tell of one. Nobody's is above worst_loss."
HIDDEN = "Not stated: the release does not show everybody's own intervals. Nobody's is above worst_loss."
LOCAL = "Not stated: the times are those of a local clock, which may jump. Nobody's is above worst_loss."
NO_LOSS = "Not stated: this noise has no loss at a person's own times."
_DOWN, _UP = (Context(prec=3, rounding=rounding) for rounding in (ROUND_FLOOR, ROUND_CEILING))
_DRAWN_BY = b"sfumato losses of people 1\0"
_OF_PEOPLE = {"0.10": "a tenth", "0.25": "a quarter", "0.50": "half", "0.75": "three quarters", "0.90": "9 in 10"}
BLOCK: Final = "loss_at_times"  # of "people" in the certificate


class Sample:
    """The people of the smallest hashes so far, with their moments; none where there is a reason against it."""

    def __init__(self, unseen: str | None) -> None:
        self._unseen, self._people = unseen, 0
        self._times_ms: dict[bytes, list[IntArray]] = {}
        self._last = b"\xff" * 32  # after every hash

    def add(self, labels: Sequence[str | None], starts: IntArray, times_ms: IntArray) -> None:
        """Rows of people, one after the other: person k's from ``starts[k]`` to the next."""
        self._people += len(labels)
        if self._unseen is not None:
            return
        hashes = [hashlib.sha256(_DRAWN_BY + (label or "").encode()).digest() for label in labels]
        small = (place for place, drawn in enumerate(hashes) if drawn <= self._last)
        for place in nsmallest(PEOPLE, small, key=hashes.__getitem__):
            own = times_ms[starts[place] : starts[place + 1]].copy()
            self._times_ms.setdefault(hashes[place], []).append(own)
        if len(self._times_ms) > PEOPLE:
            kept = nsmallest(PEOPLE, self._times_ms)
            self._times_ms, self._last = {drawn: self._times_ms[drawn] for drawn in kept}, kept[-1]

    def proposal(self, mechanism: TraceMechanism) -> BucketNote:
        """As JSON, for :func:`losses_over_people`: some moments of each, out of how many people, or why none."""
        members = mechanism.holds_over()
        apart_ms = 0 if members is None else round(1000.0 * members.length_scales_s[0])
        found = [_some(drawn.hex(), _distinct(parts), apart_ms) for drawn, parts in self._times_ms.items()]
        return {"people": self._people, "moments": found, "unseen": self._unseen}


def reason_against(layout: Layout, schema: pa.Schema, times: str) -> str | None:
    """Why the release does not show everybody's own intervals; None where it does."""
    if layout.person is None:
        return FEW
    if Times.parse(times).kind not in ("keep", "shift"):
        return HIDDEN
    zone = layout.reading.zone
    local = zone is not None and zone_named(zone) != zone_named("UTC")
    return LOCAL if local and not absolute(schema.field(layout.roles.by_role["time"]).type) else None


def absolute(kind: pa.DataType) -> bool:
    """Whether times of this type are moments in whatever zone they are read."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or (pa.types.is_timestamp(kind) and bool(kind.tz))


def losses_over_people(
    proposed: Sequence[BucketNote],
    people: int,
    terms: Terms,
    worst_loss: float | None,
    *,
    stated: OwnLosses | None = None,
) -> OwnLosses:
    """The certificate's block, from what the parts of the dataset have :meth:`Sample.proposal`.

    Where numbers ``stated`` elsewhere differ by no more than another machine's rounding, they are those.
    """
    if sum(part["people"] for part in proposed) != people:
        raise InputError("A part of this job was done by another version.", "Remove its private folder and begin anew.")
    if people < LEAST_PEOPLE:
        return not_stated(FEW)
    unseen = next((part["unseen"] for part in proposed if part["unseen"] is not None), None)
    if unseen is not None:
        return not_stated(unseen)
    moments: list[Moments] = nsmallest(PEOPLE, chain(*(part["moments"] for part in proposed)), key=lambda one: one[0])
    bounds = None if worst_loss is None else _bounds(moments, terms, worst_loss)
    if bounds is None or worst_loss is None:
        return not_stated(NO_LOSS)
    whole = sum(one[1] for one in moments)
    found, *near = (_quantiles(*bounds, worst_loss, factor) for factor in (1.0, 1.0 - SLACK, 1.0 + SLACK))
    if stated is not None:
        for place, said in enumerate((stated["at_least"], stated["at_most"])):
            for name in found[place]:
                if said.get(name) in [one[place][name] for one in near]:
                    found[place][name] = said[name]
    return {
        "people": len(moments),
        "with_all_moments": whole,
        "at_least": found[0],
        "at_most": found[1],
        "meaning": _meaning(len(moments), people, whole),
    }


def not_stated(why: str) -> OwnLosses:
    """The block where nothing is computed, with the reason."""
    return {"people": 0, "with_all_moments": 0, "at_least": {}, "at_most": {}, "meaning": why}


def loss_words(people: Crowd) -> str:
    """What people lose at their own times, as parts of the largest loss that anybody can have."""
    block = people.get(BLOCK, not_stated("Not stated."))
    if not (rows := loss_rows(people)):
        return str(block["meaning"])
    everybody = block["people"] == people["people"]
    who = "everybody" if everybody else f"{block['people']} of {people['people']} people"
    parts = ", ".join(f"{words} at most {share}" for words, share in rows[::2])
    whole = f"{block['with_all_moments']} with all their moments"
    return f"{parts} of that (computed for {who}, {whole})."


def loss_rows(people: Crowd) -> list[tuple[str, str]]:
    """How many of the people, and what they lose at most as a part of the largest loss; none where it is not stated."""
    block, worst = people.get(BLOCK), people.get("worst_loss")
    if block is None or not block["people"] or worst is None:
        return []
    return [(words, _share(block, name, worst)) for name, words in _OF_PEOPLE.items()]


def _share(block: OwnLosses, name: str, worst: float) -> str:
    """A quantile, or the two numbers that it lies between."""
    low, high = math.floor(100.0 * block["at_least"][name] / worst), math.ceil(100.0 * block["at_most"][name] / worst)
    return f"{high} %" if high - low <= 1 else f"{low} to {high} %"


def _bounds(moments: Sequence[Moments], terms: Terms, worst_loss: float) -> tuple[list[float], list[float]] | None:
    """Each one's loss from below and from above; None where the mechanism states none."""
    known: dict[tuple[int, ...], float] = {}  # people who are recorded alike
    for _, _, times_ms in moments:
        gaps = tuple(times_ms)
        if gaps not in known:
            losses = terms.mechanism.losses([np.array(gaps) / 1000.0])
            found = composed_losses(losses, terms.mechanism.redraws).loss_at_times
            if found is None:
                return None
            known[gaps] = min(found, worst_loss)
    low = [known[tuple(times_ms)] for _, _, times_ms in moments]
    return low, [loss if whole else worst_loss for loss, (_, whole, _) in zip(low, moments, strict=True)]


def _distinct(parts: Sequence[IntArray]) -> IntArray:
    times_ms = np.concatenate(parts)
    return times_ms if (np.diff(times_ms) > 0).all() else np.unique(times_ms)


def _some(drawn: str, times_ms: IntArray, apart_ms: int) -> Moments:
    """The densest stretch of those that lie about the shortest length scale apart: closer ones tell little more."""
    since = times_ms - times_ms[0]
    if since.size <= MOMENTS:
        return drawn, True, since.tolist()
    apart = since[np.diff(since // apart_ms, prepend=-1) > 0] if apart_ms else since
    if apart.size < MOMENTS:
        apart = since[np.linspace(0, since.size - 1, MOMENTS).astype(np.int64)]
    first = int(np.argmin(apart[MOMENTS - 1 :] - apart[: apart.size - MOMENTS + 1]))
    part = apart[first : first + MOMENTS]
    return drawn, False, (part - part[0]).tolist()


def _quantiles(
    low: Sequence[float], high: Sequence[float], worst_loss: float, factor: float
) -> tuple[dict[str, float], dict[str, float]]:
    """From below and from above."""
    ranks = {f"{percent / 100:.2f}": -(-percent * len(low) // 100) - 1 for percent in PERCENT}
    below, above = sorted(low), sorted(high)
    least = {name: float(_DOWN.create_decimal_from_float(below[k] * factor)) for name, k in ranks.items()}
    most = {name: float(_UP.create_decimal_from_float(above[k] * factor)) for name, k in ranks.items()}
    return least, {name: min(worst_loss, loss) for name, loss in most.items()}


def _meaning(computed: int, people: int, whole: int) -> str:
    who = "everybody" if computed == people else f"{computed} of {people} people, those whose ids have the least hashes"
    rest = (
        "; the others count with a part of their moments in at_least and with worst_loss in at_most"
        if whole < computed
        else ""
    )
    return (
        f"Quantiles of the loss at a person's own times in this release, over {who}: {whole} with all their "
        f"moments{rest}. Losses are per m², in three figures, the largest over {stated_grid(MOMENTS)}; between those "
        "scales one can be a little larger. Nobody's is above worst_loss."
    )


class PeopleMet:
    """A folder of such notes."""

    def __init__(self, folder: Path, buckets: int) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self._folder, self._most = folder, max(1 << 12, 4 * MOST_KEYS // buckets)

    def of(self, labels: Sequence[str]) -> BucketMet:
        """The note on the bucket of these people, to be filled; each person is in one bucket."""
        name = hashlib.sha256(min(labels).encode()).digest()
        return BucketMet(self._folder / f"{name.hex()}.npz", self._most, int.from_bytes(name[:3], "big") << 32)

    def worst_group(self) -> WorstGroup:
        """The largest group over all buckets that are done, in this run or before."""
        return worst_of(all_meetings(Meetings.load(path) for path in sorted(self._folder.glob("[!.]*.npz"))))


class BucketMet:
    """Where and when the people of one bucket were, piece by piece."""

    def __init__(self, path: Path, most: int, first: int) -> None:
        self._path, self._most, self._first = path, most, first
        self._parts: list[Meetings] = []

    def add(self, lat_deg: FloatArray, lon_deg: FloatArray, times_ms: IntArray, codes: IntArray) -> None:
        """A piece that holds all rows of its people, together, numbered from 0."""
        if len(codes):
            self._parts.append(meetings(lat_deg, lon_deg, times_ms, codes + self._first, most=self._most))
            self._first += int(codes[-1]) + 1

    def keep(self) -> None:
        """In its file, whole or not at all."""
        beside = self._path.with_name(f".{self._path.name}")
        all_meetings(self._parts).at_most(self._most).save(beside)
        beside.replace(self._path)


def noisy_statement(
    parts: Parts,
    layout: Layout,
    noise: Noise,
    tally: JobTally,
    proposed: Sequence[BucketNote],
    priced: Callable[[Document], None] | None,
) -> FolderStatement:
    """What the certificate of a dataset with noise is made from; ``proposed`` is whose losses may be computed."""
    terms = noise.terms(several_files=True)
    contents = tuple((points, digest) for _, digest, points in parts)
    body = certificate_body(terms, ReleasedFiles(contents, range(tally.people)))
    if priced is not None:
        priced(body)
    people = over_people(tally.points_of_people)
    people[BLOCK] = losses_over_people(proposed, tally.people, terms, body["worst_loss"])
    return statement_of(parts, layout, Times.parse(noise.plan.times), people, noise=body, new_ids=noise.new_ids)


_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def over_people(points_of_people: Mapping[int, int]) -> Crowd:
    """How points are spread over people: quantiles of the released points of one person."""
    points = np.array(sorted(points_of_people), dtype=np.int64)
    if not points.size:
        return {"people": 0, "points": 0, "points_per_person": {}}
    count = np.array([points_of_people[value] for value in points.tolist()], dtype=np.int64)
    upto = np.cumsum(count)
    place = np.searchsorted(upto, np.ceil(np.array(_QUANTILES) * upto[-1]).clip(1))
    spread = {f"{quantile:.2f}": int(points[at]) for quantile, at in zip(_QUANTILES, place.tolist(), strict=True)}
    return {"people": int(upto[-1]), "points": int((points * count).sum()), "points_per_person": spread}
