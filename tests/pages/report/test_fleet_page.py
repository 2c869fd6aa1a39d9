"""A fleet has a private page and a public one that holds nothing of the original; a person has their own."""

from __future__ import annotations

import inspect
import json
import re
import stat
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.city import fleet
from tests.helpers.command import refused, run

from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import mu_of, odds_at
from sfumato.base.things.traces import Trace
from sfumato.pages.report.fleet_page import page_of, public_page
from sfumato.tracks.adversary.fleet import audit_fleet, person_losses
from sfumato.tracks.certificates.build import certificate_body, released_of
from sfumato.tracks.io.tables.point_table import write_fleet
from sfumato.tracks.people.door import protect_fleet
from sfumato.tracks.people.results import ProtectedFleet
from sfumato.tracks.plan import Plan


def protected(noise_m: float = 700.0) -> ProtectedFleet:
    people = fleet(6, stays=5)
    # One of them has fewer points, and so other times than the rest.
    name, trace = people[-1]
    people[-1] = (name, Trace(trace.lat_deg[::4], trace.lon_deg[::4], trace.times_s[::4], trace.segment[::4]))
    return protect_fleet(Plan(noise_m=noise_m), people, rng=3)


def test_losses_of_each_person_are_those_of_a_certificate_of_their_own() -> None:
    done = protected()
    found = person_losses(done.releases, done.certificate)
    for one, (person, trace) in zip(found, done.releases, strict=True):
        body = certificate_body(done.terms, released_of([(None, trace)]))
        assert one.person == person
        assert one.loss_at_times == pytest.approx(body["loss_at_times"])
        assert one.odds_at_times == pytest.approx(odds_at(mu_of(body["loss_at_times"], body["radius_m"])))
    assert max(one.loss_at_times or 0 for one in found) == pytest.approx(done.certificate["loss_at_times"])
    assert found[-1].loss_at_times != found[0].loss_at_times


def test_the_public_page_is_made_without_the_original() -> None:
    done = protected()
    assert list(inspect.signature(public_page).parameters) == ["shown", "document"]
    page = page_of(done, done.certificate, None, private=False)
    assert page == public_page(done.releases, done.certificate)
    true = {f"{value:.4f}" for _, trace in done.originals for value in (*trace.lat_deg, *trace.lon_deg)}
    written = set(re.findall(r"-?\d+\.\d{4,}", page))
    assert not {value for value in written if any(value.startswith(known) for known in true)}
    assert "Public" in page
    assert "Private" not in page
    assert "Corrected heat map" in page
    assert "distributed over people" in page
    for outside in ("http://", "https://", "src=", "<script", "@import", "url("):
        assert outside not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_the_private_page_names_the_worst_person_and_what_the_release_is_good_for() -> None:
    done = protected()
    page = page_of(done, done.certificate, None, private=True)
    found = audit_fleet(done.originals, done.releases, done.certificate)
    errors = {one.person: one.audit.rms_error_smoothed_m or np.inf for one in found.persons}
    assert found.worst.person == min(errors, key=lambda name: errors[name])
    assert f"Worst off: {found.worst.person}." in page
    assert "computed from the original" in page
    assert "trip length" in page
    assert "heat map, cells of 500 m" in page
    assert not found.unprotected
    own = audit_fleet(done.originals, done.originals, done.certificate)
    assert len(own.unprotected) == 6


def test_one_person_of_a_fleet_has_a_page_and_another_id_has_none() -> None:
    done = protected()
    page = page_of(done, done.certificate, None, private=False, person="p2")
    assert 'id="layer-smooth"' in page
    assert "original (private)" not in page
    with pytest.raises(InputError):
        page_of(done, done.certificate, None, private=False, person="nobody")


def test_protect_and_audit_write_the_pages_of_a_table(tmp_path: Path) -> None:
    write_fleet(fleet(5, stays=4), tmp_path / "fleet.csv")
    words = ("protect", "fleet.csv", "-o", "r.parquet", "--certificate", "c.json")
    code, _, error = run(*words, "--report", "r.html", "--public-report", "p.html", folder=tmp_path)
    assert code == 0, error
    assert stat.S_IMODE((tmp_path / "r.html").stat().st_mode) == 0o600
    assert "Public" in (tmp_path / "p.html").read_text()
    code, out, error = run("audit", "fleet.csv", "r.parquet", "--certificate", "c.json", "--json", folder=tmp_path)
    assert code == 0, error
    said = json.loads(out)
    assert said["people"] == 5
    assert said["worst_person"] in {f"p{k}" for k in range(5)}
    assert not said["broken"]
    one = ("audit", "fleet.csv", "r.parquet", "--certificate", "c.json", "--report-person", "p1", "--report", "p1.html")
    code, out, error = run(*one, folder=tmp_path)
    assert code == 0, error
    assert stat.S_IMODE((tmp_path / "p1.html").stat().st_mode) == 0o600
    assert "Points compared" in out
    refused(*one[:5], "--report-person", "p9", says="nobody of that id", folder=tmp_path)
    refused(*words, "--report", "x.html", "--report-person", "p9", says="nobody of that id", folder=tmp_path)
    assert not (tmp_path / "x.html").exists()


def test_a_smooth_fleet_is_released_with_its_pages(tmp_path: Path) -> None:
    write_fleet(fleet(3, stays=4), tmp_path / "fleet.csv")
    words = ("protect", "fleet.csv", "-o", "r.csv", "--certificate", "c.json", "--style", "smooth")
    code, _, error = run(*words, "--public-report", "p.html", folder=tmp_path)
    assert code == 0, error
    assert "smoothed from a noisy release" in (tmp_path / "p.html").read_text()
    code, out, _ = run("verify", "c.json", "--release", "r.csv", folder=tmp_path)
    assert code == 1
    assert "cannot be told" in out
    refused(
        "audit",
        "fleet.csv",
        "r.csv",
        "--certificate",
        "c.json",
        says="no noise that could be attacked",
        folder=tmp_path,
    )
