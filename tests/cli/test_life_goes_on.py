"""`sfumato hide` while life goes on: a forgotten place, a home that moved, files that are deleted or grow."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from command import run
from hidden_folder import add, everything, hide, log, owntracks, where
from rides import PARIS, ride
from track_files import write_as

import sfumato as sf
from sfumato.tracks.places.globe import Around

pytestmark = pytest.mark.usefixtures("roads_lead_nowhere")

NEW = [9000.0, 2000.0]  # metres from the first home


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """Rides from home, and from a second place that is named only after they were shared."""
    (tmp_path / "rides").mkdir()
    for number in range(8):
        begin = [0.0, 0.0] if number % 2 else NEW
        trace = ride(begin, [4000.0 - 300 * number, 5000.0], every_s=5.0, at_s=1.7e9 + 86400 * number)
        write_as("gpx", trace, tmp_path / "rides" / f"{number}.gpx")
    add(tmp_path, "home", where([0.0, 0.0]))
    code, out, err = hide(tmp_path)
    assert code == 0, err
    assert "lie open" not in out
    return tmp_path


def test_a_place_named_after_it_was_shared_is_still_found_and_every_line_says_so(shared: Path) -> None:
    add(shared, "newhome", where(NEW))
    code, out, _ = hide(shared)
    assert code == 1
    assert out.splitlines()[0] == "Can I still be found? STILL FOUND: newhome (private)"
    assert "newhome: STILL FOUND." in out.splitlines()[1]
    assert "lie open in 4 files that were shared before; rides end 0 m from it" in out
    assert out.count("lie open") == 1  # the first home is as hidden as it was
    said = json.loads((shared / "c.json").read_text())["withheld"][0]
    assert "taken out of every file" not in said
    assert "may lie open in files shared before" in said
    code, out, _ = run("verify", "c.json", "--release", "shared", folder=shared)
    assert code == 0
    assert "Those named when a file was first shared." in out


def test_refuse_if_found_refuses_what_lies_open(shared: Path) -> None:
    add(shared, "newhome", where(NEW))
    code, _, err = hide(shared, "--refuse-if-found", "150m")
    assert code != 0
    assert "newhome (to 0 m," in err


def test_an_audit_counts_what_lies_open_in_files_that_were_cut_otherwise(shared: Path) -> None:
    add(shared, "newhome", where(NEW))
    hide(shared)
    code, out, _ = run(*("audit", "rides", "shared", "--certificate", "c.json", "--places", "me.places"), folder=shared)
    assert code == 1
    assert out.startswith("STILL FOUND: newhome.")


def test_rides_that_are_not_given_today_are_attacked_as_they_lie_in_the_folder(shared: Path) -> None:
    add(shared, "newhome", where(NEW))
    for path in (shared / "rides").iterdir():
        path.unlink()
    write_as("gpx", ride(NEW, [4000.0, 3000.0], every_s=5.0, at_s=1.71e9), shared / "rides" / "later.gpx")
    code, out, _ = hide(shared)
    assert (code, "newhome: STILL FOUND." in out) == (1, True)


@pytest.mark.parametrize("times", ["shift", "relative", "coarse:5min", "drop"])
def test_whatever_becomes_of_the_times_it_is_still_found(tmp_path: Path, times: str) -> None:
    (tmp_path / "rides").mkdir()
    for number in range(3):
        trace = ride(NEW, [4000.0 - 300 * number, 5000.0], every_s=5.0, at_s=1.7e9 + 86400 * number)
        write_as("gpx", trace, tmp_path / "rides" / f"{number}.gpx")
    add(tmp_path, "home", where([0.0, 0.0]))
    assert hide(tmp_path, "--times", times)[0] == 0
    add(tmp_path, "newhome", where(NEW))
    code, out, _ = hide(tmp_path, "--times", times)
    assert (code, "newhome: STILL FOUND." in out) == (1, True)


@pytest.mark.parametrize("again", [[], ["--again"], ["--again", "--dry-run"]])
def test_an_older_copy_of_the_places_file_is_refused_before_it_opens_a_place(shared: Path, again: list[str]) -> None:
    older = (shared / "me.places").read_bytes()
    add(shared, "newhome", where(NEW))
    assert hide(shared, "--again")[0] == 0
    newest, before = (shared / "me.places").read_bytes(), sorted(map(str, shared.rglob("*")))
    write_as("gpx", ride(NEW, [0.0, 9000.0], every_s=5.0, at_s=1.71e9), shared / "rides" / "new.gpx")
    (shared / "me.places").write_bytes(older)  # a backup, or the copy on another machine
    code, _, err = hide(shared, *again)
    assert code == 2
    assert "lacks 1 zone that this folder was hidden with" in err
    assert {*map(str, shared.rglob("*"))} <= {*before, str(shared / "rides" / "new.gpx")}, "nothing was written"
    (shared / "me.places").write_bytes(newest)
    assert run("places", "remove", "newhome", "--places", "me.places", folder=shared)[0] == 0
    assert hide(shared)[0] == 0, "given up is not lost"


def test_a_copy_from_before_the_ends_were_drawn_is_refused(shared: Path) -> None:
    older = (shared / "me.places").read_bytes()
    assert hide(shared, "--ends", "400m", "--again")[0] == 0
    (shared / "me.places").write_bytes(older)
    code, _, err = hide(shared, "--ends", "400m")
    assert (code, "that this folder was hidden with" in err) == (2, True), "a second zone would intersect the first"


def test_ends_that_were_asked_for_after_a_first_share_lie_open_and_no_certificate_denies_it(shared: Path) -> None:
    code, out, _ = hide(shared, "--ends", "400m")
    assert code == 1
    assert out.splitlines()[0] == "Can I still be found? STILL FOUND: ends of rides (private)"
    assert "LIE OPEN in files shared before" in out
    words = "What lies in a zone of the same kind around its first and its last point"
    assert words not in (shared / "c.json").read_text()
    assert hide(shared, "--ends", "400m", "--refuse-if-found", "150m")[0] == 2
    aside = shared / "rides" / "0.gpx"
    aside.rename(shared / "0.gpx")
    for path in (shared / "rides").iterdir():
        path.unlink()  # not given today: what is shared of them lies open all the same
    (shared / "0.gpx").rename(aside)
    assert hide(shared, "--ends", "400m")[0] == 1
    assert words not in (shared / "c.json").read_text()
    assert hide(shared, "--ends", "400m", "--again")[0] == 0
    assert words in (shared / "c.json").read_text()


def test_verify_promises_nothing_against_who_guesses_where_the_ways_lead(shared: Path) -> None:
    code, out, _ = run("verify", "c.json", "--release", "shared", folder=shared)
    assert code == 0
    assert "looks in the files for what was inside the zones, not who guesses where the ways out lead" in out
    add(shared, "newhome", where(NEW))
    assert hide(shared)[0] == 1
    out = run("verify", "c.json", "--release", "shared", folder=shared)[1]
    assert "what was inside zones drawn before a file was shared" in out


def test_a_place_where_nobody_was_before_changes_nothing_that_is_promised(shared: Path) -> None:
    add(shared, "cottage", where([-30_000.0, 8000.0]))
    assert hide(shared)[0] == 0
    assert "taken out of every file" in json.loads((shared / "c.json").read_text())["withheld"][0]


def test_a_shared_file_that_was_deleted_stays_out_and_the_certificate_holds(shared: Path) -> None:
    gone = sorted((shared / "shared").iterdir())[0]
    gone.unlink()
    code, out, _ = hide(shared)
    assert code == 0
    assert "7 files in shared" in out
    assert "Taken out of shared since they were shared, and left out: rides/" in out
    assert not gone.exists()
    assert run("verify", "c.json", "--release", "shared", folder=shared)[0] == 0


def test_a_file_that_does_not_belong_into_the_folder_is_attacked_and_told(shared: Path) -> None:
    add(shared, "newhome", where([20_000.0, 0.0]))
    write_as("gpx", ride([20_000.0, 0.0], [15_000.0, 0.0], every_s=5.0), shared / "shared" / "other machine.gpx")
    code, out, _ = hide(shared)
    assert code == 1
    assert "newhome: STILL FOUND." in out
    assert "NOT COVERED: other machine.gpx in shared" in out


def test_a_place_that_is_named_again_keeps_its_zone_and_is_told_so(shared: Path) -> None:
    assert run("places", "remove", "home", "--places", "me.places", folder=shared)[0] == 0
    code, out, _ = run(
        *("places", "add", "home", where([0.0, 0.0]), "--places", "me.places", "--zone", "400m"), folder=shared
    )
    assert code == 0
    assert "Added home: a zone of 800 m. It was drawn before and is kept; --zone 400m was not used" in out


def test_again_says_what_is_exposed_rebuilds_the_folder_and_names_what_to_delete(shared: Path) -> None:
    add(shared, "newhome", where(NEW))
    before = everything(shared / "shared")
    code, out, _ = hide(shared, "--again", "--dry-run")
    assert code == 0
    assert out.count(" newhome: ") >= 4
    assert "2023-11-14 to 2023-11-14  (from rides/0.gpx)" in out
    assert "Nothing was put in place" in out
    assert everything(shared / "shared") == before
    assert not list(shared.glob("shared.again*"))
    code, out, _ = hide(shared, "--again")
    assert code == 0
    after = everything(shared / "shared")
    told = {line.split()[1] for line in out.splitlines() if line.startswith("Delete ")}
    assert told == set(before) - set(after)
    assert len(told) == 4
    assert all(before[name] == after[name] for name in set(before) & set(after))
    assert "Whoever kept the old copy sees newhome lie open and comes within 0 m of it" in out
    assert everything(shared / "shared.before-1") == before
    assert "taken out of every file" in json.loads((shared / "c.json").read_text())["withheld"][0]
    assert run("verify", "c.json", "--release", "shared", folder=shared)[0] == 0
    code, out, _ = hide(shared)
    assert (code, "lie open" in out) == (0, False)  # and from now on it goes on as ever
    assert everything(shared / "shared") == after


def test_again_leaves_out_what_was_taken_out_and_tells_what_was_not_given(shared: Path) -> None:
    add(shared, "newhome", where(NEW))
    (shared / "rides" / "7.gpx").unlink()
    rows = json.loads(hide(shared, "--json")[1])["rows"]
    gone = next(row["output"] for row in rows if row["source"] == "rides/1.gpx")
    (shared / "shared" / gone).unlink()
    code, out, _ = hide(shared, "--again")
    assert code == 0
    assert "NOT IN THE NEW FOLDER, because their rides were not given: " in out
    assert gone not in everything(shared / "shared")
    assert len(everything(shared / "shared")) == 6


def test_a_swap_that_was_killed_is_ended_by_the_next_run(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(shared, "newhome", where(NEW))
    before, real, renames = everything(shared / "shared"), Path.replace, list[str]()

    def killed(self: Path, target: Path) -> Path:
        if self.name in ("shared", "shared.private", "shared.again", "shared.again.private"):
            renames.append(self.name)
            if len(renames) == 3:
                raise RuntimeError("killed")
        return real(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(RuntimeError, match="killed"):
            hide(shared, "--again")
    assert not (shared / "shared").exists()
    code, out, _ = hide(shared)
    assert (code, "lie open" in out) == (0, False)
    assert everything(shared / "shared.before-1") == before
    assert run("verify", "c.json", "--release", "shared", folder=shared)[0] == 0


def test_places_that_no_zone_covers_are_listed_before_anything_is_written(shared: Path) -> None:
    """Rides begin at the second place again and again, and nobody named it."""
    for path in (shared / "shared").iterdir():
        path.unlink()
    at = where(NEW)
    words = ("hide", "rides", "-o", "other", "--places", "me.places")
    code, _, err = run(*words, "--unnamed", "refuse", folder=shared)
    assert (code, "Nothing was written" in err) == (2, True)
    assert not (shared / "other").exists()
    code, out, _ = run(*words, "--unnamed", "warn", folder=shared)
    assert code == 0
    listed = out[out.index("Not covered by any zone") :].splitlines()[1]
    assert listed.startswith(f"  {at[:6]}")
    assert "4 rides begin or end here" in listed
    assert out.index("Not covered") < out.index("rides/0.gpx")
    code, out, _ = run(*words, "--unnamed", "refuse", "--not-mine", at, folder=shared)
    assert code == 0
    assert "Not covered" not in out
    assert run(*words, "--unnamed", "refuse", folder=shared)[0] == 0  # it is remembered


def test_a_place_where_somebody_slept_once_is_listed_too(tmp_path: Path) -> None:
    (tmp_path / "rides").mkdir()
    night = 1.7e9 - 1.7e9 % 86400 + 22 * 3600  # Paris is nearly on the sun's time of Greenwich
    for number, (begin, end, when) in enumerate(
        [([0, 0], [5000, 4000], night - 3600), ([5000, 4000], [9000, 9000], night + 8 * 3600)]
    ):
        write_as("gpx", ride(begin, end, every_s=5.0, at_s=when), tmp_path / "rides" / f"{number}.gpx")
    add(tmp_path, "home", where([0.0, 0.0]))
    code, out, _ = hide(tmp_path)
    assert code == 0
    assert "hours at night" in out[out.index("Not covered by any zone") :].splitlines()[1]
    assert "places add NAME LAT,LON" in out


@pytest.mark.parametrize(
    "text", ["48.8566,2.3522", "48.8566 2.3522", "48°51'23.76\"N 2°21'7.92\"E", "2.3522E 48.8566N"]
)
def test_a_place_is_written_as_people_write_it(tmp_path: Path, text: str) -> None:
    add(tmp_path, "home", text)
    out = run("places", "list", "--where", "--places", "me.places", folder=tmp_path)[1]
    assert "48.85660,2.35220" in out


@pytest.mark.parametrize(("name", "written"), [("log.csv", log), ("2023-11.rec", owntracks)])
def test_a_file_that_grows_releases_what_is_new_and_leaves_the_rest_byte_for_byte(
    tmp_path: Path, name: str, written: Callable[[int], str]
) -> None:
    (tmp_path / "rides").mkdir()
    add(tmp_path, "home", where([0.0, 0.0]))
    released: dict[str, bytes] = {}
    for days in (3, 5, 5, 6):
        (tmp_path / "rides" / name).write_text(written(days))
        code, out, err = hide(tmp_path)
        assert code == 0, err
        assert "left as shared" not in out
        now = everything(tmp_path / "shared")
        assert released.items() <= now.items()
        released = now
        assert run("verify", "c.json", "--release", "shared", folder=tmp_path)[0] == 0
    assert len(released) == 3  # the first three days, two more, and one
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / name).write_text(written(6))
    run("hide", "all", "-o", "at once", "--places", "me.places", folder=tmp_path)
    assert moments(tmp_path / "shared") == moments(tmp_path / "at once")  # no point lost, none twice


def moments(folder: Path) -> list[float]:
    return sorted(t for path in folder.iterdir() for t in sf.read_trace(path).times_s.tolist())


def test_a_file_that_was_changed_and_not_only_grown_is_told_by_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "rides").mkdir()
    add(tmp_path, "home", where([0.0, 0.0]))
    (tmp_path / "rides" / "log.csv").write_text(log(3))
    assert hide(tmp_path)[0] == 0
    before = everything(tmp_path / "shared")
    rows = log(4).splitlines()
    last = rows[-1].split(",")
    middle = rows[len(rows) // 3].split(",")
    rows[len(rows) // 3] = f"{middle[0]},{last[1]},{last[2]}"
    (tmp_path / "rides" / "log.csv").write_text("\n".join(rows) + "\n")
    code, out, _ = hide(tmp_path)
    assert (code, "not only grown" in out) == (1, True)
    assert before.items() < everything(tmp_path / "shared").items()  # the fourth day is there all the same
    assert hide(tmp_path, "--lenient")[0] == 0


def test_a_broken_file_makes_the_exit_code_say_so(shared: Path) -> None:
    (shared / "rides" / "broken.gpx").write_text("<gpx><trk>")
    assert hide(shared)[0] == 1
    assert hide(shared, "--lenient")[0] == 0


def test_again_makes_one_file_of_what_grew_in_parts(tmp_path: Path) -> None:
    (tmp_path / "rides").mkdir()
    add(tmp_path, "home", where([0.0, 0.0]))
    for days in (2, 4):
        (tmp_path / "rides" / "log.csv").write_text(log(days))
        assert hide(tmp_path)[0] == 0
    add(tmp_path, "school", where([3000.0, 5000.0]))
    code, out, _ = hide(tmp_path, "--again")
    assert (code, "NOT IN THE NEW FOLDER" in out) == (0, False)
    assert out.count("Delete ") == 2
    assert len(everything(tmp_path / "shared")) == 1


def test_ends_of_rides_are_cut_wherever_they_are_by_zones_that_are_kept(shared: Path) -> None:
    words = ("hide", "rides", "-o", "ends", "--places", "me.places", "--certificate", "e.json", "--ends", "400m")
    code, out, _ = run(*words, folder=shared)
    assert code == 0
    assert "Ends of rides: " in out
    assert "with a zone of 400 m each; the best attackers miss them by" in out
    assert "Not covered by any zone" not in out
    away = [ends_away_m(sf.read_trace(path), NEW) for path in (shared / "ends").iterdir()]
    assert all(metres > 80 for metres in away)  # a fifth of the radius at least
    first = everything(shared / "ends")
    assert run("verify", "e.json", "--release", "ends", folder=shared)[0] == 0
    write_as("gpx", ride(NEW, [6000.0, -3000.0], every_s=5.0, at_s=1.71e9), shared / "rides" / "later.gpx")
    assert run(*words, folder=shared)[0] == 0
    assert first.items() < everything(shared / "ends").items()  # the same zones, the same bytes
    out = add(shared, "newhome", where(NEW))
    assert "a zone of 400 m. It was drawn before and is kept" in out  # and no second zone when it is named


def ends_away_m(trace: sf.Trace, metres: list[float]) -> float:
    path = Around(*PARIS).to_metres(trace.lat_deg, trace.lon_deg) - metres
    return float(min((path[0] ** 2).sum(), (path[-1] ** 2).sum()) ** 0.5)


@pytest.mark.parametrize(
    ("spread_s", "times", "told"), [(240.0, "keep", True), (9000.0, "keep", False), (240.0, "shift", False)]
)
def test_regular_departures_are_told_beside_the_leak_line(
    tmp_path: Path, spread_s: float, times: str, told: bool
) -> None:
    (tmp_path / "rides").mkdir()
    monday = 1.7e9 - 1.7e9 % 86400 + 6 * 86400  # 2023-11-20
    for day in range(12):
        late = spread_s * (day % 5 - 2) / 2
        trace = ride([0, 0], [4000.0 - 300 * day, 5000.0], every_s=5.0, at_s=monday + 86400 * day + 8 * 3600 + late)
        write_as("gpx", trace, tmp_path / "rides" / f"{day}.gpx")
    add(tmp_path, "home", where([0.0, 0.0]))
    code, out, _ = hide(tmp_path, "--times", times)
    assert code == 0
    line = next(line for line in out.splitlines() if line.startswith("  home: "))
    assert ("Shared times tell when you leave home: on 100% of weekdays" in line) == told
    assert ("--times shift hides the time of day" in line) == told


def test_a_newer_archive_under_another_name_holds_the_same_rides(shared: Path) -> None:
    """Every export of a service has a name of its own: what was taken out came back, and --again knew no ride."""
    (shared / "rides").rename(shared / "in export 1")
    hidden = ("-o", "shared", "--places", "me.places", "--unnamed", "warn")
    first = everything(shared / "shared")
    rows = json.loads(run("hide", "in export 1", *hidden, "--json", folder=shared)[1])["rows"]
    gone = next(row["output"] for row in rows if row["source"].endswith("/1.gpx"))
    (shared / "shared" / gone).unlink()
    with zipfile.ZipFile(shared / "export 2.zip", "w") as archive:
        for path in sorted((shared / "in export 1").iterdir()):
            archive.write(path, f"activities/{path.name}")
        trace = ride([0.0, 0.0], [1000.0, 5000.0], every_s=5.0, at_s=1.7e9 + 86400 * 20)
        write_as("gpx", trace, shared / "20.gpx")
        archive.write(shared / "20.gpx", "activities/20.gpx")
    assert run("hide", "export 2.zip", *hidden, folder=shared)[0] == 0
    now = everything(shared / "shared")
    assert gone not in now
    assert (len(now), first.items() - now.items()) == (8, {(gone, first[gone])})
    add(shared, "newhome", where(NEW))
    code, out, _ = run("hide", "export 2.zip", *hidden, folder=shared)
    assert (code, everything(shared / "shared")) == (1, now), "no ride is there twice, with zones of then and of today"
    (shared / "export 2.zip").rename(shared / "export 3.zip")
    code, out, _ = run("hide", "export 3.zip", *hidden, "--again", folder=shared)
    assert (code, "NOT IN THE NEW FOLDER" in out) == (0, False)
    assert out.count("Delete ") == 4
    assert len(everything(shared / "shared")) == 8
