"""A PMTiles file (version 3) of an invented town, written here: streets, a river, a park, names."""

from __future__ import annotations

import gzip
import math
import struct
from pathlib import Path

EXTENT = 4096


def town_tiles(
    path: Path,
    *,
    south: float,
    west: float,
    north: float,
    east: float,
    zooms: range = range(11, 15),
    sea: bool = False,
) -> Path:
    """Write the town's tiles over this rectangle; a leaf directory holds them, as in large files.

    The tile in the middle holds all of the town, as if its margin were as wide: nothing is drawn twice.
    """
    tiles = {}
    for z in zooms:
        middle = _column((west + east) / 2, z), _row((south + north) / 2, z)
        for x in range(_column(west, z), _column(east, z) + 1):
            for y in range(_row(north, z), _row(south, z) + 1):
                town = _town(z, x, y, (south, west, north, east), sea=sea) if (x, y) == middle else _layer("roads", [])
                tiles[tile_id(z, x, y)] = gzip.compress(town, mtime=0)
    data, entries = b"", []
    for number in sorted(tiles):
        entries.append((number, len(data), len(tiles[number]), 1))
        data += tiles[number]
    leaf = gzip.compress(_directory(entries), mtime=0)
    root = gzip.compress(_directory([(entries[0][0], 0, len(leaf), 0)]), mtime=0)
    about = gzip.compress(b"{}", mtime=0)
    starts = [127, 127 + len(root), 127 + len(root) + len(about), 127 + len(root) + len(about) + len(leaf)]
    lengths = [len(root), len(about), len(leaf), len(data)]
    header = b"PMTiles\x03" + b"".join(struct.pack("<QQ", *pair) for pair in zip(starts, lengths, strict=True))
    header += struct.pack("<QQQ", len(entries), len(entries), len(entries))
    header += bytes([1, 2, 2, 1, zooms[0], zooms[-1]])
    corners = (int(value * 1e7) for value in (west, south, east, north))
    header += struct.pack("<iiii", *corners) + bytes([zooms[0]]) + struct.pack("<ii", 0, 0)
    assert len(header) == 127
    path.write_bytes(header + root + about + leaf + data)
    return path


def lyon(folder: Path) -> Path:
    """The invented town where Lyon is, for the operator's day."""
    return town_tiles(folder / "lyon.pmtiles", south=45.68, west=4.74, north=45.82, east=4.96)


def tile_id(z: int, x: int, y: int) -> int:
    """The tile's number along the Hilbert curve, by turning quarters: written apart from the reader's."""
    number = sum(4**level for level in range(z))
    side = 2**z
    while side > 1:
        half = side // 2
        right, down = int(x >= half), int(y >= half)
        number += half * half * (3 if right and not down else 2 if right else down)
        x, y = x - half * right, y - half * down
        if not down:
            x, y = (half - 1 - y, half - 1 - x) if right else (y, x)
        side = half
    return number


def _column(lon: float, z: int) -> int:
    return math.floor((lon + 180) / 360 * 2**z)


def _row(lat: float, z: int) -> int:
    return math.floor((1 - math.asinh(math.tan(math.radians(lat))) / math.pi) / 2 * 2**z)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _directory(entries: list[tuple[int, int, int, int]]) -> bytes:
    steps = [entry[0] - before for entry, before in zip(entries, [0, *(e[0] for e in entries)], strict=False)]
    columns = (steps, [e[3] for e in entries], [e[2] for e in entries], [e[1] + 1 for e in entries])
    return _varint(len(entries)) + b"".join(_varint(value) for column in columns for value in column)


def _field(number: int, inside: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(inside)) + inside


def _zigzag(value: int) -> int:
    return value * 2 if value >= 0 else -value * 2 - 1


def _line(points: list[tuple[int, int]], *, closed: bool = False) -> list[int]:
    x = y = 0
    out: list[int] = []
    for index, (a, b) in enumerate(points):
        if index == 0:
            out.append(1 | 1 << 3)
        elif index == 1:
            out.append(2 | (len(points) - 1) << 3)
        out += [_zigzag(a - x), _zigzag(b - y)]
        x, y = a, b
    return [*out, 7 | 1 << 3] if closed else out


def _layer(name: str, features: list[tuple[int, list[int], dict[str, str]]]) -> bytes:
    keys = sorted({key for _, _, told in features for key in told})
    values = sorted({value for _, _, told in features for value in told.values()})
    out = _field(1, name.encode()) + b"\x78\x02" + b"\x28" + _varint(EXTENT)
    for kind, geometry, told in features:
        tags = b"".join(_varint(keys.index(k)) + _varint(values.index(v)) for k, v in sorted(told.items()))
        shape = b"".join(map(_varint, geometry))
        out += _field(2, _field(2, tags) + b"\x18" + _varint(kind) + _field(4, shape))
    out += b"".join(_field(3, key.encode()) for key in keys)
    out += b"".join(_field(4, _field(1, value.encode())) for value in values)
    return _field(3, out)


def _town(z: int, x: int, y: int, bounds: tuple[float, float, float, float], *, sea: bool) -> bytes:
    """Streets every few hundred metres, two main roads, a river that winds, a park, and three names; perhaps a bay."""
    south, west, north, east = bounds
    side = 2**z

    def place(lat: float, lon: float) -> tuple[int, int]:
        down = (1 - math.asinh(math.tan(math.radians(lat))) / math.pi) / 2
        return round(((lon + 180) / 360 * side - x) * EXTENT), round((down * side - y) * EXTENT)

    def line(*points: tuple[float, float]) -> list[tuple[int, int]]:
        return [place(south + v * (north - south), west + u * (east - west)) for u, v in points]

    roads = []
    for i in range(1, 40):
        bend = [(i / 40 + 0.006 * math.sin(9 * t + i), t) for t in (j / 12 for j in range(13))]
        kind = "major_road" if i in (13, 27) else "minor_road" if i % 3 else "medium_road"
        roads.append((2, _line(line(*bend)), {"kind": kind}))
        roads.append((2, _line(line(*((t, s) for s, t in bend))), {"kind": kind}))
    banks = [(t, 0.45 + 0.12 * math.sin(5 * t)) for t in (j / 30 for j in range(31))]
    river = line(*banks, *((u, v + 0.035) for u, v in reversed(banks)))
    park = line((0.62, 0.7), (0.78, 0.72), (0.8, 0.88), (0.6, 0.86))
    coast = [
        (-2, 2),
        (0.02, 1.3),
        (0.1, 0.8),
        (0.24, 0.52),
        (0.34, 0.47),
        (0.3, 0.36),
        (0.38, 0.2),
        (0.5, -0.6),
        (0.5, -2),
    ]
    bay = [(3, _line(line(*coast, (-2, -2)), closed=True), {"kind": "ocean"})] if sea else []
    names = [("Old Town", (0.42, 0.62)), ("Harbour", (0.2, 0.3)), ("Hill Park", (0.7, 0.79))]
    return (
        _layer("water", [(3, _line(river, closed=True), {"kind": "water"}), *bay])
        + _layer("landuse", [(3, _line(park, closed=True), {"kind": "park"})])
        + _layer("roads", roads)
        + _layer("places", [(1, _line(line(at)), {"kind": "suburb", "name": name}) for name, at in names])
    )
