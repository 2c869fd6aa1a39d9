"""Multiscale noise: one public process, valid for any timestamps and any sd of the path, fitted to nothing private.

The ladder (length scales, weights, white and constant share) is shipped in ``data/multiscale.json``, solved by
:mod:`sfumato.tracks.noise.multiscale.solve` and certified by :mod:`sfumato.tracks.noise.multiscale.universal_bound`.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray, finite, jsonable
from sfumato.base.errors import InputError
from sfumato.base.pool import pooled_floats
from sfumato.base.randomness import Keystream, Random, Words, randomness
from sfumato.tracks.noise.interface import LadderTerms

_CHUNK = 16384  # times whose normals are held at once


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """Length scales and their weights (summing to 1), beside a white and a constant share of the noise variance.

    The noise per coordinate is o · [(1 − ψ − χ) Σ_m w_m M_m(t) + ψ W(t) + χ C] in variance: independent unit
    Matérn-3/2 processes M_m with length scales l_m, white noise W per distinct time, one constant C per person.
    """

    length_scales_s: FloatArray
    weights: FloatArray
    white_share: float = 0.05
    constant_share: float = 0.1

    def __post_init__(self) -> None:
        scales = finite(self.length_scales_s, "length_scales_s", dimensions=1)
        weights = finite(self.weights, "weights", dimensions=1)
        if scales.size == 0 or scales.shape != weights.shape or (scales <= 0).any() or (weights < 0).any():
            raise InputError("A ladder needs as many positive length scales as non-negative weights.")
        if abs(float(weights.sum()) - 1.0) > 1e-9:
            raise InputError(f"The ladder's weights sum to {float(weights.sum()):.9g}.", "They must sum to 1.")
        psi, chi = float(self.white_share), float(self.constant_share)
        if not (0 <= psi < 1 and 0 <= chi < 1 and psi + chi < 1):
            raise InputError(f"White share {psi:g} and constant share {chi:g} do not fit.", "Both >= 0, sum below 1.")
        object.__setattr__(self, "length_scales_s", scales)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "white_share", psi)
        object.__setattr__(self, "constant_share", chi)

    @property
    def moving_share(self) -> float:
        """1 − ψ − χ: the share of the variance that the ladder carries."""
        return 1.0 - self.white_share - self.constant_share

    @property
    def variances(self) -> FloatArray:
        """Variance of each scale as a share of the whole, summing to 1 − ψ − χ."""
        return self.weights * self.moving_share

    @property
    def longest_s(self) -> float:
        """The longest length scale, which the gap rule counts in."""
        return float(self.length_scales_s.max())

    def to_dict(self) -> LadderTerms:
        """Plain JSON, as in ``data/multiscale.json``."""
        return jsonable(self)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, values: LadderTerms) -> Ladder:
        """The ladder that :meth:`to_dict` wrote."""
        try:
            return cls(
                np.asarray(values["length_scales_s"], dtype=np.float64),
                np.asarray(values["weights"], dtype=np.float64),
                float(values["white_share"]),
                float(values["constant_share"]),
            )
        except (KeyError, TypeError) as error:
            raise InputError("This is not a ladder.", "It needs scales, weights, white and constant share.") from error


def shipped_ladder(
    prior_class: str = "day", *, white_share: float | None = None, constant_share: float | None = None
) -> Ladder:
    """The ladder shipped for ``day``, ``week`` or ``year``, perhaps with other shares."""
    classes = json.loads(files("sfumato").joinpath("data", "multiscale.json").read_text())["classes"]
    if prior_class not in classes:
        raise InputError(f"There is no ladder for the class '{prior_class}'.", f"Choose from {', '.join(classes)}.")
    entry: LadderTerms = classes[prior_class]
    if white_share is not None:
        entry["white_share"] = white_share
    if constant_share is not None:
        entry["constant_share"] = constant_share
    return Ladder.from_dict(entry)


def balance_shares(ladder: Ladder, path_loss: float) -> Ladder:
    """The same ladder with the least constant share, in thousandths, for which one unknown place loses no more.

    A path loses L/(1 − ψ − χ) (L the loss × o of the ladder alone), a place stayed at 1/χ: equal at
    χ = (1 − ψ)/(1 + L), where one number holds for both.
    """
    share = math.ceil(1000.0 * (1.0 - ladder.white_share) / (1.0 + path_loss)) / 1000.0
    return Ladder(ladder.length_scales_s, ladder.weights, ladder.white_share, share)


def correlation(ladder: Ladder, lags_s: FloatArray) -> FloatArray:
    """The unit-variance covariance function of the noise at each lag; white counts at lag 0 only."""
    lags = np.abs(np.asarray(lags_s, dtype=np.float64))
    out = np.full(lags.shape, ladder.constant_share)
    for scale, variance in zip(ladder.length_scales_s, ladder.variances, strict=True):
        x = math.sqrt(3.0) * lags / scale
        out += variance * (1.0 + x) * np.exp(-x)
    out += ladder.white_share * (lags == 0)
    return out


def noise_covariance(ladder: Ladder, times_s: FloatArray, variance_m2: float = 1.0) -> FloatArray:
    """Γ (n, n) in m², per coordinate, at any times."""
    times = np.asarray(times_s, dtype=np.float64)
    return variance_m2 * correlation(ladder, times[:, None] - times[None, :])


def normals_per_time(ladder: Ladder) -> int:
    """How many standard normals :func:`sample_path` consumes per distinct time (both coordinates)."""
    return 4 * ladder.length_scales_s.size + 2


def path_chunks(ladder: Ladder, times_s: FloatArray, rng: Random = None) -> Iterator[tuple[slice, FloatArray]]:
    """Unit-variance noise (east, north) at sorted distinct times, a chunk at a time.

    Draws, in order: two normals for the constant, then per time one row (see
    :func:`sfumato.tracks.noise.multiscale.ladder_loops.advance`); the first row starts the processes.
    """
    from sfumato.tracks.noise.multiscale.ladder_loops import advance  # compiled: a second that values need not pay

    draw = randomness(rng)
    rates = np.sqrt(3.0) / ladder.length_scales_s
    amplitudes = np.sqrt(ladder.variances)
    state = np.zeros((rates.size, 2, 2))
    constant = math.sqrt(ladder.constant_share) * draw.normals(2)
    width = normals_per_time(ladder)
    last = math.nan
    for start in range(0, times_s.size, _CHUNK):
        part = np.asarray(times_s[start : start + _CHUNK], dtype=np.float64)
        steps = np.diff(part, prepend=last)
        if start == 0:
            steps[0] = -1.0
        last = float(part[-1])
        out = np.empty((part.size, 2))
        normals = draw.normals((part.size, width))
        advance(steps, rates, amplitudes, math.sqrt(ladder.white_share), state, normals, out)
        out += constant
        yield slice(start, start + part.size), out


def sample_path(ladder: Ladder, times_s: FloatArray, rng: Random = None) -> FloatArray:
    """One unit-variance path (n, 2) at any times in any order: exact, O(n), equal times have equal noise."""
    times, back = np.unique(finite(times_s, "times_s", dimensions=1), return_inverse=True)
    out = np.empty((times.size, 2))
    for part, noise in path_chunks(ladder, times, rng):
        out[part] = noise
    return np.asarray(out[back.reshape(-1)])


_WORDS = 1 << 16  # held at once: half a MiB, which stays in the processor's cache
_SPARE = 1.04  # words per normal: 1.02 are used on average


class _Room(threading.local):
    """A thread's own words, kept from call to call: fresh pages cost more than the words in them."""

    def __init__(self) -> None:
        self.words: Words = np.empty(_WORDS, dtype=np.uint64)
        self.more: Words = np.empty(_WORDS, dtype=np.uint64)


