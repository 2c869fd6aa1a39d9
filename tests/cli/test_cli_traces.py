"""The commands: their JSON, their exit codes, and that a failed command leaves nothing behind."""

from __future__ import annotations

import json
import math
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import refused, run

import sfumato.cli
from sfumato.base.things.traces import Trace
from sfumato.tracks.io import read_trace, write_trace
from sfumato.tracks.noise.prior_shaped import BEATEN

PROTECT_FIELDS = {
    "points", "epsilon", "order", "radius_m", "mu", "odds_99", "delta_at_epsilon", "rms_noise_m", "mechanism",
    "prior_class", "worst_loss", "stay_loss", "loss_at_times", "floor_loss", "loss_over_floor", "simulation",
    "certificate", "outputs",
}  # fmt: skip
AUDIT_FIELDS = {"rms_error_raw_m", "rms_error_smoothed_m", "interval_68_m", "coverage_68", "prior_used", "points"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(240, 2)).cumsum(axis=0) * 3e-4
    trace = Trace(48.5 + steps[:, 0], 2.5 + steps[:, 1], 1.7e9 + np.arange(240) * 10.0)
    write_trace(trace, tmp_path / "ride.gpx")
    return tmp_path


def no_nan(text: str) -> Any:
    def refuse(name: str) -> float:
        raise AssertionError(f"{name} in JSON")

    return json.loads(text, parse_constant=refuse)


def test_the_whole_journey_in_three_commands(folder: Path) -> None:
    code, out, _ = run(
        "protect", "ride.gpx", "-o", "shared.gpx", "--radius", "200m", "--odds", "5", "--certificate", "shared.json",
        "--report", "shared.html", "--public-report", "public.html", folder=folder,
    )  # fmt: skip
    assert code == 0
    assert "5 : 1, 99 times in 100" in out
    assert stat.S_IMODE((folder / "shared.html").stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "public.html").stat().st_mode) == 0o644
    code, out, _ = run("audit", "ride.gpx", "shared.gpx", "--certificate", "shared.json", folder=folder)
    assert code == 0
    assert "after smoothing" in out
    code, out, _ = run("verify", "shared.json", "--release", "shared.gpx", folder=folder)
    assert code == 0
    assert "every byte" in out
    original, release = read_trace(folder / "ride.gpx"), read_trace(folder / "shared.gpx")
    assert np.array_equal(original.times_s, release.times_s)
    assert not np.isclose(original.lat_deg, release.lat_deg, atol=1e-6).all()


def test_the_json_of_every_command_is_one_object_with_the_promised_fields(folder: Path) -> None:
    code, out, _ = run("protect", "ride.gpx", "-o", "s.gpx", "--certificate", "s.json", "--json", folder=folder)
    assert code == 0
    found = no_nan(out)
    assert set(found) >= PROTECT_FIELDS
    assert found["outputs"] == {"release": "s.gpx", "certificate": "s.json"}
    assert found["certificate"] == json.loads((folder / "s.json").read_text())
    assert found["epsilon"] == pytest.approx(2.5 * 200**2 * found["worst_loss"])
    assert found["loss_over_floor"] <= 4.7001
    code, out, _ = run("audit", "ride.gpx", "s.gpx", "--certificate", "s.json", "--json", folder=folder)
    assert code == 0
    assert set(no_nan(out)) >= AUDIT_FIELDS
    code, out, _ = run("verify", "s.json", "--release", "s.gpx", "--json", folder=folder)
    assert code == 0
    assert no_nan(out)["ok"] is True


@pytest.mark.parametrize("mechanism", ["independent", "planar-laplace", "mixed", "prior-shaped"])
def test_every_mechanism_works_from_the_command_line(folder: Path, mechanism: str) -> None:
    prior = ["--prior", "preset"] if mechanism in ("mixed", "prior-shaped") else []
    code, out, _ = run(
        "protect", "ride.gpx", "-o", "s.csv", "--mechanism", mechanism, *prior, "--certificate", "s.json", "--json",
        folder=folder,
    )  # fmt: skip
    assert code == 0
    found = no_nan(out)
    assert (found["worst_loss"] is None) == (mechanism in ("independent", "planar-laplace"))
    # For one prior, for each point on its own, or without an offset: good only where that is required.
    assert run("verify", "s.json", "--release", "s.csv", folder=folder)[0] == 1
    if mechanism == "independent":
        assert run("verify", "s.json", "--release", "s.csv", "--require", "class=custom", folder=folder)[0] == 0
    if mechanism == "mixed":  # an original with white noise could look the same: a signer must vouch
        said = no_nan(
            run("verify", "s.json", "--release", "s.csv", "--require", "class=prior", "--json", folder=folder)[1]
        )
        assert (said["plausible"], said["unmet"]) == (None, [])
    assert run("audit", "ride.gpx", "s.csv", "--certificate", "s.json", folder=folder)[0] == 0


