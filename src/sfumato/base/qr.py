"""A QR code [ISO/IEC 18004:2015] of a short text: an address that people point their phones at.

Bytes, error correction level M (about 15 % of the symbol may be hidden), the smallest version from 1 to 10 that holds
the text, and the mask whose pattern has the fewest look-alikes of the symbol's own marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

from sfumato.base.errors import InputError

Symbol = tuple[tuple[bool, ...], ...]
"""Rows of modules, dark ones True; without the quiet zone of four modules around."""

# By version: codewords of error correction in a block, data codewords of each block, centres of alignment marks.
_VERSIONS: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...] = (
    (10, (16,), ()),
    (16, (28,), (6, 18)),
    (26, (44,), (6, 22)),
    (18, (32, 32), (6, 26)),
    (24, (43, 43), (6, 30)),
    (16, (27,) * 4, (6, 34)),
    (18, (31,) * 4, (6, 22, 38)),
    (22, (38, 38, 39, 39), (6, 24, 42)),
    (22, (36, 36, 36, 37, 37), (6, 26, 46)),
    (26, (43, 43, 43, 43, 44), (6, 28, 50)),
)
_FIELD, _FORMAT, _VERSION, _FORMAT_MASK = 0x11D, 0x537, 0x1F25, 0x5412
_MASKS: tuple[Callable[[int, int], int], ...] = (
    lambda i, j: (i + j) % 2,
    lambda i, j: i % 2,
    lambda i, j: j % 3,
    lambda i, j: (i + j) % 3,
    lambda i, j: (i // 2 + j // 3) % 2,
    lambda i, j: i * j % 2 + i * j % 3,
    lambda i, j: (i * j % 2 + i * j % 3) % 2,
    lambda i, j: ((i + j) % 2 + i * j % 3) % 2,
)
_LOOKALIKES = ((1, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0), (0, 0, 0, 0, 1, 0, 1, 1, 1, 0, 1))


def qr_code(text: str) -> Symbol:
    """The symbol of ``text``."""
    content = text.encode("utf-8")
    version = _smallest_version(len(content))
    bits = _bits(_interleaved(_data_codewords(content, version), version))
    best = min((_drawn(version, bits, mask) for mask in range(8)), key=_penalty)
    return tuple(tuple(bool(module) for module in row) for row in best)


def qr_svg(text: str, *, label: str) -> str:
    """The symbol as an SVG picture: dark on light whatever the page's colours, with its quiet zone."""
    symbol = qr_code(text)
    size = len(symbol) + 8
    marks = "".join(f"M{j + 4} {i + 4}h1v1h-1z" for i, row in enumerate(symbol) for j, dark in enumerate(row) if dark)
    title = label.replace("&", "&amp;").replace("<", "&lt;")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" role="img" shape-rendering="crispEdges">'
        f'<title>{title}</title><rect width="{size}" height="{size}" fill="#fff"/><path d="{marks}" fill="#000"/></svg>'
    )


def error_correction(data: bytes, count: int) -> bytes:
    """The Reed-Solomon codewords of a block: the remainder of data x^count by (x - 1)(x - 2)...(x - 2^(count - 1))."""
    generator = [1]
    for power in range(count):
        root = _power_of_two(power)
        shifted = [*generator, 0]
        for i, value in enumerate(generator):
            shifted[i + 1] ^= _times(value, root)
        generator = shifted
    rest = [*data, *[0] * count]
    for i in range(len(data)):
        factor = rest[i]
        for j, value in enumerate(generator):
            rest[i + j] ^= _times(value, factor)
    return bytes(rest[len(data) :])


def _smallest_version(length: int) -> int:
    for version, (_, blocks, _) in enumerate(_VERSIONS, start=1):
        if length + (2 if version < 10 else 3) <= sum(blocks):
            return version
    raise InputError(f"The text has {length} bytes; a QR code here holds 213.", "Shorten the address.")


def _data_codewords(content: bytes, version: int) -> bytes:
    room = sum(_VERSIONS[version - 1][1])
    length = f"{len(content):0{8 if version < 10 else 16}b}"
    bits = "0100" + length + "".join(f"{byte:08b}" for byte in content)
    bits += "0" * min(4, 8 * room - len(bits))
    bits += "0" * (-len(bits) % 8)
    words = [int(bits[i : i + 8], 2) for i in range(0, len(bits), 8)]
    words += [(0xEC, 0x11)[i % 2] for i in range(room - len(words))]
    return bytes(words)