_room = _Room()


def streamed_paths(ladder: Ladder, times_ms: IntArray, starts: IntArray, keys: Sequence[bytes]) -> FloatArray:
    """Unit-variance noise (n, 2) for many at once, each from a keystream of their own: the law of a path drawn alone.

    A person's noise is a function of their key and their times, and of nothing else: not of who else is in the table,
    in how many parts it came, or on how many cores it was drawn. ``times_ms`` holds each person's times in order, from
    ``starts[p]`` to the next; ``starts`` has one entry more than there are people, the last one the number of rows.
    """
    from sfumato.tracks.noise.multiscale.ladder_loops import SLOTS, advance_people

    width, rates = normals_per_time(ladder), math.sqrt(3.0) / ladder.length_scales_s
    out = pooled_floats(2 * times_ms.size).reshape(-1, 2)
    held = np.empty((SLOTS, 7, rates.size)), np.full(SLOTS, -1, dtype=np.int64)
    wanted = (np.diff(starts) * (width * _SPARE)).astype(np.int64) + 8 * width + 64
    first = 0
    while first < len(keys):
        last, used = first, 0
        while last < len(keys) and (last == first or used + wanted[last] <= _WORDS):
            used += int(wanted[last])
            last += 1
        _draw(
            advance_people,
            ladder,
            rates,
            times_ms,
            starts[first : last + 1],
            keys[first:last],
            wanted[first:last],
            held,
            out,
        )
        first = last
    return out


def _draw(
    advance_people: Callable[..., object],
    ladder: Ladder,
    rates: FloatArray,
    times_ms: IntArray,
    starts: IntArray,
    keys: Sequence[bytes],
    wanted: IntArray,
    held: tuple[FloatArray, IntArray],
    out: FloatArray,
) -> None:
    """One person whose words may not all fit, or several whose words do."""
    words, more = _room.words[:_WORDS], _room.more[:_WORDS]
    room = np.minimum(wanted, _WORDS)
    word_end = np.cumsum(room)
    word_at = word_end - room
    streams = [Keystream(key) for key in keys]
    for stream, begin, end in zip(streams, word_at, word_end, strict=True):
        stream.fill(words[begin:end])
    row_at, row_end = starts[:-1].copy(), starts[1:].copy()
    state, begun = np.zeros((len(keys), normals_per_time(ladder))), np.zeros(len(keys), dtype=np.int64)
    shares = math.sqrt(ladder.white_share), math.sqrt(ladder.constant_share)
    amplitudes = np.sqrt(ladder.variances)
    advance_people(
        times_ms, row_at, row_end, words, word_at, word_end, rates, amplitudes, *shares, state, begun, *held, out
    )
    for p in np.flatnonzero(row_at < row_end).tolist():  # the words did not reach: those left, then the stream's next
        one = slice(p, p + 1)
        left = words[word_at[p] : word_end[p]]
        while row_at[p] < row_end[p]:
            more[: left.size] = left
            streams[p].fill(more[left.size :])
            at, end = np.zeros(1, dtype=np.int64), np.array([_WORDS])
            advance_people(
                times_ms, row_at[one], row_end[one], more, at, end, rates, amplitudes, *shares, state[one],
                begun[one], *held, out,
            )  # fmt: skip
            left = more[int(at[0]) :].copy()
