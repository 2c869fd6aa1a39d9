"""Every reproduction gives the recorded verdicts, in every mode a user may ask for."""

import json
import os
import sys
from pathlib import Path
from xml.dom import minidom

import pytest
from refusals import refused
from typer.testing import CliRunner

from sfumato.base.errors import InputError
from sfumato.cli import app
from sfumato.papers import REPRODUCTIONS, STUDIES, Reproduction, reproduce
from sfumato.papers.claims import check, surprises
from sfumato.papers.every import Done, all_claims, in_order, page_of_all, run_one
from sfumato.papers.statements import OUTCOMES, statement, statements

RUN = CliRunner()
SHARED = {"l-eff", "cip-axes"}
SLOW = {
    *("cip-figure-2", "cip-covariances", "cip-illustration", "cip-home-temperature", "privic-starts", "lip-comparison"),
    *("privic-figure-3", "privic-figure-8", "privic-figure-9", "privic-figure-10", "privic-table-2", "privic-table-3"),
    *("privic-chain", "privic-maps", "lip-figure-3", "cip-programs", "lip-theorems"),
}
SOLVED = {"cip-programs", "cip-figure-2", "cip-covariances", "cip-illustration", "cip-home-temperature"}


def marked(name: str) -> object:
    marks = [pytest.mark.slow] if name in SLOW | SHARED else []
    return pytest.param(name, marks=[*marks, pytest.mark.shared] if name in SHARED else marks)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("name", [marked(name) for name in REPRODUCTIONS])
def test_every_verdict_is_the_recorded_one(name: str, request: pytest.FixtureRequest) -> None:
    if name in SHARED:
        request.getfixturevalue("shared_data")
    if name in SOLVED:
        pytest.importorskip("cvxpy")
    found = reproduce(name, quick=True)
    assert found.name == name
    assert found.claims
    assert not surprises(found.claims), [claim.line() for claim in surprises(found.claims)]
    assert found.picture is not None
    drawn = found.picture.svg()
    minidom.parseString(drawn)
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")
    json.dumps(found.to_dict())
    # One word per row: what the run prints, what the pages print, and a claim for every row that names this command.
    for claim in found.claims:
        if claim.of_paper:
            row = statement(claim.whose)
            assert claim.verdict in (row.word, "cannot be checked"), claim.line()
            assert claim.seen in (*OUTCOMES[row.verdict], "cannot be checked"), claim.line()
    named = {row.key for row in statements().values() if row.command == f"reproduce {name}"}
    assert named <= {claim.whose for claim in found.claims}


def test_our_own_study_stands_under_a_heading_that_says_so_and_claims_nothing_for_a_paper() -> None:
    assert [name for name, entry in REPRODUCTIONS.items() if entry.heading == STUDIES] == ["lip-comparison"]
    out = RUN.invoke(app, ["reproduce", "list"]).output
    assert out.index(STUDIES) < out.index("lip-comparison")


def test_the_json_is_one_object_with_claims_and_whether_all_is_as_expected(tmp_path: Path) -> None:
    picture = tmp_path / "figure.svg"
    run = RUN.invoke(app, ["reproduce", "privic-figure-2", "--json", "-o", str(picture)])
    assert run.exit_code == 0, run.output
    result = json.loads(run.stdout)
    assert result["as_expected"] is True
    assert "all_claims_hold" not in result
    verdicts = {(claim["whose"], claim["verdict"]) for claim in result["claims"]}
    assert ("paper", "cannot be decided from the text") in verdicts
    fields = {"whose", "place", "words", "verdict", "seen", "recorded", "expected", "measured", "tolerance"}
    assert all(fields <= set(claim) for claim in result["claims"])
    assert picture.read_text().startswith("<svg")


def test_without_matplotlib_verdicts_and_tables_come_and_the_picture_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "sfumato.papers.plates", raising=False)
    picture = tmp_path / "figure.svg"
    run = RUN.invoke(app, ["reproduce", "cip-workshop-figure-2", "--quick", "-o", str(picture)])
    assert run.exit_code == 0, run.output
    assert "holds" in run.output
    assert "ratio to independent data" in run.output
    assert "pip install 'sfumato[plot]'" in run.output
    assert not picture.exists()
    said = json.loads(
        RUN.invoke(app, ["reproduce", "cip-workshop-figure-2", "--quick", "--json", "-o", str(picture)]).stdout
    )
    assert said["as_expected"]
    assert said["picture"] is None
    assert "sfumato[plot]" in said["picture_needs"]


