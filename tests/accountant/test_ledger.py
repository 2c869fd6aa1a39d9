"""The ledger: continuing noise is free, redrawn noise adds, the cap holds, unknown releases are refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from sfumato.accountant.ledger import Ledger, read_ledger, record
from sfumato.base.errors import BudgetExceeded, InputError
from sfumato.base.files import lock_file
from sfumato.base.numbers.odds import mu_of
from sfumato.papers.cip.theorems import redrawn_noise
from sfumato.tracks.losses.gaussian_loss import loss_matrix
from sfumato.tracks.noise.prior_shaped import PriorShapedNoise
from sfumato.tracks.priors.kernels import Matern32
from sfumato.tracks.trace_entries import entry_from_certificate, total_loss


def certificate(size=100.0, length_scale_s=60.0, **more):
    """What the ledger reads of the certificate of noise shaped by a prior: its loss is 1/size²."""
    noise = PriorShapedNoise(Matern32(length_scale_s), size)
    return {"worst_loss": 1 / size**2, "mechanism": noise.name, "parameters": noise.parameters(), **more}


def test_releases_of_one_process_count_once_and_others_add():
    same = [entry_from_certificate(certificate(), process="a") for _ in range(5)]
    assert total_loss(same) == pytest.approx(1e-4)
    other = entry_from_certificate(certificate(size=200.0), process="b")
    assert total_loss([*same, other]) == pytest.approx(1.25e-4)
    assert mu_of(total_loss(same), 200.0) == pytest.approx(2.0)


def test_the_sum_of_losses_bounds_independent_processes_of_one_shape():
    rng = np.random.default_rng(2)
    for _ in range(20):
        times = np.sort(rng.uniform(0, 300, 24))
        prior = Matern32(rng.uniform(20, 200)).covariance(times) + 1e-6 * np.eye(24)
        shape = Matern32(60).covariance(times)
        sizes = rng.uniform(0.1, 2, 3)
        parts = [slice(0, 8), slice(8, 16), slice(16, 24)]
        redrawn = redrawn_noise([o * shape[p, p] for o, p in zip(sizes, parts, strict=True)])
        together = shape / np.sum(1 / sizes)
        for i in (3, 8, 20):
            assert loss_matrix(prior, redrawn, [i])[0, 0] <= loss_matrix(prior, together, [i])[0, 0] * (1 + 1e-9)


def test_a_release_past_the_cap_is_refused_and_nothing_is_written(tmp_path):
    path = tmp_path / "ledger.json"
    record(path, "alice", entry_from_certificate(certificate(), process="1"), total_loss, cap=2.5e-4)
    record(path, "alice", entry_from_certificate(certificate(), process="2"), total_loss)
    before = path.read_bytes()
    with pytest.raises(BudgetExceeded, match="cap"):
        record(path, "alice", entry_from_certificate(certificate(), process="3"), total_loss)
    assert path.read_bytes() == before
    record(path, "bob", entry_from_certificate(certificate(), process="3"), total_loss)
    record(path, "alice", entry_from_certificate(certificate(), process="2"), total_loss)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_ledger(path).total("alice", total_loss) == pytest.approx(2e-4)


def test_what_is_not_known_is_refused_never_guessed(tmp_path):
    with pytest.raises(InputError, match="no loss that holds for any times"):
        entry_from_certificate(certificate(worst_loss=None), process="x")
    with pytest.raises(InputError, match="chosen times"):
        entry_from_certificate(certificate(secrets={"count": 1}), process="x")
    different = certificate(length_scale_s=600.0)
    mixed = [entry_from_certificate(certificate(), process="a"), entry_from_certificate(different, process="b")]
    with pytest.raises(InputError, match="differently shaped"):
        total_loss(mixed)
    with pytest.raises(InputError, match="unknown notion"):
        total_loss([{"notion": "something else"}])
    path = tmp_path / "ledger.json"
    with pytest.raises(InputError, match="Give a cap"):
        record(path, "alice", mixed[0], total_loss)
    path.write_text("{}")
    with pytest.raises(InputError, match="not a ledger"):
        read_ledger(path)
    with pytest.raises(InputError):
        Ledger(0.0, {})


@pytest.mark.parametrize("loss", [math.nan, -1e-5, math.inf, -math.inf, None, "3", True, [1]])
def test_a_loss_that_is_no_number_of_at_least_zero_never_enters(tmp_path, loss):
    """NaN and negative losses counted for 0, were written as null, and nobody could release for that person again."""
    path = tmp_path / "ledger.json"
    good = entry_from_certificate(certificate(), process="1")
    record(path, "alice", good, total_loss, cap=1.0)
    before = path.read_bytes()
    for process in ("1", "2"):
        with pytest.raises(InputError):
            record(path, "alice", {**good, "process": process, "loss_per_m2": loss}, total_loss)
    if loss is not None:
        with pytest.raises(InputError):
            entry_from_certificate(certificate(worst_loss=loss), process="2")
    assert path.read_bytes() == before
    record(path, "alice", {**good, "process": "2"}, total_loss)
    assert read_ledger(path).total("alice", total_loss) == pytest.approx(2e-4)


EDITS = {
    "null loss": lambda d: d["entries"]["alice"][0].update(loss_per_m2=None),
    "NaN loss": lambda d: d["entries"]["alice"][0].update(loss_per_m2=math.nan),
    "negative loss": lambda d: d["entries"]["alice"][0].update(loss_per_m2=-1.0),
    "no loss": lambda d: d["entries"]["alice"][0].pop("loss_per_m2"),
    "no shape": lambda d: d["entries"]["alice"][0].pop("shape"),
    "no process": lambda d: d["entries"]["alice"][0].pop("process"),
    "a number for a process": lambda d: d["entries"]["alice"][0].update(process=1),
    "loss in words": lambda d: d["entries"]["alice"][0].update(loss_per_m2="much"),
    "an entry that is a list": lambda d: d["entries"]["alice"].__setitem__(0, [1, 2]),
    "an empty entry": lambda d: d["entries"]["alice"].__setitem__(0, {}),
    "entries of a person as one object": lambda d: d["entries"].update(alice={"loss_per_m2": 0}),
    "entries that are a list": lambda d: d.update(entries=[]),
    "no entries": lambda d: d.pop("entries"),
    "no name": lambda d: d["entries"].update({"": d["entries"]["alice"]}),
    "NaN cap": lambda d: d.update(cap=math.nan),
    "infinite cap": lambda d: d.update(cap=math.inf),
    "cap in words": lambda d: d.update(cap="1"),
    "cap of true": lambda d: d.update(cap=True),
    "no cap": lambda d: d.pop("cap"),
    "another format": lambda d: d.update(format=2),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_ledger_is_refused_in_words_and_left_as_it_is(tmp_path, edit):
    path = tmp_path / "ledger.json"
    entry = entry_from_certificate(certificate(), process="1")
    record(path, "alice", entry, total_loss, cap=1.0)
    document = json.loads(path.read_text())
    EDITS[edit](document)
    path.write_text(json.dumps(document))
    before = path.read_bytes()
    with pytest.raises(InputError):
        record(path, "alice", entry, total_loss)
    assert path.read_bytes() == before


def test_a_person_entered_twice_in_the_file_is_refused(tmp_path):
    path = tmp_path / "ledger.json"
    path.write_text('{"format": 1, "cap": 1.0, "entries": {"a": [{"loss_per_m2": 1}], "a": []}}')
    with pytest.raises(InputError, match="not a ledger"):
        read_ledger(path)


def test_a_rule_that_cannot_say_is_a_refusal():
    entry = {"notion": "any"}
    for rule in (
        lambda entries: entries[0]["missing"],
        lambda entries: math.nan,
        lambda entries: -1.0,
        lambda entries: None,
        lambda entries: 1 / 0,
    ):
        with pytest.raises(InputError):
            Ledger(1.0, {}).with_release("alice", entry, rule)
    with pytest.raises(BudgetExceeded, match="tell less"):
        Ledger(1.0, {}).with_release("alice", entry, lambda entries: math.inf)


def test_two_writers_do_not_lose_each_others_entries(tmp_path):
    path = tmp_path / "ledger.json"
    record(path, "a", entry_from_certificate(certificate(), process="1"), total_loss, cap=1.0)
    with lock_file(path), pytest.raises(InputError, match="Another process"):
        record(path, "a", entry_from_certificate(certificate(), process="2"), total_loss)
    assert len(json.loads(path.read_text())["entries"]["a"]) == 1
    (tmp_path / "ledger.json.lock").write_text("")  # left by a process that was killed: nobody holds it
    record(path, "a", entry_from_certificate(certificate(), process="2"), total_loss)
    assert {item.name for item in tmp_path.iterdir()} == {"ledger.json"}


def test_protect_enters_the_release_first_and_writes_nothing_past_the_cap(tmp_path):
    from repository import ROOT
    from typer.testing import CliRunner

    from sfumato.cli import app

    sample = str(ROOT / "src" / "sfumato" / "data" / "sample_ride.gpx")
    ledger, state = tmp_path / "ledger.json", tmp_path / "alice.json"

    def release(name, *more):
        words = [
            "protect",
            sample,
            "-o",
            str(tmp_path / name),
            "--ledger",
            str(ledger),
            "--ledger-person",
            "alice",
            *more,
        ]
        return CliRunner().invoke(app, words)

    first = release("1.gpx", "--state", str(state), "--cap", "1.5e-5", "--json")
    assert first.exit_code == 0, first.output
    spent = json.loads(first.stdout)["worst_loss"]
    assert release("2.gpx", "--state", str(state)).exit_code == 0
    assert read_ledger(ledger).total("alice", total_loss) == pytest.approx(spent)
    refused = release("3.gpx")  # fresh noise: a second process, past the cap
    assert isinstance(refused.exception, BudgetExceeded)
    assert not (tmp_path / "3.gpx").exists()
    assert "the cap is 1.5e-05" in str(refused.exception)
    unknown = release("4.gpx", "--mechanism", "independent").exception
    assert isinstance(unknown, InputError)
    assert "no loss that holds for any times" in str(unknown)
