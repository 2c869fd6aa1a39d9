"""GeoPackage: point layers, by SQLite alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
from pyproj import CRS

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.draft import Reading
from sfumato.tracks.io.tables.columns import Roles, find_roles
from sfumato.tracks.io.tables.point_table import from_arrow
from sfumato.tracks.io.tables.wkb import encode_points
from sfumato.tracks.io.times import format_times

_APPLICATION = 0x47504B47  # "GPKG"
_ENVELOPE_BYTES = {0: 0, 1: 32, 2: 48, 3: 48, 4: 64}
# A damaged or hostile database must not run for ever: this many virtual-machine steps, checked every 10,000.
_MOST_CHECKS = 200_000
_TABLES = """
CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL, srs_id INTEGER PRIMARY KEY, organization TEXT NOT NULL,
  organization_coordsys_id INTEGER NOT NULL, definition TEXT NOT NULL, description TEXT);
CREATE TABLE gpkg_contents (table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT UNIQUE,
  description TEXT DEFAULT '', last_change DATETIME NOT NULL, min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE,
  srs_id INTEGER, CONSTRAINT fk_gc_r_srs_id FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys(srs_id));
CREATE TABLE gpkg_geometry_columns (table_name TEXT NOT NULL, column_name TEXT NOT NULL,
  geometry_type_name TEXT NOT NULL, srs_id INTEGER NOT NULL, z TINYINT NOT NULL, m TINYINT NOT NULL,
  CONSTRAINT pk_geom_cols PRIMARY KEY (table_name, column_name), CONSTRAINT uk_gc_table_name UNIQUE (table_name));
"""


def read(path: Path, reading: Reading) -> list[tuple[str, Trace]]:
    """The first layer of points with a time column."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
            checks = iter(range(_MOST_CHECKS))
            database.set_progress_handler(lambda: next(checks, None) is None, 10_000)
            database.execute("PRAGMA trusted_schema = OFF")
            names, rows, roles = _layer(database, reading)
    except (sqlite3.Error, sqlite3.Warning, UnicodeError, OverflowError):
        raise InputError("The GeoPackage cannot be read.", "It may be cut off or damaged; export it again.") from None
    columns = {name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
    if not columns:
        raise InputError("The GeoPackage layer has no points.", "Give a layer with at least one point.")
    geometry = roles.by_role.get("geometry")
    if geometry is not None:
        columns[geometry] = pa.array([_wkb(blob) for blob in columns[geometry]], pa.binary())
    try:
        return from_arrow(pa.table(columns), reading, roles=roles)
    except (pa.ArrowException, TypeError):
        raise InputError("A column of the GeoPackage mixes kinds of values.", "Export it again.") from None


def _layer(database: sqlite3.Connection, reading: Reading) -> tuple[list[str], list[tuple[object, ...]], Roles]:
    layers = database.execute(
        "SELECT g.table_name, g.column_name, s.organization_coordsys_id, s.srs_name FROM gpkg_geometry_columns g "
        "JOIN gpkg_spatial_ref_sys s USING (srs_id) JOIN sqlite_master m ON m.name = g.table_name AND m.type = 'table'"
    ).fetchall()
    refusal: InputError | None = None
    for table, geometry, code, system in layers:
        names = [row[1] for row in database.execute(f"PRAGMA table_info({_quoted(table)})") if not row[5]]
        try:
            roles = find_roles(names, reading, geometry=geometry)
        except InputError as error:
            refusal = refusal or error
            continue
        if code != 4326 and "CRS84" not in str(system):
            raise InputError("The GeoPackage is not in WGS84 longitude and latitude.", "Reproject it to EPSG:4326.")
        picked = ", ".join(_quoted(name) for name in roles.needed)
        rows = database.execute(f"SELECT {picked} FROM {_quoted(table)} ORDER BY rowid").fetchall()
        return roles.needed, rows, roles
    raise refusal or InputError("The GeoPackage has no layer of points.", "Export the track's points as a layer.")


def _quoted(name: str) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _wkb(blob: object) -> bytes | None:
    """The geometry after GeoPackage's own header."""
    if blob is None:
        return None
    if not isinstance(blob, bytes) or blob[:2] != b"GP" or len(blob) < 8:
        raise InputError("A GeoPackage row's geometry cannot be read.", "Export the layer again.")
    return blob[8 + _ENVELOPE_BYTES.get((blob[3] >> 1) & 7, 0) :]


def write(trace: Trace, path: Path) -> None:
    """One layer, ``points``, with time (UTC), segment and the kept columns."""
    if trace.texts:
        raise InputError(f"GeoPackage cannot hold a {next(iter(trace.texts))} here.", "Write GPX, KML or GeoJSON.")
    clash = {"fid", "geom"} & {name.lower() for name in trace.columns}
    if clash:
        raise InputError(f"A kept column is called {clash.pop()}, like GeoPackage's own.", "Rename or drop it.")
    try:
        _fill(trace, path)
    except sqlite3.Error:
        raise InputError("The GeoPackage cannot be written.", "Check the free space and the folder.") from None


def _fill(trace: Trace, path: Path) -> None:
    path.unlink(missing_ok=True)
    wgs84 = CRS.from_epsg(4326).to_wkt("WKT1_GDAL")
    names = ["geom", "time", "segment", *trace.columns]
    kinds = ["POINT", "DATETIME", "INTEGER", *("REAL" for _ in trace.columns)]
    blobs = encode_points(trace.lat_deg, trace.lon_deg)
    header = b"GP\x00\x01" + (4326).to_bytes(4, "little")
    rows = zip(
        (header + blobs[start : start + 21] for start in range(0, len(blobs), 21)),
        format_times(trace.times_s),
        trace.segment.tolist(),
        *(values.tolist() for values in trace.columns.values()),
        strict=True,
    )
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute("PRAGMA user_version = 10300")
        database.executescript(_TABLES)
        database.executemany(
            "INSERT INTO gpkg_spatial_ref_sys VALUES (?, ?, ?, ?, ?, NULL)",
            [
                ("Undefined Cartesian SRS", -1, "NONE", -1, "undefined"),
                ("Undefined geographic SRS", 0, "NONE", 0, "undefined"),
                ("WGS 84 geodetic", 4326, "EPSG", 4326, wgs84),
            ],
        )
        box = [
            float(f(v))
            for f, v in ((min, trace.lon_deg), (min, trace.lat_deg), (max, trace.lon_deg), (max, trace.lat_deg))
        ]
        # A fixed date: when the file was written is nobody's business.
        database.execute(
            "INSERT INTO gpkg_contents VALUES ('points', 'features', 'points', '', '1970-01-01T00:00:00.000Z', "
            "?, ?, ?, ?, 4326)",
            box,
        )
        database.execute("INSERT INTO gpkg_geometry_columns VALUES ('points', 'geom', 'POINT', 4326, 0, 0)")
        fields = ", ".join(f"{_quoted(name)} {kind}" for name, kind in zip(names, kinds, strict=True))
        database.execute(f"CREATE TABLE points (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, {fields})")
        marks = ", ".join("?" for _ in names)
        database.executemany(f"INSERT INTO points ({', '.join(map(_quoted, names))}) VALUES ({marks})", rows)