def test_what_is_said_of_a_paper_is_printed_before_its_claim_and_exits_with_0() -> None:
    run = RUN.invoke(app, ["reproduce", "cip-workshop-figure-2", "--quick"])
    assert run.exit_code == 0
    line = next(line for line in run.output.splitlines() if "adds 50 %" in line)
    assert line.startswith("cannot be decided from the text")
    assert "Meehan2020" in line
    words = {line.split("  ")[0].split(" [")[0] for line in run.output.splitlines()[1:] if "[Meehan2020, " in line}
    assert words == {"holds", "typo", "cannot be decided from the text"}


def test_a_verdict_that_differs_from_the_recorded_one_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    surprising = Reproduction("cip-theorems", "A surprise", {}, (check("now it holds", True, recorded="fails"),))
    monkeypatch.setattr("sfumato.cli.reproduce.reproduce", lambda name, quick: surprising)
    run = RUN.invoke(app, ["reproduce", "cip-theorems"])
    assert run.exit_code == 1
    assert "recorded as 'fails'" in run.output


def test_unknown_reproductions_are_refused() -> None:
    with pytest.raises(InputError, match="no reproduction"):
        reproduce("figure-99")
    assert "l-eff" in refused("reproduce", "figure-99", says="no reproduction called 'figure-99'").advice


def test_data_that_may_not_ship_makes_claims_that_cannot_be_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SFUMATO_SHARED_DATA", str(tmp_path / "nowhere"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sfumato.papers.l_eff.__file__", str(tmp_path / "a/b/c/d/e/geolife.py"))
    done = run_one("l-eff", True)
    assert {claim.seen for claim in done.result.claims} == {"cannot be checked"}
    assert {claim.whose for claim in done.result.claims} >= {"Meehan2021, App. 7.4", "Meehan2021, Sec. 5, sizes"}
    assert done.result.as_expected


def test_all_runs_every_chosen_one_and_writes_one_page_that_asks_no_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few = {name: REPRODUCTIONS[name] for name in ("cip-workshop-figure-2", "privic-figure-2", "lip-theorems")}
    monkeypatch.setattr("sfumato.papers.REPRODUCTIONS", few)
    monkeypatch.setattr("sfumato.papers.every.REPRODUCTIONS", few)
    folder = tmp_path / "all"
    run = RUN.invoke(app, ["reproduce", "all", "--quick", "--processes", "1", "-o", str(folder)])
    assert run.exit_code == 0, run.output
    assert "Every verdict is as recorded" in run.output
    assert "papers:" in run.output
    text = (folder / "index.html").read_text()
    assert text.count("<svg") == len(few)
    rest = text.replace("http://www.w3.org/2000/svg", "")
    assert "http" not in rest
    assert "src=" not in rest
    assert {path.name for path in folder.iterdir()} == {"index.html", *(f"{name}.svg" for name in few)}
    answer = json.loads(RUN.invoke(app, ["reproduce", "all", "--quick", "--processes", "1", "--json"]).stdout)
    assert answer["as_expected"]
    assert {claim["reproduction"] for claim in answer["claims"]} == set(few)


def test_the_page_marks_what_differs_from_the_record() -> None:
    claims = (check("odd", False), check("even", True))
    done = [Done(Reproduction("cip-theorems", "T", {"t": [{"a": 1.0}]}, claims), 1.0)]
    assert len(all_claims(in_order(done))) == 2
    text = page_of_all(done, {"cip-theorems": "<svg></svg>"}, quick=True)
    assert text.count("<svg>") == 1
    assert text.count('class="surprise"') == 2  # once in the table of all claims, once beside its picture


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are started as on this system")
@pytest.mark.slow
def test_processes_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.papers.every import run_all

    names = ["cip-workshop-figure-2", "lip-theorems"]
    apart = {done.result.name: done.result.to_dict() for done in run_all(quick=True, workers=2, names=names)}
    assert apart == {name: run_one(name, True).result.to_dict() for name in names}
