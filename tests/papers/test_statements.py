"""What the papers state: one table, and the pages, the runs and the tests say the same word for the same row."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from dataclasses import replace
from importlib import import_module

import click
import papers_coverage as coverage
import pytest
import typer.main
from quotations import sections_with, signs
from repository import ROOT, SHARED

from sfumato.base.errors import InputError
from sfumato.cli import app
from sfumato.papers import REPRODUCTIONS
from sfumato.papers.statements import ERRATA, OUTCOMES, WORDS, statement, statements

ROWS = list(statements().values())
WRONG = [row for row in ROWS if row.verdict in ERRATA]


def keyed(rows):
    return [pytest.param(row, id=row.key) for row in rows]


def test_the_page_of_errata_is_up_to_date_and_that_of_coverage_is_made_with_every_row() -> None:
    assert coverage.PAGE_OF_ERRATA.read_text(encoding="utf-8") == coverage.errata_page(), (
        "run scripts/papers_coverage.py"
    )
    page = coverage.coverage_page()
    assert not (ROOT / "docs" / "coverage.md").exists()  # MkDocs adds it
    for row in ROWS:
        assert f"`{row.test}`" in page or row.test == "none"
        assert f"`{row.code.replace(':', '.')}`" in page or row.code == "none"


@pytest.mark.parametrize("row", keyed(ROWS))
def test_a_row_has_everything_its_verdict_needs(row) -> None:
    assert row.item
    assert row.says
    assert row.verdict in WORDS
    wrong = row.verdict in ERRATA
    assert all(bool(cell) == wrong for cell in (row.erratum, row.place, row.quote, row.correction, row.number))
    if row.verdict == "absent":
        assert row.because
        assert row.code == row.command == row.test == "none"
    else:
        assert row.test != "none"
        assert row.code != "none"


def test_every_erratum_has_a_number_of_its_own_and_stands_in_the_coverage_and_the_errata_with_one_word() -> None:
    assert max(Counter(row.erratum for row in WRONG).values()) == 1
    pages = [coverage.coverage_page(), coverage.PAGE_OF_ERRATA.read_text(encoding="utf-8")]
    for row in WRONG:
        assert f"| {row.word} ({row.erratum})" in pages[0]
        assert re.search(rf"^\| {row.erratum} \| .* \| {row.word} \|", pages[1], re.MULTILINE)
    by_hand = pages[1].partition("## Withdrawn")[2]
    withdrawn = set(re.findall(r"^\| ([PE]?\d+) \|", by_hand, re.MULTILINE))
    assert len(withdrawn) >= 10
    assert not withdrawn & {row.erratum for row in WRONG}


@pytest.mark.parametrize("row", keyed(WRONG))
def test_a_quotation_is_in_the_section_named_sign_by_sign(row) -> None:
    if not (SHARED / "papers").is_dir():
        pytest.skip("the papers' text is not on this machine")
    named = re.findall(r"(?:Sec\.|App\.|and|,) ?((?:\d+|[A-Z])(?:\.\d)*)(?![\w)])", row.place)
    assert set(sections_with(row.quote, row.paper)) & set(named)
    assert len(row.quote.split()) < 40  # a quotation, not a copy


def test_a_changed_sign_prime_or_set_is_no_quotation() -> None:
    assert signs(r"\exp\{-\beta d_E(x, y)\}") == signs("exp{−β d_E(x, y)}") != signs("exp{β d_E(x, y)}")
    assert signs(r"\frac{P_Y(y)}{P_{Y|X}(y|x')}") == signs("P_Y(y)/P_{Y|X}(y|x')") != signs("P_Y(y)/P_{Y|X}(y|x)")
    assert signs(r"\frac{e^\epsilon - 1 + p}{p}") == signs("(e^ε - 1 + p)/p") != signs("e^ε - 1 + p/p")
    assert signs(r"\forall x, y \in \mathcal{X}") == signs("∀x, y ∈ 𝒳") != signs("∀x, y ∈ 𝒴")


@pytest.mark.parametrize(
    "name",
    ["cip-theorems", "cip-programs", "cip-workshop-figure-2", "lip-theorems", "lip-figure-3", "privic-appendix-c"],
)
def test_the_numbers_of_errata_are_printed_by_their_command(name) -> None:
    assert coverage.not_printed(name, quick=True) == []  # the others, whole: scripts/papers_coverage.py --numbers


def test_a_number_that_no_command_prints_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    row = statement("Jiang2021, Thm 6, claim")
    other = replace(row, number="α ≥ .94 is needed, .43 is the largest allowed")  # .43 is printed, for another row
    monkeypatch.setattr(coverage, "statements", lambda: {row.key: other})
    assert len(coverage.not_printed("lip-theorems", quick=True)) == 1
    assert coverage._numbers_in("of 2,600, −.02 and 8.4e7") == [(2600, 0.5), (-0.02, 0.005), (8.4e7, 5e5)]


@pytest.mark.parametrize("row", keyed(row for row in ROWS if ":" in row.code))
def test_the_code_named_can_be_imported(row) -> None:
    module, _, name = row.code.partition(":")
    found = import_module(f"sfumato.{module}")
    for part in name.split("."):
        found = getattr(found, part)
    assert callable(found)


def commands(group: click.Command, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], click.Command]:
    found = {path: group}
    for name, command in getattr(group, "commands", {}).items():
        found |= commands(command, (*path, name))
    return found


COMMANDS = commands(typer.main.get_command(app))


@pytest.mark.parametrize("row", keyed(row for row in ROWS if row.command != "none"))
def test_the_command_named_exists_with_its_options(row) -> None:
    words = row.command.split()
    path = tuple(words[:2]) if tuple(words[:2]) in COMMANDS else tuple(words[:1])
    options = {option for parameter in COMMANDS[path].params for option in parameter.opts}
    assert {word for word in words if word.startswith("-") and not re.match(r"-?[\d.]", word)} <= options
    if path == ("reproduce",):
        assert words[1] in REPRODUCTIONS


def decorated(row) -> ast.FunctionDef:
    file, _, name = row.test.partition("::")
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    (found,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name.partition("[")[0])
    return found


@pytest.mark.parametrize("row", keyed(row for row in ROWS if row.test != "none"))
def test_the_test_named_asserts_and_says_the_word_of_its_row(row) -> None:
    found = decorated(row)
    calls = [node.func for node in ast.walk(found) if isinstance(node, ast.Call)]
    checks = [call.attr for call in calls if isinstance(call, ast.Attribute)]
    checks += [call.id for call in calls if isinstance(call, ast.Name)]
    asserts = any(isinstance(node, ast.Assert) for node in ast.walk(found))
    assert asserts or any(name.startswith(("assert_", "refused", "raises")) for name in checks)
    if "[" in row.test:  # a reproduction: the test itself compares the words
        assert row.test.partition("[")[2].rstrip("]") in REPRODUCTIONS
    elif row.verdict in ERRATA:
        said = [
            tuple(ast.literal_eval(argument) for argument in mark.args)
            for mark in found.decorator_list
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.says"
        ]
        assert (row.key, row.verdict) in said


def test_no_test_says_another_word_for_a_row_than_the_table() -> None:
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for key, verdict in re.findall(r'pytest\.mark\.says\("([^"]*)", "([^"]*)"\)', path.read_text(encoding="utf-8")):
            assert statement(key).verdict == verdict, path
            assert statement(key).test.startswith(str(path.relative_to(ROOT / "tests")))


def test_every_symbol_of_table_1_is_on_the_page_of_notation() -> None:
    page = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8").partition("## Collection")[2]
    symbols = "𝒳 C Π_𝒳 n X Y d* β π_𝒳 C⁽⁰⁾ λ_BA Γ_IBU Γᵗ_IBU N_BA N_IBU Λ 𝒫_𝒳,k φ Φ ψ Sᵗ"
    rows = {cell.strip().split(" ")[0].rstrip(",") for cell in re.findall(r"^\| ([^|]*) \|", page, re.MULTILINE)}
    assert set(symbols.split()) <= rows
    for name in re.findall(r"`(sfumato\.[\w.]+)`", page):
        module, _, attribute = name.rpartition(".")
        assert hasattr(import_module(module), attribute), name


def test_a_row_that_does_not_exist_is_refused_with_advice() -> None:
    with pytest.raises(InputError, match="No row is called 'Meehan2021, Thm 9'"):
        statement("Meehan2021, Thm 9")
    assert set(OUTCOMES) == set(WORDS)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants are tried in forked processes")
def test_no_mutant_of_a_sample_of_rows_survives_its_named_test() -> None:
    assert coverage.mutate(6) == 0, "run python scripts/papers_coverage.py --mutate 6"


def test_a_constant_a_sign_a_scale_and_an_exchange_are_what_a_mutant_changes() -> None:
    import mutants

    assert mutants.changed(2.0, "negated") == -2.0
    assert mutants.changed((1.0, True), "constant") == (0.321, True)
    assert mutants.changed({"a": [2]}, "scaled") == {"a": [5]}
    row = statement("Meehan2020, Cor. 1")
    broken = mutants.Broken(lambda first, second: first - second, "swapped")
    assert broken.function()(3, 1) == -2
    assert broken.differed
    assert row.code == "papers.cip.theorems:expected_gaps"
