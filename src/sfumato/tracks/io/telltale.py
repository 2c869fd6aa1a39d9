"""Columns that tell where somebody was, or who: by their names, in the languages of exporters, or by their values.

What is kept is released without noise, so a column that says where somebody was must not be kept, whatever it is
called and whatever unit it counts in: degrees, microdegrees, radians, semicircles, NMEA's degrees and minutes, or the
metres of a projection.

Two people read as one get one noise, which reveals the way between them. A column could tell them apart if its name has
a word of people, devices or vehicles in it, or if going by its values makes the path at most half as long: interleaved
people make one path jump to and fro. What could be an id must be declared, as ``id`` or as one person; it is never
guessed."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.things.frames import differences_m

# Words of a position, without accents.
_WORDS_TEXT = (
    "lat lats latitude latitudes lati lon lons lng lngs long longi longitude longitudes northing northings easting "
    "eastings utm mgrs usng geohash wkt wkb ewkt ewkb geom geometry geometria geometrie geog geography position "
    "positions posicion posicao posizione pozycja positie coordinate coordinates coord coords coordenada coordenadas "
    "coordonnees koordinate koordinaten koordinaat latlon latlng lonlat lnglat location localizacion localisation "
    "ubicacion standort ort point punkt punto shape h3 s2 plus pluscode olc what3words w3w "
    "latitud longitud latitudine longitudine breite breitengrad breitegrad laenge lange laengengrad langengrad "
    "breedte breedtegraad lengte lengtegraad bredd breddgrad langd langdgrad bredde breddegrad lengde lengdegrad "
    "laengde laengdegrad leveys leveysaste leveyspiiri pituus pituusaste pituuspiiri szerokosc dlugosc sirka delka "
    "dlzka szelesseg hosszusag enlem boylam sirina duzina dolzina laius pikkus platums garums platuma ilguma "
    "vi kinh lintang bujur latitudo longitudo hochwert rechtswert swissgrid lv03 lv95 osgb "
    "широта долгота довгота ширина дължина координата координаты πλατος μηκος العرض عرض الطول طول רוחב אורך "
    "纬度 緯度 经度 經度 経度 坐标 座標 位置 위도 경도 좌표 위치 अक्षांश देशांतर ละติจูด ลองจิจูด"
)
_LETTERS = str.maketrans({"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "ı": "i", "ß": "ss", "æ": "ae", "Æ": "Ae"})


def _folded(word: str) -> str:
    """Without accents and strokes."""
    apart = unicodedata.normalize("NFKD", word.translate(_LETTERS))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


_WORDS = frozenset(_folded(word) for word in _WORDS_TEXT.split())
_WHOLE = ("x", "y", "xcoord", "ycoord", "coordx", "coordy", "posx", "posy", "xm", "ym", "xutm", "yutm")
_SAME_SCRIPT = re.compile(r"[^\W\d_]+[0-9]*")
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
# How degrees are written as a number: degrees, thousandths ... billionths, radians, semicircles.
_SCALES = (*(10.0**power for power in (0, 3, 4, 5, 6, 7, 8, 9)), math.pi / 180, 2.0**31 / 180)
_NEAR_DEG, _SAME_DEG = 5e-3, 5e-5
_NEAR_M = 100.0
_ENOUGH = 10


def names_position(name: str) -> bool:
    """Whether a field's name says that it is a position: ``latitude``, ``start_lat``, ``lon_e7``, ``Breitengrad``."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    folded = _folded(spaced)
    words = [word.lower() for word in _SAME_SCRIPT.findall(folded)]
    stems = {re.sub(r"(e[5-9]|deg|degrees|wgs|[0-9]+)$", "", word) for word in words} | set(words)
    if _CJK.search(folded):
        return any(word in folded for word in _WORDS if _CJK.search(word))
    return bool(stems & _WORDS) or "".join(words) in _WHOLE


