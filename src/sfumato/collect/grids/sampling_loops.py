"""Compiled loops of the samplers; random words come in as arrays, so the source of randomness is chosen elsewhere."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compiled
from sfumato.base.randomness import Words


@compiled()
def whole_weights(log_weights: FloatArray, limbs: Words, total: Words) -> None:
    """Each weight as a 53-bit number of 2^-192ths, in four 64-bit limbs; and their sum, below 2^256.

    Weights below 2^-139 are lifted to 2^-139, so that none has fewer than 53 bits: flooring a smaller one to a handful
    of units would change its logarithm, and with it epsilon, by up to ln 2.
    """
    low32 = np.uint64(0xFFFFFFFF)
    for y in range(log_weights.size):
        # exp(l) = 2^(l / ln 2) = 2^whole * 2^part: whole shifts, 2^part in (1/2, 1] gives the 53-bit mantissa.
        binary = log_weights[y] / 0.6931471805599453
        whole = np.floor(binary) + 1.0
        if binary < -139.0:
            whole = -139.0
            binary = -139.0
        mantissa = np.uint64(np.exp2(binary - whole) * 9007199254740992.0)
        shift = int(whole) + 139
        word = np.zeros(4, dtype=np.uint64)
        limb, up = shift // 64, np.uint64(shift % 64)
        word[limb] = mantissa << up
        if up > np.uint64(11) and limb < 3:
            word[limb + 1] = mantissa >> (np.uint64(64) - up)
        carry = np.uint64(0)
        for k in range(4):
            limbs[y, k] = word[k]
            low = (total[k] & low32) + (word[k] & low32) + carry
            high = (total[k] >> np.uint64(32)) + (word[k] >> np.uint64(32)) + (low >> np.uint64(32))
            total[k] = (low & low32) | ((high & low32) << np.uint64(32))
            carry = high >> np.uint64(32)


@compiled()
def first_above(limbs: Words, target: Words) -> int:
    """The first y whose running sum of weights exceeds ``target``; every weight is read whatever the answer."""
    low32 = np.uint64(0xFFFFFFFF)
    running = np.zeros(4, dtype=np.uint64)
    found = 0
    for y in range(limbs.shape[0]):
        carry = np.uint64(0)
        for k in range(4):
            low = (running[k] & low32) + (limbs[y, k] & low32) + carry
            high = (running[k] >> np.uint64(32)) + (limbs[y, k] >> np.uint64(32)) + (low >> np.uint64(32))
            running[k] = (low & low32) | ((high & low32) << np.uint64(32))
            carry = high >> np.uint64(32)
        above = False
        for k in range(4):
            if running[k] > target[k]:
                above = True
            elif running[k] < target[k]:
                above = False
        if not above:
            found = y + 1
    return found


@compiled()
def alias_build(rows: FloatArray, other: npt.NDArray[np.int32]) -> None:
    """Turn each row of probabilities into thresholds (in place) and aliases: Walker's tables, by Vose's method."""
    count, cells = rows.shape
    small = np.empty(cells, dtype=np.int32)
    large = np.empty(cells, dtype=np.int32)
    for r in range(count):
        smalls, larges = 0, 0
        for k in range(cells):
            rows[r, k] *= cells
            if rows[r, k] < 1.0:
                small[smalls] = k
                smalls += 1
            else:
                large[larges] = k
                larges += 1
        while smalls > 0 and larges > 0:
            smalls -= 1
            light, heavy = small[smalls], large[larges - 1]
            other[r, light] = heavy
            rows[r, heavy] -= 1.0 - rows[r, light]
            if rows[r, heavy] < 1.0:
                larges -= 1
                small[smalls] = heavy
                smalls += 1
        for k in range(larges):
            rows[r, large[k]] = 1.0
        for k in range(smalls):
            rows[r, small[k]] = 1.0


@compiled()
def alias_draw(
    places: IntArray, stay: FloatArray, other: npt.NDArray[np.int32], words: Words, spare: Words, out: IntArray
) -> int:
    """One report per place from one word each; ties and the rejected sliver read ``spare``. -1 if that runs out."""
    cells = np.uint64(stay.shape[1])
    low32 = np.uint64(0xFFFFFFFF)
    # Column = high 32 bits * cells >> 32, redrawn on the sliver that would make it uneven (Lemire).
    sliver = (np.uint64(4294967296) - cells) % cells
    used = 0
    for i in range(places.size):
        word = words[i]
        scaled = (word >> np.uint64(32)) * cells
        while (scaled & low32) < sliver:
            if used >= spare.size:
                return -1
            word = spare[used]
            used += 1
            scaled = (word >> np.uint64(32)) * cells
        column = int(scaled >> np.uint64(32))
        threshold = stay[places[i], column]
        bits = word & low32
        chunk = 4294967296.0
        kept = True
        while threshold < 1.0:
            # threshold * 2^32 = whole + rest exactly; bits decide unless they equal the whole part.
            grown = threshold * chunk
            whole = np.floor(grown)
            value = float(bits)
            if value < whole:
                break
            if value > whole:
                kept = False
                break
            threshold = grown - whole
            if threshold == 0.0:
                kept = False
                break
            if used >= spare.size:
                return -1
            bits = spare[used] & low32
            used += 1
        out[i] = column if kept else other[places[i], column]
    return used


@compiled()
def window_draw(
    places: IntArray,
    c: FloatArray,
    cumulative: FloatArray,
    kernel: FloatArray,
    rows: int,
    columns: int,
    reach: int,
    beta_side: float,
    uniforms: FloatArray,
    start: int,
    out: IntArray,
) -> int:
    """Reports for ``places`` (sorted, so that a window serves all in it) from ``start``; where uniforms ran out."""
    partial = np.empty(rows * columns)
    used, previous = 0, -1
    top, left, bottom, right, inside, tail, envelope, radius, count = 0, 0, 0, 0, 0.0, 0.0, 0.0, reach, 0
    for s in range(start, places.size):
        x = places[s]
        row, column = x // columns, x % columns
        if x != previous:
            radius = reach
            while True:
                top, bottom = max(0, row - radius), min(rows - 1, row + radius)
                left, right = max(0, column - radius), min(columns - 1, column + radius)
                inside, count = 0.0, 0
                for i in range(top, bottom + 1):
                    for j in range(left, right + 1):
                        inside += c[i * columns + j] * kernel[abs(i - row), abs(j - column)]
                        partial[count] = inside
                        count += 1
                whole = top == 0 and left == 0 and bottom == rows - 1 and right == columns - 1
                if whole:
                    tail = 0.0
                    break
                # The envelope covers c everywhere; a proposal inside the window is refused and all is drawn again.
                envelope = np.exp(-beta_side * (radius + 1)) * (1 + 1e-9)
                tail = cumulative[-1] * envelope
                if tail <= inside:
                    break
                radius *= 2
            previous = x
        wide = right - left + 1
        y = -1
        while y < 0:
            if used + 3 > uniforms.size:
                return s
            u = uniforms[used] * (inside + tail)
            used += 1
            if u < inside:
                k = np.searchsorted(partial[:count], u, side="right")
                y = (top + k // wide) * columns + left + k % wide
            else:
                k = np.searchsorted(cumulative, uniforms[used] * cumulative[-1], side="right")
                used += 1
                i, j = k // columns, k % columns
                if top <= i <= bottom and left <= j <= right:
                    continue
                if uniforms[used] * envelope < kernel[abs(i - row), abs(j - column)]:
                    y = k
                used += 1
        out[s] = y
    return len(places)
