"""A verdict that cannot mislead: what protects nothing, holds more than it says, or was never protected is not good."""

from __future__ import annotations

import base64
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from typer.testing import CliRunner

from sfumato.base.errors import InputError
from sfumato.base.things.frames import snap
from sfumato.base.things.traces import Trace
from sfumato.cli import app
from sfumato.tracks.certificates.build import certificate_body, released_of
from sfumato.tracks.certificates.document import certificate_text, key_words, with_file, with_seal
from sfumato.tracks.certificates.sign import signer_with
from sfumato.tracks.certificates.verdict import Verdict, judge, worst_odds
from sfumato.tracks.certificates.verify import terms_of
from sfumato.tracks.io import write_trace
from sfumato.tracks.io.tables.point_table import write_fleet
from sfumato.tracks.people.door import protect, protect_fleet
from sfumato.tracks.people.noise import Protected
from sfumato.tracks.plan import Plan, Times
from sfumato.tracks.priors.classes import PriorClass

HIDDEN = "48.8583701"


def ride(count: int = 400, seed: int = 0) -> Trace:
    rng = np.random.default_rng(seed)
    steps = np.cumsum(rng.normal(size=(count, 2)).cumsum(axis=0) * 1e-5, axis=0)
    return Trace(48.5 + steps[:, 0], 2.5 + steps[:, 1], 1.7e9 + np.arange(count) * 10.0)


@pytest.fixture(scope="module")
def done() -> Protected:
    return protect(ride())


def reseal(done: Protected, path: Path) -> dict[str, object]:
    return with_seal(with_file(done.body, path))


def verdict_of(done: Protected, path: Path) -> Verdict:
    write_trace(done.release, path)
    return judge(reseal(done, path), release=path)


@pytest.mark.parametrize("ending", ["gpx", "geojson", "csv", "parquet", "geoparquet", "kml", "gpkg", "plt", "json"])
def test_a_true_release_is_good_in_every_format(done: Protected, tmp_path: Path, ending: str) -> None:
    found = verdict_of(done, tmp_path / f"r.{ending}")
    assert found.ok, found.lines()
    assert "day" in found.holds_over
    assert not found.releases_known
    assert found.signed_by is None


GPX_HIDES = {
    "comment": ("</gpx>", f"<!-- {HIDDEN} --></gpx>"),
    "attribute": ("<trk>", f'<trk id="{HIDDEN}">'),
    "processing instruction": ("</gpx>", f"<?true {HIDDEN}?></gpx>"),
    "extension": ("</trkseg>", f"</trkseg><extensions><a>{HIDDEN}</a></extensions>"),
    "namespace": ("<gpx ", f'<gpx xmlns:t="urn:{HIDDEN}" '),
    "bounds": ("<trk>", f'<metadata><bounds minlat="{HIDDEN}"/></metadata><trk>'),
    "trailing comment": ("</gpx>\n", f"</gpx>\n<!--{HIDDEN}-->\n"),
}


@pytest.mark.parametrize("where", GPX_HIDES)
def test_true_coordinates_hidden_in_gpx_are_refused(done: Protected, tmp_path: Path, where: str) -> None:
    path = tmp_path / "r.gpx"
    write_trace(done.release, path)
    old, new = GPX_HIDES[where]
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    found = judge(reseal(done, path), release=path)
    assert not found.ok
    assert HIDDEN not in str(found.to_dict())


def test_true_coordinates_hidden_in_other_formats_are_refused(done: Protected, tmp_path: Path) -> None:
    def hidden(name: str, change: object) -> None:
        path = tmp_path / name
        write_trace(done.release, path)
        change(path)  # type: ignore[operator]
        found = judge(reseal(done, path), release=path)
        assert not found.ok, name
        assert found.clean is not True

    def text(old: str, new: str) -> object:
        def change(path: Path) -> None:
            assert old in path.read_text()
            path.write_text(path.read_text().replace(old, new, 1))

        return change

    hidden("a.csv", lambda path: path.write_text(f"# {HIDDEN}\n" + path.read_text()))
    hidden("b.csv", lambda path: path.write_text(path.read_text() + "\n"))
    hidden("a.geojson", text("{", f'{{"true": {HIDDEN}, '))
    hidden("a.kml", text("<Placemark>", f'<Placemark id="{HIDDEN}">'))
    hidden("b.kml", text("</Placemark>", f"<ExtendedData><a>{HIDDEN}</a></ExtendedData></Placemark>"))

    def metadata(path: Path) -> None:
        table = pq.read_table(path).replace_schema_metadata({"true": HIDDEN})
        pq.write_table(table, path, compression="zstd", use_dictionary=["segment"])

    def between(path: Path) -> None:
        data = path.read_bytes()
        foot = int.from_bytes(data[-8:-4], "little")
        path.write_bytes(data[: -8 - foot] + HIDDEN.encode() + data[-8 - foot :])

    hidden("a.parquet", metadata)
    hidden("b.parquet", between)

    def table(path: Path) -> None:
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE truth (lat REAL)")
            database.execute("INSERT INTO truth VALUES (?)", (float(HIDDEN),))

    def deleted(path: Path) -> None:
        table(path)
        with sqlite3.connect(path) as database:
            database.execute("DROP TABLE truth")

    hidden("a.gpkg", table)
    hidden("b.gpkg", deleted)