def test_verify_exits_1_with_the_reason(folder: Path) -> None:
    run("protect", "ride.gpx", "-o", "s.gpx", "--certificate", "s.json", folder=folder)
    text = (folder / "s.json").read_text()
    (folder / "s.json").write_text(text.replace('"order": 5.0', '"order": 4.0', 1))
    code, out, error = run("verify", "s.json", "--release", "s.gpx", folder=folder)
    assert code == 1
    assert "hash" in error
    code, out, _ = run("verify", "s.json", "--release", "s.gpx", "--json", folder=folder)
    assert code == 1
    assert no_nan(out)["ok"] is False
    assert "hash" in str(no_nan(out))


def test_verify_says_what_it_did_not_check(folder: Path) -> None:
    """A forged version with forged sentences: refused, and never called a certificate that holds."""
    from sfumato.tracks.certificates.document import certificate_text, with_seal

    run("protect", "ride.gpx", "-o", "s.gpx", "--certificate", "s.json", folder=folder)
    forged = json.loads((folder / "s.json").read_text())
    forged["sfumato"] = "0.0.9"
    forged["guarantee"]["covers"] = ["everything, anonymous for ever"]
    (folder / "s.json").write_text(certificate_text(with_seal(forged)))
    code, out, error = run("verify", "s.json", "--release", "s.gpx", folder=folder)
    assert code == 1
    assert "install 0.0.9 to verify, or use --ignore-wording to check the numbers only" in error
    assert out.startswith("NOT CHECKED: another version of sfumato wrote this certificate.")
    assert "Unchanged?         cannot be told. Made by sfumato 0.0.9" in out, "it is not called changed"
    code, out, _ = run("verify", "s.json", "--release", "s.gpx", "--ignore-wording", folder=folder)
    assert code == 0
    assert "The numbers hold; the wording was not checked." in out
    assert "The certificate holds" not in out
    code, out, _ = run("verify", "s.json", "--release", "s.gpx", "--ignore-wording", "--json", folder=folder)
    assert no_nan(out)["wording_checked"] is False


@pytest.mark.parametrize("mechanism", ["multiscale", "independent", "planar-laplace", "mixed", "prior-shaped"])
def test_the_terminal_says_what_the_report_says(folder: Path, mechanism: str) -> None:
    from sfumato.tracks.certificates.document import Certificate

    prior = ["--prior", "preset"] if mechanism in ("mixed", "prior-shaped") else []
    words = ["protect", "ride.gpx", "-o", "s.csv", "--mechanism", mechanism, *prior, "--certificate", "s.json"]
    code, out, _ = run(*words, folder=folder)
    assert code == 0
    document = json.loads((folder / "s.json").read_text())
    assert Certificate.of(document).headline in out
    assert ("Rényi" in out) == (mechanism != "planar-laplace")
    if mechanism == "planar-laplace":
        assert "at any one moment" not in out
        assert "99 times in 100" not in out
        assert "per point" in out
    if mechanism in ("mixed", "prior-shaped"):
        assert f"{BEATEN} Only if you move exactly like one prior (matern32" in out.splitlines()[1]
        assert "a place you stay at is not protected" in out
    if mechanism == "multiscale":
        assert "The same goes for one unknown place you stay at, in this release" in out
        assert "a routine, or a regular place when another one is known" in out


def test_one_line_says_how_to_get_less_noise(folder: Path) -> None:
    _, out, _ = run("protect", "ride.gpx", "-o", "a.gpx", folder=folder)
    assert "For less noise: --level low (odds of 20 : 1) needs 413 m; half the radius needs 355 m" in out
    _, out, _ = run("protect", "ride.gpx", "-o", "b.gpx", "--level", "low", "--json", folder=folder)
    assert no_nan(out)["rms_noise_m"] == pytest.approx(413, abs=0.5)
    _, out, _ = run("protect", "ride.gpx", "-o", "c.gpx", "--level", "low", folder=folder)
    assert "--level low" not in out
    assert "half the radius" in out
    for words in (["--noise", "150m"], ["--state", "s.json"]):
        assert "For less noise" not in run("protect", "ride.gpx", "-o", "d.gpx", *words, folder=folder)[1]


