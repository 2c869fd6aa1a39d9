"""The data scientist: a frame of vehicles, protected in a notebook, published, and asked where people are."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from walking import Walker, installed

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("data_scientist")]

FLEET = """
import numpy as np, pandas as pd
rng = np.random.default_rng(11)
rows = []
for cab in range(24):
    middle = np.array([41.39, 2.17]) + rng.normal(0, .012, 2)
    for day in range(3):
        steps = np.cumsum(rng.normal(0, 2.5e-4, (120, 2)), axis=0) + middle
        when = pd.Timestamp("2026-05-01T08:00Z") + pd.to_timedelta(86400 * day + 30 * np.arange(120), unit="s")
        rows.append(pd.DataFrame({"cab_id": cab, "picked_up": when, "lat": steps[:, 0], "lon": steps[:, 1],
                                  "fare": np.float32(rng.gamma(3, 4, 120)), "note": "call 5th floor"}))
fleet = pd.concat(rows, ignore_index=True)
fleet.index = fleet.index * 10
"""


@pytest.fixture(scope="module")
def scientist(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Walker:
    """Somebody with pandas and polars, who has just installed the core."""
    me = installed(wheel, tmp_path_factory.mktemp("scientist"), beside=("pandas", "polars"))
    me.says(FLEET + 'fleet.to_parquet("fleet.parquet")')
    return me


def test_the_frame_that_goes_in_comes_out(scientist: Walker) -> None:
    said = scientist.says("""
import pandas as pd, sfumato as sf
fleet = pd.read_parquet("fleet.parquet")
done = sf.protect(fleet, person="cab_id", radius_m=200, odds=5, keep=["fare"])
out = done.frame
assert type(out) is pd.DataFrame
assert list(out.columns) == ["cab_id", "picked_up", "lat", "lon", "fare"]
assert (out.dtypes == fleet[list(out.columns)].dtypes).all()
assert out.index.equals(fleet.index)
assert out.cab_id.equals(fleet.cab_id) and out.fare.equals(fleet.fare) and out.picked_up.equals(fleet.picked_up)
moved = (out.lat - fleet.lat).std() * 111_195
assert 300 < moved < 1500, moved
assert done.dropped == ("note",)
sf.verify(done.certificate, release=done.releases)
print(done)
import polars as pl
again = sf.protect(pl.from_pandas(fleet.reset_index(drop=True)), person="cab_id", radius_m=200, odds=5).frame
assert type(again) is pl.DataFrame
assert again.schema["cab_id"] == pl.Int64
print(len(again))
""")
    assert "5 : 1" in said
    assert "8640" in said


def test_published_as_a_file_it_still_answers_where_people_are(scientist: Walker) -> None:
    scientist.does(
        "sfumato", "protect", "fleet.parquet", "-o", "public.parquet", "--user-column", "cab_id",
        "--certificate", "public.json", "--public-report", "public.html",
    )  # fmt: skip
    scientist.does(
        "sfumato", "estimate", "heatmap", "public.parquet", "--certificate", "public.json",
        "--cell", "1km", "-o", "heat.csv", "--picture", "heat.svg",
    )  # fmt: skip
    rows = list(csv.DictReader((scientist.folder / "heat.csv").open()))
    assert {"lat", "lon", "share", "low", "high"} <= set(rows[0])
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1, abs=1e-6)
    assert json.loads((scientist.folder / "public.json").read_text())["radius_m"] == 200
    page = (scientist.folder / "public.html").read_text("utf-8")
    assert "http://" not in page.replace("http://www.w3.org/", "")


def test_mistakes_are_answered_with_what_to_change(scientist: Walker) -> None:
    said = scientist.says("""
import pandas as pd, sfumato as sf
from sfumato.base.errors import InputError
fleet = pd.read_parquet("fleet.parquet")
for wrong in ({"person": "cab"}, {"noise": 150}, {"person": "cab_id", "keep": ["fares"]}):
    try:
        sf.protect(fleet, **{"person": "cab_id", **wrong})
    except InputError as error:
        print(type(error).__name__, error)
    else:
        raise SystemExit(f"{wrong} was accepted")
""")
    assert "noise_m" in said, "what was meant is named"
    assert "cab_id" in said, "the columns there are, are named"
    assert not any(word in said for word in ("41.3", "2.17")), "no coordinate in an error"
