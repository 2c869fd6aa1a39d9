"""Reading a QR code back, with nothing of the encoder's code: level M, bytes, versions 1 to 10."""

from __future__ import annotations

import re

import numpy as np

# Version: (total codewords, blocks); at level M.
_BLOCKS = {1: (26, 1), 2: (44, 1), 3: (70, 1), 4: (100, 2), 5: (134, 2), 6: (172, 4), 7: (196, 4), 8: (242, 4)}
_BLOCKS |= {9: (292, 5), 10: (346, 5)}
_CORRECTION = {1: 10, 2: 16, 3: 26, 4: 18, 5: 24, 6: 16, 7: 18, 8: 22, 9: 22, 10: 26}
_ALIGNED = {2: (18,), 3: (22,), 4: (26,), 5: (30,), 6: (34,), 7: (22, 38), 8: (24, 42), 9: (26, 46), 10: (28, 50)}
_FORMATS = (
    *("101010000010010", "101000100100101", "101111001111100", "101101101001011"),
    *("100010111111001", "100000011001110", "100111110010111", "100101010100000"),
)
"""Level M and the mask, as the standard's table C.1 prints them."""


def modules_of_svg(svg: str) -> np.ndarray:
    """The modules of a picture made of unit squares, without the quiet zone."""
    size = int(re.search(r'viewBox="0 0 (\d+) ', svg)[1])  # type: ignore[index]
    grid = np.zeros((size, size), dtype=int)
    for x, y in re.findall(r"M(\d+) (\d+)h1v1h-1z", svg):
        grid[int(y), int(x)] = 1
    assert not grid[:4].any()
    assert not grid[:, :4].any()
    return grid[4:-4, 4:-4]


def read_qr(modules: np.ndarray) -> str:
    """The text of a symbol; AssertionError where it is not one."""
    grid = np.asarray(modules, dtype=int)
    size = grid.shape[0]
    version = (size - 17) // 4
    told = "".join(str(grid[8, j]) for j in (0, 1, 2, 3, 4, 5, 7, 8)) + "".join(
        str(grid[i, 8]) for i in (7, 5, 4, 3, 2, 1, 0)
    )
    mask = _FORMATS.index(told)
    bits = [int(grid[i, j] ^ _masked(mask, i, j)) for i, j in _order(size) if not _reserved(version, size, i, j)]
    total, blocks = _BLOCKS[version]
    words = [int("".join(map(str, bits[8 * k : 8 * k + 8])), 2) for k in range(total)]
    correction = _CORRECTION[version]
    data, lengths = total - blocks * correction, []
    for block in range(blocks):
        lengths.append(data // blocks + (block >= blocks - data % blocks))
    parts: list[list[int]] = [[] for _ in range(blocks)]
    stream = iter(words)
    for step in range(max(lengths)):
        for block in range(blocks):
            if step < lengths[block]:
                parts[block].append(next(stream))
    ends: list[list[int]] = [[] for _ in range(blocks)]
    for _ in range(correction):
        for block in range(blocks):
            ends[block].append(next(stream))
    for part, end in zip(parts, ends, strict=True):
        assert not any(_value_at([*part, *end], power) for power in range(correction)), "a syndrome is not 0"
    whole = "".join(f"{word:08b}" for part in parts for word in part)
    assert whole[:4] == "0100"
    counted = 8 if version < 10 else 16
    length = int(whole[4 : 4 + counted], 2)
    content = whole[4 + counted : 4 + counted + 8 * length]
    return bytes(int(content[k : k + 8], 2) for k in range(0, len(content), 8)).decode("utf-8")


def _value_at(codeword: list[int], power: int) -> int:
    """The codeword as a polynomial, at 2^power in GF(256)."""
    exponents, logs, value = [], {}, 1
    for exponent in range(255):
        exponents.append(value)
        logs[value] = exponent
        value = (value << 1) ^ (0x11D if value & 0x80 else 0)
    total = 0
    for place, word in enumerate(reversed(codeword)):
        if word:
            total ^= exponents[(logs[word] + power * place) % 255]
    return total


def _masked(mask: int, i: int, j: int) -> bool:
    rules = (i + j) % 2, i % 2, j % 3, (i + j) % 3, (i // 2 + j // 3) % 2, (i * j) % 2 + (i * j) % 3
    more = ((i * j) % 2 + (i * j) % 3) % 2, ((i + j) % 2 + (i * j) % 3) % 2
    return (*rules, *more)[mask] == 0


def _order(size: int) -> list[tuple[int, int]]:
    found, upward, right = [], True, size - 1
    while right > 0:
        if right == 6:
            right -= 1
        for i in range(size - 1, -1, -1) if upward else range(size):
            found += [(i, right), (i, right - 1)]
        upward, right = not upward, right - 2
    return found


def _reserved(version: int, size: int, i: int, j: int) -> bool:
    if i == 6 or j == 6 or (i < 9 and (j < 9 or j >= size - 8)) or (j < 9 and i >= size - 8):
        return True
    if version >= 7 and ((i < 6 and size - 11 <= j < size - 8) or (j < 6 and size - 11 <= i < size - 8)):
        return True
    centres = (6, *_ALIGNED.get(version, ()))
    corners = {(6, 6), (6, centres[-1]), (centres[-1], 6)}
    return any(
        abs(i - a) <= 2 and abs(j - b) <= 2 for a in centres for b in centres if (a, b) not in corners and version > 1
    )