def test_audit_refuses_the_certificate_of_another_release(folder: Path) -> None:
    for name in ("a", "b"):
        run("protect", "ride.gpx", "-o", f"{name}.gpx", "--certificate", f"{name}.json", folder=folder)
    assert run("audit", "ride.gpx", "a.gpx", "--certificate", "a.json", folder=folder)[0] == 0
    code, out, error = run("audit", "ride.gpx", "a.gpx", "--certificate", "b.json", folder=folder)
    assert code == 1
    assert "not this release" in error
    assert "Error after smoothing" not in out
    text = (folder / "a.json").read_text()
    (folder / "a.json").write_text(text.replace('"order": 5.0', '"order": 4.0', 1))
    refused(
        "audit", "ride.gpx", "a.gpx", "--certificate", "a.json", folder=folder, says="own hash does not fit", code=1
    )


def test_a_passphrase_for_a_plain_state_is_refused(folder: Path) -> None:
    (folder / "p.txt").write_text("open sesame\n")
    assert run("protect", "ride.gpx", "-o", "a.gpx", "--state", "s.json", folder=folder)[0] == 0
    code, _, error = run(
        "protect", "ride.gpx", "-o", "b.gpx", "--state", "s.json", "--passphrase-file", "p.txt", folder=folder
    )
    assert code == 2
    assert "not encrypted" in error
    assert not (folder / "b.gpx").exists()


BAD_FILES = {
    "empty.gpx": "",
    "nothing.gpx": '<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg/></trk></gpx>',
    "notimes.gpx": '<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>'
    '<trkpt lat="48.5" lon="2.5"/></trkseg></trk></gpx>',
    "nan.csv": "lat,lon,time\nnan,2.5,2020-01-01T00:00:00Z\n",
    "lat400.csv": "lat,lon,time\n400,2.5,2020-01-01T00:00:00Z\n",
    "reversed.csv": "lat,lon,time\n48,2,2020-01-02T00:00:00Z\n48,2,2020-01-01T00:00:00Z\n48,2,2020-01-03T00:00:00Z\n",
    "naive.csv": "lat,lon,time\n48,2,2020-01-02T00:00:00\n",
    "cut.gpx": '<gpx version="1.1"><trk><trkseg><trkpt lat="48.5" lon="2',
    "cut.geojson": '{"type": "Feature", "geometry": {"type": "LineStr',
    "cut.fit": "\x0e\x10",
    "bomb.gpx": '<!DOCTYPE b [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
    '<gpx version="1.1"><trk><name>&b;</name></trk></gpx>',
}