def refuse_positions(
    columns: Mapping[str, FloatArray],
    lat_deg: FloatArray,
    lon_deg: FloatArray,
    times_s: FloatArray,
    known: frozenset[str] = frozenset(),
) -> None:
    """Refuse to keep numbers that say where somebody was.

    They do if, in one of the ways to write degrees, they are a coordinate to a few hundred metres at half of the
    points; or if they are a linear function of the position to 100 m (a projection, an offset), unless time explains
    them as well. The second is not asked of ``known`` quantities: a height on a steady climb is a height. Nor does the
    first refuse those where the numbers do not move with the coordinate: 120 heart beats are no .120 degrees.
    """
    for name, values in columns.items():
        there = np.isfinite(values) & np.isfinite(lat_deg) & np.isfinite(lon_deg) & np.isfinite(times_s)
        number, lat, lon = values[there], lat_deg[there], lon_deg[there]
        if len(number) < 2:
            continue
        if any(
            _is_written(written, degrees, name in known) for degrees in (lat, lon) for written in _as_degrees(number)
        ):
            raise InputError(f"Column '{name}' holds the true position.", "It is what is hidden: leave it out.")
        for degrees in (lat, lon):
            moved = np.ptp(degrees) > 0 and np.ptp(number) > 0 and len(number) >= _ENOUGH
            if moved and abs(np.corrcoef(number, degrees)[0, 1]) > 0.9999:
                raise InputError(f"Column '{name}' follows the true position.", "It is what is hidden: leave it out.")
        if name not in known and _is_projected(number, lat, lon, times_s[there]):
            raise InputError(f"Column '{name}' follows the true position.", "It is what is hidden: leave it out.")


def _is_written(written: FloatArray, degrees: FloatArray, is_known: bool) -> bool:
    """Whether numbers are a coordinate; known quantities only where they move with it, or are it to a few metres."""
    off = written - degrees
    if np.mean(np.abs(off) < _NEAR_DEG) <= 0.5:
        return False
    moves = np.subtract(*np.quantile(off, (0.75, 0.25))) < 0.5 * np.subtract(*np.quantile(degrees, (0.75, 0.25)))
    return bool(not is_known or moves or np.mean(np.abs(off) < _SAME_DEG) > 0.5)


def _as_degrees(number: FloatArray) -> Iterator[FloatArray]:
    for scale in _SCALES:
        yield number / scale
        yield -number / scale
    whole = np.trunc(number / 100.0)
    yield whole + (number - 100.0 * whole) / 60.0  # NMEA's ddmm.mmmm


def _is_projected(number: FloatArray, lat_deg: FloatArray, lon_deg: FloatArray, times_s: FloatArray) -> bool:
    if len(number) < _ENOUGH or np.ptp(number) == 0 or (np.abs(lat_deg) > 90).any():
        return False
    start = (np.full(len(lat_deg), lat_deg[0]), np.full(len(lon_deg), lon_deg[0]))
    metres = differences_m(*start, lat_deg, lon_deg)
    if np.ptp(metres, axis=0).max() < 5 * _NEAR_M:
        return False
    centred = number - number.mean()
    slopes, left = _fitted(metres, centred)
    steepness = float(np.hypot(*slopes))
    if steepness == 0 or left / steepness > _NEAR_M:
        return False
    return left < 0.5 * _fitted(times_s[:, None], centred)[1]


def _fitted(by: FloatArray, number: FloatArray) -> tuple[FloatArray, float]:
    """Slopes of the linear fit, and the root mean square of what it leaves."""
    centred = by - by.mean(axis=0)
    slopes = np.linalg.lstsq(centred, number, rcond=None)[0]
    return slopes, float(np.sqrt(np.mean((number - centred @ slopes) ** 2)))


_PEOPLE_TEXT = (
    "id ids uid uuid guid user users username userid person people member memberid customer customerid "
    "client rider driver passenger patient student pupil employee staff worker participant subject "
    "individual animal agent owner account profile device deviceid imei imsi msisdn mac phone phonenumber "
    "mobile sim handset tracker tag bike bikeid scooter vehicle car truck bus taxi cab vessel ship boat "
    "mmsi callsign plate licence license vin fleet asset unit serial serialno email mail login nick "
    "nickname alias name firstname lastname surname fullname who author collar bird dog cat respondent "
    "household child player athlete runner courier rider cyclist ssn passport badge card hash pseudonym "
    "key handle screenname "
)
_NUMBERING = {"id", "no", "nr", "number", "key", "uuid", "code", "name"}
_TRIPS_TEXT = "trip tid ride segment seg session track trace traj trajectory journey activity leg tour route run drive"
_TRIP_WORDS = frozenset(_TRIPS_TEXT.split())
_PEOPLE_WORDS = frozenset(_PEOPLE_TEXT.split())
# Nouns of what was measured and of how somebody moved; the last word of a name is its noun.
_MEASURED_TEXT = (
    "battery batt bat level charging temperature temp accuracy precision hdop vdop pdop satellites sats sat fix valid "
    "speed velocity course bearing heading direction altitude elevation height hr bpm cadence power watts distance "
    "duration time timestamp date confidence probability"
)
_KINDS_TEXT = "type kind mode activity motion state status provider protocol event travel semantic"
_MEASURED, _KINDS = frozenset(_MEASURED_TEXT.split()), frozenset(_KINDS_TEXT.split())
_PLACES = {"place", "point", "row", "record", "fix", "position"}
MOST_PEOPLE = 500


