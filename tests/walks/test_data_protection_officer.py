"""The data-protection officer: five releases on the desk, one page of instructions, a yes or a no for each of them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from page_rides import rides
from repository import ROOT
from walking import Walker, installed, is_kind, looked_at, needs_a_browser

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("data_protection_officer")]
DEMANDS = "odds=5,radius=200m,no-kept,signed"


@pytest.fixture(scope="module")
def officer(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Walker:
    """The officer's folder, in which a steward has left five releases and kept the originals elsewhere."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: no key can be made as the documentation does")
    me = installed(wheel, tmp_path_factory.mktemp("officer"))
    steward = Walker(tmp_path_factory.mktemp("steward"), me.bin)
    (ride, *_) = rides(steward.folder, 1, seed=3)
    steward.does("openssl", "genpkey", "-algorithm", "ed25519", "-out", "city.key")
    steward.does("openssl", "pkey", "-in", "city.key", "-pubout", "-out", me.folder / "city.pub")
    out = me.folder
    asked: dict[str, list[object]] = {
        "good": ["--sign", "city.key", "--public-report", out / "good.html"],
        "unsigned": [],
        "thin": ["--noise", "10m", "--sign", "city.key", "--public-report", out / "thin.html"],
        "kept": ["--keep", "elevation", "--sign", "city.key", "--public-report", out / "kept.html"],
        "seeded": ["--seed", "1", "--sign", "city.key"],
    }
    for name, more in asked.items():
        words = ["sfumato", "protect", ride, "-o", out / f"{name}.gpx", "--certificate", out / f"{name}.json"]
        steward.does(*words, *more)
    return me


def verified(officer: Walker, name: str, *more: object) -> tuple[int, str]:
    """The command of the page for officers; its exit code and its words."""
    page = (ROOT / "docs" / "data_protection.md").read_text("utf-8")
    assert "sfumato verify certificate.json --release shared.gpx --require odds=5,radius=200m,no-kept" in page
    done = officer.tries("sfumato", "verify", f"{name}.json", "--release", f"{name}.gpx", "--require", DEMANDS, *more)
    return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)


def test_the_good_one_is_good_and_says_so(officer: Walker) -> None:
    code, words = verified(officer, "good", "--signer", "city.pub", "--report", "verdict.html")
    assert code == 0, words
    assert "holds" in words


@pytest.mark.parametrize(
    ("name", "because"),
    [("unsigned", "sign"), ("thin", "odds"), ("kept", "elevation"), ("seeded", "simulation")],
)
def test_the_others_are_refused_each_for_its_own_reason(officer: Walker, name: str, because: str) -> None:
    code, words = verified(officer, name, "--signer", "city.pub")
    assert code == 1, words
    assert because in words.lower()


def test_a_number_made_prettier_is_found(officer: Walker) -> None:
    certificate = json.loads((officer.folder / "thin.json").read_text())
    certificate["odds_99"] = 5.0
    (officer.folder / "forged.json").write_text(json.dumps(certificate))
    (officer.folder / "forged.gpx").write_bytes((officer.folder / "thin.gpx").read_bytes())
    assert verified(officer, "forged", "--signer", "city.pub")[0] == 1


def test_the_paragraph_for_the_record_of_processing_can_be_filled_in(officer: Walker) -> None:
    page = (ROOT / "docs" / "data_protection.md").read_text("utf-8")
    paragraph = page.partition("## A paragraph for the record of processing")[2]
    fields = set(re.findall(r"`([a-z_0-9]+(?:\.[a-z_]+)?)`\]", paragraph))
    assert len(fields) >= 10, fields
    certificate = json.loads((officer.folder / "good.json").read_text())
    for field in fields:
        value = certificate
        for name in field.split("."):
            assert name in value, field
            value = value[name]


@pytest.mark.browser
def test_the_pages_say_yes_no_and_what_is_not_covered(officer: Walker) -> None:
    needs_a_browser()
    verified(officer, "good", "--signer", "city.pub", "--report", "verdict.html")
    pages = {name: (officer.folder / f"{name}.html").as_uri() for name in ("good", "thin", "kept", "verdict")}
    found = looked_at(pages, "officer")
    is_kind(found)
    assert "routine" in found["good"]["text"]
    assert "elevation" in found["kept"]["text"]
    assert "nothing of the original track" in found["good"]["text"]
    assert "No protection at 200 m" in found["thin"]["text"]
    assert not re.search(r"\d{7,} : 1", found["thin"]["text"]), "no odds that nobody can read"
