"""`sfumato places` and `sfumato hide`, as somebody who shares rides would use them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command import refused, run
from rides import ride
from track_files import write_as

pytestmark = pytest.mark.usefixtures("roads_lead_nowhere")

SYDNEY = (-33.9, 151.2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rides").mkdir()
    for number in range(6):
        to = [4000 * np.cos(number), 4000 * np.sin(number)]
        trace = ride([0, 0], to, home=SYDNEY, every_s=5.0, at_s=1.7e9 + 86400 * number)
        write_as("gpx", trace, tmp_path / "rides" / f"{number}.gpx")
    return tmp_path


def test_find_add_hide_verify_and_remove(folder: Path) -> None:
    code, out, _ = run("places", "find", "rides", "--map", "map.html", folder=folder)
    assert code == 0
    assert "sfumato places add home -33.90000,151.20000" in out
    assert (folder / "map.html").stat().st_mode & 0o777 == 0o600
    assert "http" not in (folder / "map.html").read_text().replace("http-equiv", "")
    assert run("places", "add", "home", "-33.9,151.2", "--places", "me.places", "--zone", "400m", folder=folder)[0] == 0
    refused(
        "places", "add", "again", "-33.9001,151.2", "--places", "me.places", folder=folder, says="the place called home"
    )
    listed = run("places", "list", "--places", "me.places", folder=folder)[1]
    assert "home" in listed
    assert "33.9" not in listed
    code, out, err = run(
        *("hide", "rides", "-o", "shared", "--places", "me.places", "--certificate", "c.json"),
        *("--report", "mine.html", "--public-report", "public.html"),
        folder=folder,
    )
    assert code == 0, err
    assert out.index("found to 0 m before") < out.index("rides/0.gpx")
    assert len(list((folder / "shared").iterdir())) == 6
    code, out, _ = run("verify", "c.json", "--release", "shared", folder=folder)
    assert "Plausible?         yes. No noise is stated that it could contradict." in out
    assert (code, "every byte of 6 files" in out) == (0, True)
    public = (folder / "public.html").read_text()
    zone = json.loads((folder / "me.places").read_text())["body"]["places"][0]
    assert "home" not in public.replace("https", "")
    assert "rides/" not in public
    assert str(zone)[:8] not in public
    mine = (folder / "mine.html").read_text()
    assert (folder / "mine.html").stat().st_mode & 0o777 == 0o600
    assert "<th>nights</th>" in mine
    assert re.search(r"<td>home</td>\s*<td[^>]*>\d+</td>", mine), "each place stands with what speaks for it"
    assert mine.count('id="picked"') == 1, "a click writes a command"
    assert 'id="picked"' not in public
    code, out, _ = run("places", "remove", "home", "--places", "me.places", folder=folder)
    assert "stays as it is" in out


def test_refusals_say_what_to_change_and_write_nothing(folder: Path) -> None:
    run("places", "add", "home", "-33.9,151.2", "--places", "me.places", "--zone", "400m", folder=folder)
    base = ("hide", "rides", "-o", "shared", "--places", "me.places")
    for more, words in (
        (("--refuse-if-found", "5km"), "An attacker comes nearer"),
        (("--zone", "800m"), "another radius"),
        (("--zone", "500m"), "public list"),
        (("--times", "sometimes"), "Times cannot be released"),
        (("--times", "coarse"), "coarse:5min"),
    ):
        code, _, err = run(*base, *more, folder=folder)
        assert (code, words in err) == (2, True), err
        assert not (folder / "shared").exists()
    refused("places", "add", "home", "91,0", "--places", "new.places", folder=folder, says="not on the globe")
    refused("places", "add", "home", "--places", "new.places", folder=folder, says="Where is home?")
    refused(
        "places",
        "add",
        "home",
        "1,2",
        "--places",
        "new.places",
        "--zone",
        "300m",
        folder=folder,
        says="not on the public list",
    )
    assert not (folder / "new.places").exists()


def test_places_from_a_file_and_a_passphrase(folder: Path) -> None:
    point = {"type": "Point", "coordinates": [151.2, -33.9]}
    (folder / "clinic.geojson").write_text(json.dumps({"type": "Feature", "properties": {}, "geometry": point}))
    (folder / "secret.txt").write_text("open sesame\n")
    sealed = ("--places", "me.places", "--passphrase-file", "secret.txt")
    assert run("places", "add", "clinic.geojson", *sealed, folder=folder)[0] == 0
    assert "151.2" not in (folder / "me.places").read_text()
    assert "clinic" in run("places", "list", *sealed, folder=folder)[1]
    code, out, err = run("hide", "rides", "-o", "shared", *sealed, "--json", folder=folder)
    assert code == 0, err
    assert json.loads(out)["leaks"][0]["name"] == "clinic"
    refused("hide", "rides", "-o", "shared", "--places", "me.places", folder=folder, says="places file is encrypted")
