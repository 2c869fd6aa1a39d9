"""Nobody is merged silently, and no error or kept field gives a position away."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from sfumato.base.errors import InputError, SfumatoError
from sfumato.tracks.io import read_trace, read_traces

NAMES = (
    *("username", "device", "imei", "customer_id", "bike_id", "member_id", "phone", "name", "email", "bikeId", "IMEI"),
    *("account", "rider", "device_name", "tracker_id", "plate", "client_no", "employee", "patient_id", "nickname"),
    *("participant_code", "sim", "vessel", "car", "hashed_user", "owner", "household_id", "tag", "who"),
)


def two_people(name: str, first: str = "alice", second: str = "bob") -> str:
    rows = [
        f"2024-05-01T12:{k:02d}:{30 * p:02d}Z,{48.1 + 0.2 * p + k * 1e-4:.5f},2.3,{(first, second)[p]}"
        for k in range(20)
        for p in (0, 1)
    ]
    return "\n".join([f"time,lat,lon,{name}", *rows]) + "\n"


@pytest.mark.parametrize("name", NAMES)
def test_two_people_are_never_read_as_one(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(two_people(name))
    with pytest.raises(InputError, match="one-person"):
        read_traces(path)
    assert len(read_traces(path, columns={"id": name})) == 2
    assert len(read_trace(path, one_person=True)) == 40
    path.write_text(two_people(name, second="alice"))
    assert len(read_trace(path)) == 40


def test_a_column_of_any_name_that_untangles_the_path_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(two_people("zzz"))
    with pytest.raises(InputError, match="half as long"):
        read_trace(path)
    path.write_text(two_people("user_id"))
    assert len(read_traces(path)) == 2


def test_modes_heart_rates_and_row_numbers_are_nobody(tmp_path: Path) -> None:
    rows = [
        f"2024-05-01T12:{k:02d}:00Z,{48.1 + k * 1e-3:.5f},2.3,{'walk' if k < 9 else 'bus'},{k},90" for k in range(20)
    ]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["time,lat,lon,mode,point_id,hr", *rows]))
    assert len(read_trace(path)) == 20


@pytest.mark.parametrize("name", ["latitude", "start_lat", "Longitude", "lon_e7", "geometry", "x", "GPS Long (deg)"])
def test_a_position_cannot_be_kept_by_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"time,lat,lon,{name}\n2024-05-01T12:00:00Z,48.1,2.3,48.1\n")
    with pytest.raises(InputError):
        read_trace(path, keep=[name], columns={"lat": "lat", "lon": "lon"})


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e7, -3.0])
def test_a_position_cannot_be_kept_by_value(tmp_path: Path, scale: float) -> None:
    lat = 48.1 + np.random.default_rng(0).normal(size=20).cumsum() * 1e-3
    rows = [f"2024-05-01T12:{k:02d}:00Z,{lat[k]:.6f},2.3,{lat[k] * scale:.6f}" for k in range(20)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["time,lat,lon,battery", *rows]))
    with pytest.raises(InputError, match="true position"):
        read_trace(path, keep=["battery"])


HEADERLESS = (
    "48.8583701,2.2944813,2024-05-01T12:00:00Z\n",
    "2024-05-01T12:00:00Z;48.8583701;2.2944813\n",
    "a,48.8583701,2.2\n",
)


@pytest.mark.parametrize("text", HEADERLESS)
def test_a_table_without_a_header_is_refused_without_its_coordinates(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text * 3)
    with pytest.raises(SfumatoError) as caught:
        read_trace(path)
    assert not re.search(r"48\.85|2\.29", str(caught.value))