def _interleaved(data: bytes, version: int) -> bytes:
    count, sizes, _ = _VERSIONS[version - 1]
    blocks, begin = [], 0
    for size in sizes:
        blocks.append(data[begin : begin + size])
        begin += size
    corrections = [error_correction(block, count) for block in blocks]
    first = [block[i] for i in range(max(sizes)) for block in blocks if i < len(block)]
    return bytes([*first, *(words[i] for i in range(count) for words in corrections)])


def _bits(words: bytes) -> list[int]:
    return [word >> shift & 1 for word in words for shift in range(7, -1, -1)]


def _drawn(version: int, bits: list[int], mask: int) -> list[list[int]]:
    size = 17 + 4 * version
    modules: list[list[int | None]] = [[None] * size for _ in range(size)]
    for (i, j), dark in _marks(version, mask):
        modules[i][j] = dark
    stream = iter(bits)
    for i, j in _path(size):
        if modules[i][j] is None:
            modules[i][j] = next(stream, 0) ^ (_MASKS[mask](i, j) == 0)
    return [[int(module or 0) for module in row] for row in modules]


def _path(size: int) -> Iterator[tuple[int, int]]:
    """The order of data: two columns at a time from the right, up and down, around the vertical timing marks."""
    for number, right in enumerate([*range(size - 1, 6, -2), 5, 3, 1]):
        for step in range(size):
            i = size - 1 - step if number % 2 == 0 else step
            yield from ((i, right), (i, right - 1))


def _marks(version: int, mask: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Everything that is not data, later marks over earlier ones."""
    size = 17 + 4 * version
    for at in range(size):
        yield (6, at), 1 - at % 2
        yield (at, 6), 1 - at % 2
    for top, left in ((0, 0), (0, size - 7), (size - 7, 0)):
        for i in range(-1, 8):
            for j in range(-1, 8):
                if 0 <= top + i < size and 0 <= left + j < size:
                    ring = max(abs(i - 3), abs(j - 3))
                    yield (top + i, left + j), int(ring not in (2, 4))
    centres = _VERSIONS[version - 1][2]
    for i0 in centres:
        for j0 in centres:
            if (i0, j0) not in ((6, 6), (6, centres[-1]), (centres[-1], 6)):
                for i in range(-2, 3):
                    for j in range(-2, 3):
                        yield (i0 + i, j0 + j), int(max(abs(i), abs(j)) != 1)
    yield from _format_marks(size, mask)
    if version >= 7:
        told = version << 12 | _remainder(version << 12, _VERSION)
        for bit in range(18):
            yield (bit // 3, size - 11 + bit % 3), told >> bit & 1
            yield (size - 11 + bit % 3, bit // 3), told >> bit & 1


def _format_marks(size: int, mask: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Level M (00) and the mask, twice."""
    told = (mask << 10 | _remainder(mask << 10, _FORMAT)) ^ _FORMAT_MASK
    first = [*((8, j) for j in (0, 1, 2, 3, 4, 5, 7, 8)), *((i, 8) for i in (7, 5, 4, 3, 2, 1, 0))]
    second = [*((size - 1 - k, 8) for k in range(7)), *((8, size - 8 + k) for k in range(8))]
    for at in (first, second):
        for bit, place in enumerate(at):
            yield place, told >> (14 - bit) & 1
    yield (size - 8, 8), 1


def _penalty(modules: list[list[int]]) -> int:
    """How much a pattern looks like the marks of a symbol, by the four rules of the standard."""
    size, total = len(modules), 0
    for lines in (modules, [list(column) for column in zip(*modules, strict=True)]):
        for line in lines:
            run = 1
            for before, now in zip(line, [*line[1:], 2], strict=True):
                if before == now:
                    run += 1
                    continue
                total += run - 2 if run >= 5 else 0
                run = 1
            total += 40 * sum(tuple(line[k : k + 11]) in _LOOKALIKES for k in range(size - 10))
    for above, below in pairwise(modules):
        total += 3 * sum(above[j] == above[j + 1] == below[j] == below[j + 1] for j in range(size - 1))
    dark = sum(map(sum, modules))
    return total + 10 * (abs(20 * dark - 10 * size * size) // (size * size))


def _remainder(value: int, divisor: int) -> int:
    while value.bit_length() >= divisor.bit_length():
        value ^= divisor << (value.bit_length() - divisor.bit_length())
    return value


@cache
def _power_of_two(power: int) -> int:
    value = 1
    for _ in range(power):
        value = value << 1 ^ (_FIELD if value & 0x80 else 0)
    return value


def _times(a: int, b: int) -> int:
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = a << 1 ^ (_FIELD if a & 0x80 else 0)
        b >>= 1
    return product