def test_parquet_of_another_arrow_is_compared_by_content(
    done: Protected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.tracks.certificates import clean

    path, again = tmp_path / "a.parquet", tmp_path / "b.parquet"
    write_trace(done.release, path)
    version = pq.ParquetFile(path).metadata.created_by.encode()
    older = version.replace(b"version 2", b"version 1")
    assert older != version
    other = path.read_bytes().replace(version, older)
    again.write_bytes(other)
    assert clean.more_than_certified(again, people=1, kept=()) is None
    table = pq.read_table(path).replace_schema_metadata({"true": HIDDEN})
    pq.write_table(table, path, compression="zstd", use_dictionary=["segment"])
    again.write_bytes(path.read_bytes().replace(version, older))
    assert "metadata" in str(clean.more_than_certified(again, people=1, kept=()))


def test_the_unprotected_original_sealed_as_a_release_is_not_plausible(done: Protected, tmp_path: Path) -> None:
    plain = ride()
    lat, lon = snap(plain.lat_deg, plain.lon_deg, 0.1)
    original = plain.moved_to(lat, lon)
    path = tmp_path / "r.gpx"
    write_trace(original, path)
    body = certificate_body(terms_of(done.certificate), released_of([(None, original)]))
    found = judge(with_seal(with_file(body, path)), release=path)
    assert found.unchanged
    assert found.clean
    assert found.plausible is False
    assert not found.ok
    certificate = tmp_path / "r.json"
    certificate.write_text(certificate_text(with_seal(with_file(body, path))))
    write_trace(plain, tmp_path / "plain.gpx")
    audited = CliRunner().invoke(
        app, ["audit", str(tmp_path / "plain.gpx"), str(path), "--certificate", str(certificate)]
    )
    assert audited.exit_code == 1
    assert "NOT PROTECTED: every point" in audited.output


def test_a_simulation_protects_nothing_and_five_metres_neither(tmp_path: Path) -> None:
    seeded = verdict_of(protect(ride(), rng=1), tmp_path / "a.gpx")
    assert seeded.unchanged
    assert seeded.protection == "none"
    assert not seeded.ok
    tiny = verdict_of(protect(ride(), noise_m=5), tmp_path / "b.gpx")
    assert tiny.protection == "none"
    assert not tiny.ok
    flattered = protect(ride(), radius_m=1, odds=5)
    assert verdict_of(flattered, tmp_path / "c.gpx").protection == "none"
    assert worst_odds(flattered.certificate, 1.0) == pytest.approx(5, rel=1e-2)


def test_one_point_cannot_be_told_and_is_not_called_good(tmp_path: Path) -> None:
    one = verdict_of(protect(Trace([48.5], [2.5], [1.7e9])), tmp_path / "a.gpx")
    assert one.plausible is None
    assert not one.ok


def test_a_fleet_is_judged_person_by_person(tmp_path: Path) -> None:
    fleet = protect_fleet(Plan(), [("a", ride(seed=1)), ("b", ride(seed=2))])
    for ending in ("csv", "parquet"):
        path = tmp_path / f"f.{ending}"
        write_fleet(fleet.releases, path)
        assert judge(with_seal(with_file(fleet.body, path)), release=path).ok
    table = pq.read_table(path).append_column("true_lat", pa.array(np.full(800, 48.85)))
    pq.write_table(table, path)
    assert not judge(with_seal(with_file(fleet.body, path)), release=path).ok


def test_what_is_kept_is_named_and_can_be_forbidden(tmp_path: Path) -> None:
    plain = ride()
    heart = np.full(len(plain), np.nan)
    heart[3:] = 120.0
    trace = Trace(
        plain.lat_deg, plain.lon_deg, plain.times_s, None, {"heart_rate": heart, "elevation": np.arange(400.0)}
    )  # type: ignore[arg-type]
    kept = protect(trace, keep=["heart_rate", "elevation"])
    found = verdict_of(kept, tmp_path / "a.gpx")
    assert found.ok, found.lines()
    assert set(found.exact) == {"heart_rate", "elevation"}
    document = reseal(kept, tmp_path / "a.gpx")
    asked = judge(document, release=tmp_path / "a.gpx", require="odds=5,radius=200m,class=day,no-kept")
    assert len(asked.unmet) == 1
    assert not asked.ok


@pytest.mark.parametrize("bad", ["odd=5", "odds=", "odds=x", "class=month", "signed=yes", "no-kept,no-kept", "radius"])
def test_a_requirement_that_is_not_known_is_refused(done: Protected, bad: str) -> None:
    with pytest.raises(InputError):
        judge(done.certificate, release=done.release, require=bad)


def test_requirements_are_judged_at_their_own_radius(done: Protected) -> None:
    assert judge(done.certificate, release=done.release, require="odds=5,radius=200m,class=day,no-kept").ok
    for text in ("odds=5,radius=300m", "odds=4,radius=200m", "class=week", "releases", "radius=1km"):
        assert not judge(done.certificate, release=done.release, require=text).ok, text


def test_the_command_line_follows_the_verdict(done: Protected, tmp_path: Path) -> None:
    release, certificate = tmp_path / "r.gpx", tmp_path / "r.json"
    write_trace(done.release, release)
    certificate.write_text(certificate_text(reseal(done, release)))
    good = CliRunner().invoke(
        app, ["verify", str(certificate), "--release", str(release), "--report", f"{release}.html"]
    )
    assert good.exit_code == 0, good.output
    assert "Plausible?" in Path(f"{release}.html").read_text()
    asked = ["verify", str(certificate), "--release", str(release), "--require", "releases", "--json"]
    refused = CliRunner().invoke(app, asked)
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["unmet"]
    release.write_text(release.read_text() + "<!-- -->")
    changed = CliRunner().invoke(app, ["verify", str(certificate), "--release", str(release), "--json"])
    assert changed.exit_code == 1
    assert json.loads(changed.stdout)["unchanged"] is False


def seal_as(trace: Trace, done: Protected, path: Path, *, sign: object = None) -> dict[str, object]:
    """A track sealed as if it were the release of ``done``."""
    write_trace(trace, path)
    body = certificate_body(done.terms, released_of([(None, trace)]))
    return with_seal(with_file(body, path), sign)  # type: ignore[arg-type]


def test_an_original_with_coarse_times_is_not_plausible(tmp_path: Path) -> None:
    """0.2.0 tested the first point of each distinct time: 24 of 33 such originals were good."""
    done = protect(ride(400), times="coarse:300s")
    snapped = snap(done.original.lat_deg, done.original.lon_deg, done.terms.snap_m)
    original = Times.parse("coarse:300s").apply(Trace(*snapped, done.original.times_s))
    every_second = np.arange(400) % 2 == 0
    half = Trace(
        np.where(every_second, original.lat_deg, done.release.lat_deg),
        np.where(every_second, original.lon_deg, done.release.lon_deg),
        original.times_s,
    )
    for trace in (original, half):
        found = judge(seal_as(trace, done, tmp_path / "r.gpx"), release=tmp_path / "r.gpx")
        assert found.plausible is False, found.lines()
        assert not found.ok
    found = verdict_of(done, tmp_path / "true.gpx")
    assert found.plausible is None, found.lines()
    assert "one with the white share of the noise only" in found.reasons["plausible"], "only that is tested there"


def test_points_of_one_moment_hold_noise_of_their_own_where_times_are_coarse(tmp_path: Path) -> None:
    rides = ride(400)
    twice = Trace(rides.lat_deg, rides.lon_deg, np.floor(rides.times_s / 20) * 20)
    assert verdict_of(protect(twice, times="coarse:300s"), tmp_path / "r.gpx").plausible is None


def test_what_an_original_would_pass_cannot_be_told_unless_a_trusted_signer_vouches(tmp_path: Path) -> None:
    """Places six hours apart: 0.2.0 called them plausible whatever they were."""
    far = Trace(48.5 + 0.1 * np.sin(np.arange(40)), 2.5 + 0.1 * np.cos(np.arange(40)), 1.7e9 + np.arange(40) * 21600.0)
    done, path = protect(far), tmp_path / "r.gpx"
    found = verdict_of(done, path)
    assert found.plausible is None
    assert not found.ok
    assert "signature" in found.reasons["plausible"]
    key = Ed25519PrivateKey.generate()
    (tmp_path / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    signed = with_seal(with_file(done.body, path), signer_with(tmp_path / "key.pem"))
    assert not judge(signed, release=path).ok, "a signature that nobody asked for is no trust"
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    assert judge(signed, release=path, signer=public).ok
    assert judge(signed, release=path, signer=key_words(public), require="signed").ok, "or by its words"
    assert judge(signed, release=path, signer=key_words(public).upper().replace("-", "  ")).ok
    other = key_words(base64.b64encode(bytes(32)).decode())
    assert not judge(signed, release=path, signer=other).ok


def test_a_required_signature_is_somebodys(done: Protected) -> None:
    with pytest.raises(InputError, match="whose"):
        judge(done.certificate, release=done.release, require="signed")


def test_the_first_line_says_whom_to_trust_and_against_whom_it_is_good(done: Protected) -> None:
    found = judge(done.certificate, release=done.release)
    assert found.head().startswith("Good, if you trust who sent it")
    assert found.head().endswith("somebody who smooths it and knows how people move, over the class day.")


def test_a_promise_for_each_point_of_a_track_is_not_good_unless_that_is_required(tmp_path: Path) -> None:
    """`planar-laplace` on 400 points was "Good, 5 : 1" in 0.2.0, while smoothing finds the path to 49 m."""
    done = protect(ride(400), mechanism="planar-laplace")
    found = verdict_of(done, tmp_path / "r.gpx")
    assert found.plausible is True
    assert not found.ok
    assert "class=point" in found.unmet[0]
    again = judge(reseal(done, tmp_path / "r.gpx"), release=tmp_path / "r.gpx", require="class=point")
    assert again.ok, again.lines()
    assert "one point of it and nothing else" in again.head()
    alone = protect(Trace([48.0], [2.0], [0.0]), mechanism="planar-laplace")
    assert not judge(alone.certificate, release=alone.release).unmet, "one point is no track"


def test_a_class_that_is_not_shipped_is_not_good_unless_that_is_required() -> None:
    """A hand-made class of one kernel was "Good" in 0.2.0, with the sentence of the class day."""
    done = protect(ride(400))
    made = replace(done.terms.mechanism, prior_class=PriorClass(("matern32",), (60.0, 60.0)))  # type: ignore[type-var]
    narrow = replace(done.terms, mechanism=made, target=replace(done.terms.target, odds=None, noise_m=made.noise_m))
    document = with_seal(certificate_body(narrow, released_of([(None, done.release)])))
    found = judge(document, release=done.release)
    assert not found.ok
    assert "hand-made class" in found.unmet[0]
    assert judge(document, release=done.release, require="class=custom").ok


def test_independent_noise_is_not_good_unless_its_class_is_required() -> None:
    """Its class knows no offset and its own moments only, so it is none of ours; it was "Good" without a word."""
    done = protect(ride(400), mechanism="independent")
    found = judge(done.certificate, release=done.release)
    assert not found.ok
    assert found.unmet == (
        "class: it holds over the class day without offset; if that is enough for you, --require class=custom",
    )
    assert not judge(done.certificate, release=done.release, require="class=day").ok
    again = judge(done.certificate, release=done.release, require="class=custom")
    assert again.ok, again.lines()
    assert again.head().endswith("over the class day without offset.")


def test_points_that_share_a_moment_are_said_in_the_first_lines() -> None:
    rides = ride(400)
    minutes = Trace(rides.lat_deg, rides.lon_deg, np.floor(rides.times_s / 60) * 60)
    done = protect(minutes)
    found = judge(done.certificate, release=done.release)
    assert "Beware" in found.lines()[1]
    assert "400 of 400 points share a moment" in found.lines()[1]


def test_keys_are_made_shown_and_compared(tmp_path: Path) -> None:
    def run(*words: str) -> tuple[int, str]:
        said = CliRunner().invoke(app, ["keys", *words])
        return said.exit_code, said.stdout

    name = tmp_path / "me"
    code, out = run("make", str(name))
    assert code == 0
    assert (tmp_path / "me.pem").stat().st_mode & 0o077 == 0
    words = out.rsplit("Its words: ", 1)[1].strip()
    assert run("show", f"{name}.pub") == (0, f"{words}\n")
    assert run("compare", f"{name}.pub", words)[0] == 0
    assert run("compare", f"{name}.pub", key_words(base64.b64encode(bytes(32)).decode()))[0] == 1
    assert run("make", str(name))[0] != 0, "a key is never overwritten"
    done, path = protect(ride()), tmp_path / "r.gpx"
    write_trace(done.release, path)
    signed = tmp_path / "r.json"
    signed.write_text(certificate_text(with_seal(with_file(done.body, path), signer_with(tmp_path / "me.pem"))))
    assert run("show", str(signed)) == (0, f"{words}\n")
    found = judge(signed, release=path, signer=words, require="signed")
    assert found.ok
    assert found.head().startswith("Good, signed by whom you named")
