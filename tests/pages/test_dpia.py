"""The draft of an impact assessment says what the certificate says and what was computed from it, and nothing else."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.base.errors import InputError, VerificationFailed
from sfumato.cli import app
from sfumato.pages.dpia import LANGUAGES, dpia_draft, dpia_page, month_costs
from sfumato.tracks.certificates.document import Certificate

pytestmark = pytest.mark.usefixtures("roads_lead_nowhere")

RIDE = Path(str(files("sfumato").joinpath("data", "sample_ride.gpx")))
FORBIDDEN = re.compile(r"anonym|anónim", re.IGNORECASE)


@pytest.fixture(scope="module")
def protected():
    return sf.protect(sf.read_trace(RIDE), rng=3)


@pytest.fixture(scope="module")
def fleet():
    table = {
        "user": np.repeat(["a", "b", "c"], 20),
        "lat": 48.8 + np.tile(np.linspace(0, 0.02, 20), 3),
        "lon": 2.3 + np.repeat([0.0, 0.1, 0.2], 20),
        "time": np.tile(np.arange(20) * 60.0, 3) + 1.6e9,
    }
    pandas = pytest.importorskip("pandas")
    return sf.protect(pandas.DataFrame(table), person="user", rng=3)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_draft_in_every_language_has_the_certificates_numbers_and_never_the_forbidden_word(
    protected, language
) -> None:
    draft = dpia_draft(protected.certificate, language=language)
    assert "{" not in draft
    assert "?" not in re.findall(r"^\S*", draft, re.MULTILINE)
    for number in ("197", "709 m", "200 m", "5 : 1"):
        assert number in draft
    assert not FORBIDDEN.search(draft)
    assert draft.count("\n## ") == 8
    page = dpia_page(draft, language)
    assert f'<html lang="{language}">' in page
    assert page.count("<h2>") == 8
    assert "<td>|" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_smooth_track_is_judged_with_the_release_it_was_made_from(tmp_path: Path) -> None:
    """`dpia --release` of a smooth track said NOT GOOD whatever was given; and `smooth` finds the certificate."""
    command = CliRunner()
    shared, nice, draft = tmp_path / "shared.gpx", tmp_path / "nice.gpx", tmp_path / "draft.md"
    assert command.invoke(app, ["protect", str(RIDE), "-o", str(shared)]).exit_code == 0
    made = command.invoke(app, ["smooth", str(shared), "-o", str(nice)])
    assert made.exit_code == 0, made.output
    words = ["dpia", f"{nice}.certificate.json", "--release", str(nice), "-o", str(draft)]
    assert command.invoke(app, words).exit_code == 0
    assert "CANNOT BE TOLD" in draft.read_text()
    assert "Give the release, too (--raw)" in draft.read_text()
    assert command.invoke(app, [*words, "--raw", str(shared)]).exit_code == 0
    assert "said: good." in draft.read_text()
    Path(f"{shared}.certificate.json").unlink()
    alone = command.invoke(app, ["smooth", str(shared), "-o", str(nice)])
    assert "none lies beside it" in str(alone.exception)


def test_every_sentence_with_a_number_names_its_source(protected) -> None:
    draft = dpia_draft(protected.certificate)
    told = draft.partition("## 4.")[0].partition("## 1.")[2]
    lines = [line for line in told.splitlines() if line.startswith("- ") and re.search(r"\d", line)]
    assert len(lines) >= 4
    assert all(re.search(r"\((`[\w.]+`(, )?)+\)$", line) for line in lines)


def test_the_month_is_what_cost_prints(protected, tmp_path) -> None:
    protected.certificate.write(tmp_path / "c.json")
    costs = month_costs(Certificate.of(protected.certificate))
    words = ["cost", tmp_path / "c.json", "--repeats", 30, "--every", "1h", "--secret", "home=22:00-7:00"]
    words += ["--known", "work=9:00-17:00", "--json"]
    told = json.loads(CliRunner().invoke(app, [str(word) for word in words]).stdout)["costs"][-1]
    assert costs["home_work_known"] == pytest.approx(told["odds_99"])
    assert costs["home"] <= 5.0 < costs["two"] < costs["home_work_known"]


def test_people_of_a_table_are_counted_and_not_called_you(fleet) -> None:
    draft = dpia_draft(fleet.certificate)
    assert "60 positions of 3 people" in draft
    assert "Each of the 3 records, of 20 positions on average, is one person's." in draft
    assert "The release is the record of one person" not in draft


def test_a_simulation_is_said_first(protected) -> None:
    draft = dpia_draft(protected.certificate)
    assert "protects nobody" in draft.partition("## 1.")[0]


def test_the_command_verifies_the_release_and_says_what_it_found(tmp_path) -> None:
    shared, certificate, draft = tmp_path / "s.gpx", tmp_path / "s.json", tmp_path / "draft.md"
    run = CliRunner()
    made = run.invoke(app, ["protect", str(RIDE), "-o", str(shared), "--certificate", str(certificate)])
    assert made.exit_code == 0, made.output
    done = run.invoke(app, ["dpia", str(certificate), "--release", str(shared), "-o", str(draft), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["release_good"] is True
    assert "said: good." in draft.read_text()
    text = shared.read_text()
    shared.write_text(text.replace("<trkpt", "<trkpt", 1) + "\n")
    done = run.invoke(app, ["dpia", str(certificate), "--release", str(shared), "-o", str(draft.with_suffix(".html"))])
    assert done.exit_code == 0
    assert "NOT GOOD" in done.output
    assert "NOT GOOD" in draft.with_suffix(".html").read_text()


def test_places_that_were_hidden_have_a_draft_without_odds(tmp_path) -> None:
    rides, places = tmp_path / "rides", tmp_path / "me.places"
    rides.mkdir()
    (rides / "one.gpx").write_bytes(RIDE.read_bytes())
    trace = sf.read_trace(RIDE)
    run = CliRunner()
    at = f"{trace.lat_deg[0]:.5f},{trace.lon_deg[0]:.5f}"
    assert run.invoke(app, ["places", "add", "home", at, "--places", str(places)]).exit_code == 0
    words = ["hide", rides, "-o", tmp_path / "shared", "--places", places, "--certificate", tmp_path / "c.json"]
    done = run.invoke(app, [str(word) for word in words])
    assert (tmp_path / "c.json").exists(), done.output
    draft = dpia_draft(json.loads((tmp_path / "c.json").read_text()))
    assert "Everything around chosen places was cut out" in draft
    assert "Not computed: no noise was added" in draft
    assert "odds of at most" not in draft


def test_a_changed_certificate_and_an_unknown_language_are_refused(protected) -> None:
    changed = {**protected.certificate, "rms_noise_m": 5000.0}
    with pytest.raises(VerificationFailed, match="does not fit"):
        dpia_draft(changed)
    with pytest.raises(InputError, match="no draft in 'la'"):
        dpia_draft(protected.certificate, language="la")


@pytest.mark.parametrize(
    ("name", "text", "kind"), [("t.gpx", None, "a GPX track"), ("r.html", "<!doctype html><p>", "a web page")]
)
def test_a_track_or_a_page_given_as_certificate_is_told_as_that(
    tmp_path, name: str, text: str | None, kind: str
) -> None:
    file = tmp_path / name
    file.write_text(RIDE.read_text() if text is None else text)
    for words in (["dpia", file, "-o", tmp_path / "d.md"], ["verify", file, "--release", RIDE], ["cost", file]):
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert isinstance(done.exception, InputError)
        assert f"{name} is {kind}" in str(done.exception)