BAD_FILES_SAY = {
    "empty.gpx": "is empty",
    "nothing.gpx": "no track points",
    "notimes.gpx": "None of 1 points can be used: points without a time (1)",
    "nan.csv": "position is not a number (1)",
    "lat400.csv": "off the globe (1)",
    "reversed.csv": "Times run backwards",
    "naive.csv": "no time zone",
    "cut.gpx": "not well-formed XML",
    "cut.geojson": "not valid JSON",
    "cut.fit": "FIT file is cut off",
    "bomb.gpx": "document type or entities",
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_input_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(BAD_FILES[name])
    before = set(tmp_path.iterdir())
    code, _, error = run(
        "protect", name, "-o", "out.gpx", "--certificate", "c.json", "--report", "r.html", "--state", "s.json",
        folder=tmp_path,
    )  # fmt: skip
    assert code == 2
    assert BAD_FILES_SAY[name] in error
    assert set(tmp_path.iterdir()) == before
    assert "48.5" not in error


OUT_OF_RANGE = {
    "--radius 0m": "radius in metres is 0",
    "--radius -5m": "'-5m' is not a length",
    "--radius|5 parsecs": "'5 parsecs' is not a length",
    "--radius nan": "'nan' is not a length",
    "--odds 1": "The odds are 1.",
    "--odds -3": "The odds are -3.",
    "--odds nan": "The odds are nan.",
    "--epsilon 0": "epsilon is 0",
    "--epsilon -1": "epsilon is -1",
    "--noise 0m": "noise in metres is 0",
    "--odds 5 --epsilon 1": "2 of odds, epsilon and noise",
    "--level extreme": "no level 'extreme'",
    "--mechanism magic": "no mechanism 'magic'",
    "--class decade": "no prior class 'decade'",
    "--prior fit": "multiscale takes no prior",
    "--mechanism mixed": "shaped by a prior",
    "--order 1": "order is 1.",
    "--snap 0m": "snapping grid is 0 m",
    "--redraws 0": "redraws is 0",
    "--white-share 2": "White share 2",
    "--keep heartrate": "no heart_rate to keep",
    "--column lat": "not of the form role=name",
    "--seed -1": "seed is negative",
    "--passphrase-file p.txt": "but no state",
    "--certificate absent/c.json": "Cannot write absent/c.json",
    "--certificate out.gpx": "files named are the same",
    "--state ride.gpx": "files named are the same",
    "--time-zone Mars/Olympus": "time zone is not known",
}


@pytest.mark.parametrize("words", OUT_OF_RANGE)
def test_options_out_of_range_are_refused_and_nothing_is_written(folder: Path, words: str) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    options = words.split("|") if "|" in words else words.split()
    refused("protect", "ride.gpx", "-o", "out.gpx", *options, says=OUT_OF_RANGE[words], folder=folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_an_unwritable_output_leaves_the_old_files_as_they_were(folder: Path) -> None:
    (folder / "out.gpx").write_text("precious")
    code, _, error = run("protect", "ride.gpx", "-o", "out.gpx", "--report", "absent/r.html", folder=folder)
    assert code == 2
    assert "absent" in error
    assert (folder / "out.gpx").read_text() == "precious"
    (folder / "empty.gpx").write_text("")  # what cannot be written is refused before anything is read
    refused("protect", "empty.gpx", "-o", "absent/rel.parquet", folder=folder, says="there is no folder absent")
    refused("protect", "ride.gpx", "-o", "ride.gpx", folder=folder, says="files named are the same")
    refused("protect", "ride.gpx", "-o", "out.fit", folder=folder, says="FIT files are read but not written")
    (folder / "directory.gpx").mkdir()
    refused("protect", "ride.gpx", "-o", "directory.gpx", folder=folder, says="it is a folder")


def test_naive_times_are_accepted_with_a_zone(tmp_path: Path) -> None:
    (tmp_path / "naive.csv").write_text("lat,lon,time\n48,2,2020-01-02T00:00:00\n48,2,2020-01-02T00:00:00\n")
    assert run("protect", "naive.csv", "-o", "out.csv", "--time-zone", "Europe/Paris", folder=tmp_path)[0] == 0
    release = read_trace(tmp_path / "out.csv")
    assert release.lat_deg[0] == release.lat_deg[1]  # duplicate times: same noise


def test_a_state_continues_over_commands_and_a_passphrase_locks_it(folder: Path) -> None:
    (folder / "p.txt").write_text("open sesame\n")
    locked = ["--state", "alice.json", "--passphrase-file", "p.txt"]
    for name in ("a.gpx", "b.gpx"):
        assert run("protect", "ride.gpx", "-o", name, "--noise", "150m", *locked, folder=folder)[0] == 0
    assert (folder / "a.gpx").read_bytes() == (folder / "b.gpx").read_bytes()
    assert stat.S_IMODE((folder / "alice.json").stat().st_mode) == 0o600
    refused(
        "protect",
        "ride.gpx",
        "-o",
        "c.gpx",
        "--noise",
        "150m",
        "--state",
        "alice.json",
        folder=folder,
        says="The state is encrypted",
    )
    code, _, error = run("protect", "ride.gpx", "-o", "c.gpx", "--noise", "99m", *locked, folder=folder)
    assert code == 2
    assert "150" in error
    assert not (folder / "c.gpx").exists()


def test_a_fleet_table_is_protected_person_by_person(tmp_path: Path) -> None:
    lines = ["id,lat,lon,time"]
    for person in ("kim", "lee"):
        lines += [f"{person},48.5,2.5{i:03d},2020-01-01T00:{i // 6:02d}:{i % 6}0Z" for i in range(300)]
    (tmp_path / "fleet.csv").write_text("\n".join(lines))
    for ending in ("csv", "parquet"):
        out = f"out.{ending}"
        code, text, _ = run("protect", "fleet.csv", "-o", out, "--certificate", "c.json", "--json", folder=tmp_path)
        assert code == 0
        found = no_nan(text)
        assert found["people"] == 2
        assert found["points"] == 600
        assert run("verify", "c.json", "--release", out, folder=tmp_path)[0] == 0
    refused("protect", "fleet.csv", "-o", "out.gpx", folder=tmp_path, says="A fleet cannot be written in this format")
    assert not (tmp_path / "out.gpx").exists()


def test_a_seed_makes_a_simulation_and_says_so(folder: Path) -> None:
    code, out, _ = run("protect", "ride.gpx", "-o", "a.gpx", "--seed", "7", folder=folder)
    assert code == 0
    assert "SIMULATION" in out
    run("protect", "ride.gpx", "-o", "b.gpx", "--seed", "7", folder=folder)
    assert (folder / "a.gpx").read_bytes() == (folder / "b.gpx").read_bytes()


def test_units_are_understood(folder: Path) -> None:
    code, out, _ = run("protect", "ride.gpx", "-o", "a.gpx", "--radius", "0.3km", "--json", folder=folder)
    assert code == 0
    assert no_nan(out)["radius_m"] == 300.0


@pytest.mark.parametrize("command", ["protect", "audit", "verify"])
def test_every_option_is_explained(command: str) -> None:
    import typer.main

    group = typer.main.get_command(sfumato.cli.app)
    for parameter in group.commands[command].params:  # type: ignore[attr-defined]
        if parameter.name != "help":
            assert getattr(parameter, "help", None), f"{command} {parameter.name} has no help"


def test_design_multiscale_prints_ladder_weights_and_prices() -> None:
    code, out, _ = run("design", "multiscale", "--shortest", "20s", "--longest", "10min", "--no-tables", "--json")
    assert code == 0
    ladder = no_nan(out)["ladders"][0]
    assert ladder["path_loss"] <= 2.14
    assert math.isclose(sum(ladder["weights"]), 1.0)
    assert ladder["gap"] < 2e-3
    refused("design", "multiscale", "--shortest", "10min", "--longest", "20s", says="runs from 600 s to 20 s")
    refused("design", "multiscale", "--kernel", "magic", says="no kernel it can hold")


def test_errors_of_the_real_program_go_to_stderr_with_advice_and_json_stays_json(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from sfumato.cli import main; main()", "protect", "no.gpx", "-o", "x.gpx", "--json"],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert no_nan(done.stdout)["ok"] is False
    assert "Error: There is no file or folder no.gpx" in done.stderr


def test_the_demo_writes_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sfumato.cli.tracks.demo import main

    assert main(str(tmp_path / "demo")) == 0
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    blurred = {"ride.gpx", "shared.gpx", "shared.json", "report.html", "public_report.html"}
    hidden = {"rides.zip", "me.places", "rides_shared", "rides_shared.json", "rides_shared.private"}
    assert names == blurred | hidden | {"rides_private.html", "rides_public.html"}
    out = capsys.readouterr().out
    assert "report.html" in out
    assert "found to" in out


def test_a_certificate_is_written_beside_every_release_and_found_there(folder: Path) -> None:
    assert run("protect", "ride.gpx", "-o", "shared.gpx", folder=folder)[0] == 0
    assert (folder / "shared.gpx.certificate.json").is_file()
    for named in ("shared.gpx", "shared.gpx.certificate.json"):
        code, out, _ = run("verify", named, folder=folder)
        assert (code, out.startswith("Good, if you trust who sent it")) == (0, True), out
    assert run("protect", "ride.gpx", "-o", "alone.gpx", "--no-certificate", folder=folder)[0] == 0
    assert not list(folder.glob("alone.gpx.*"))
    assert run("verify", "alone.gpx", folder=folder)[0] != 0
    assert run("protect", "ride.gpx", "-o", "timeless.csv", "--times", "drop", folder=folder)[0] == 0
    assert not list(folder.glob("timeless.csv.*")), "a file without times has no certificate"


def test_a_certificate_beside_a_shared_folder_is_found(folder: Path) -> None:
    (folder / "rides").mkdir()
    (folder / "rides" / "one.gpx").write_bytes((folder / "ride.gpx").read_bytes())
    assert run("protect", "rides", "-o", "out", folder=folder)[0] == 0
    assert (folder / "out.certificate.json").is_file()
    assert run("verify", "out", folder=folder)[0] == 0
