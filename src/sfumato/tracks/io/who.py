"""Could a column tell people apart? Two people read as one get one noise, which reveals the way between them.

A column counts as one that could if its name has a word of people, devices or vehicles in it, or if going by its values
makes the path at most half as long: interleaved people make one path jump to and fro. What could be an id must be
declared, as ``id`` or as one person; it is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.things.frames import differences_m

_WORDS_TEXT = (
    "id ids uid uuid guid user users username userid person people member memberid customer customerid "
    "client rider driver passenger patient student pupil employee staff worker participant subject "
    "individual animal agent owner account profile device deviceid imei imsi msisdn mac phone phonenumber "
    "mobile sim handset tracker tag bike bikeid scooter vehicle car truck bus taxi cab vessel ship boat "
    "mmsi callsign plate licence license vin fleet asset unit serial serialno email mail login nick "
    "nickname alias name firstname lastname surname fullname who author collar bird dog cat respondent "
    "household child player athlete runner courier rider cyclist ssn passport badge card hash pseudonym "
    "key handle screenname "
)
_WORDS = frozenset(_WORDS_TEXT.split())
MOST_PEOPLE = 500


def names_people(column: str) -> bool:
    """Whether a column's name has a word of people, devices or vehicles in it: ``bikeId``, ``IMEI``."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", column)
    words = [word.lower() for word in re.findall(r"[A-Za-z]+", spaced)]
    return any(word in _WORDS for word in words) or "".join(words) in _WORDS


def refuse_undeclared_people(
    table: pa.Table, others: Iterable[str], lat_deg: FloatArray, lon_deg: FloatArray, times_s: FloatArray
) -> None:
    """Refuse a table whose undeclared columns could tell people apart."""
    for name in others:
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
    """Whether the path of each value, by time, is less than half as long as the one path of all."""
    if not (np.isfinite(lat_deg).all() and np.isfinite(lon_deg).all() and (np.abs(lat_deg) <= 90).all()):
        return False
    together = np.argsort(times_s, kind="stable")
    apart = np.lexsort((times_s, codes))
    return 2 * _length_m(apart, codes, lat_deg, lon_deg) < _length_m(together, None, lat_deg, lon_deg)


def _length_m(order: IntArray, codes: IntArray | None, lat_deg: FloatArray, lon_deg: FloatArray) -> float:
    lat, lon = lat_deg[order], lon_deg[order]
    steps = np.hypot(*differences_m(lat[:-1], lon[:-1], lat[1:], lon[1:]).T)
    if codes is not None:
        steps = steps[codes[order][1:] == codes[order][:-1]]
    return float(steps.sum())