def names_people(column: str) -> bool:
    """Whether a column's name has a word of people, devices or vehicles in it: ``bikeId``, ``IMEI``."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", column)
    words = [word.lower() for word in re.findall(r"[A-Za-z]+", spaced)]
    return any(word in _PEOPLE_WORDS for word in words) or "".join(words) in _PEOPLE_WORDS


def names_things(column: str) -> bool:
    """Whether a column's name is that of a measurement, a way to move, a place: ``battery``, ``Type``, ``PlaceId``."""
    words = _name_words(column)
    named = {*words} - _NUMBERING
    return bool(named) and (words[-1] in _MEASURED or {*words} <= _KINDS or named <= _PLACES)


def names_trips(column: str) -> bool:
    """Whether a column's name says that it tells trips, not people: ``trip_id``, ``rideNo``, ``session``."""
    words = {word.rstrip("s") for word in _name_words(column)} - _NUMBERING
    return bool(words) and words <= _TRIP_WORDS


def _name_words(column: str) -> list[str]:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", column)
    return [re.sub(r"(?<=.{3})id$", "", word.lower()) or word for word in re.findall(r"[A-Za-z]+", spaced)]


def refuse_undeclared_people(
    table: pa.Table, others: Iterable[str], lat_deg: FloatArray, lon_deg: FloatArray, times_s: FloatArray
) -> None:
    """Refuse a table whose undeclared columns could tell people apart."""
    columns = list(others)
    beside_place = any(name.lower() == "address" or "place" in _name_words(name) for name in columns)
    for name in columns:
        if names_things(name) or (beside_place and name.lower() == "name"):
            continue
        codes = _codes(table.column(name))
        values = len(np.unique(codes))
        if values < 2 or values == len(codes) > 2:
            continue  # one value for all, or a number per row
        by_name = names_people(name)
        if by_name or (values <= MOST_PEOPLE and _untangles(codes, lat_deg, lon_deg, times_s)):
            why = "by its name" if by_name else "because going by it makes the path less than half as long"
            raise InputError(
                f"Column '{name}' has {values} values and could tell people apart ({why}).",
                f"Say who is who: columns={{'id': '{name}'}} (sf.protect also takes person='{name}', the command "
                f"--column id={name}), or one_person=True (--one-person) if all rows are one person's. Two people read "
                "as one would share one noise.",
            )


def _codes(column: pa.ChunkedArray) -> IntArray:
    if pa.types.is_nested(column.type):
        return np.zeros(len(column), dtype=np.int64)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    whole = pc.fill_null(column.cast(pa.string()) if not pa.types.is_binary(column.type) else column, "")
    encoded = whole.combine_chunks().dictionary_encode()
    array = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    codes: IntArray = array.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _untangles(codes: IntArray, lat_deg: FloatArray, lon_deg: FloatArray, times_s: FloatArray) -> bool:
    """Whether steps are half as long on average where each value goes its own way, by time, as on one path of all.

    On average, because a value that changes with time (a battery's) cuts a path into few long ones.
    """
    if not (np.isfinite(lat_deg).all() and np.isfinite(lon_deg).all() and (np.abs(lat_deg) <= 90).all()):
        return False
    together = np.argsort(times_s, kind="stable")
    apart = np.lexsort((times_s, codes))
    return 2 * _step_m(apart, codes, lat_deg, lon_deg) < _step_m(together, None, lat_deg, lon_deg)


def _step_m(order: IntArray, codes: IntArray | None, lat_deg: FloatArray, lon_deg: FloatArray) -> float:
    lat, lon = lat_deg[order], lon_deg[order]
    steps = np.hypot(*differences_m(lat[:-1], lon[:-1], lat[1:], lon[1:]).T)
    if codes is not None:
        steps = steps[codes[order][1:] == codes[order][:-1]]
    return float(steps.mean()) if len(steps) else math.inf
