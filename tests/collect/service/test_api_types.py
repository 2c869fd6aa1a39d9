"""The TypeScript types of what the collector says are those of its OpenAPI document."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from repository import ROOT

JS, WEB = ROOT / "clients" / "js", ROOT / "web"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_api", JS / "make_api.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_types_are_what_the_document_says(maker: ModuleType) -> None:
    assert (JS / "src" / "api.ts").read_text(encoding="utf-8") == maker.current(), "run `npm run api` in clients/js"


def test_a_stale_file_is_noticed(
    maker: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(maker, "TARGET", tmp_path / "api.ts")
    monkeypatch.setattr(maker.sys, "argv", ["make_api.py"])
    assert maker.main() == 0
    monkeypatch.setattr(maker.sys, "argv", ["make_api.py", "--check"])
    assert maker.main() == 0
    maker.TARGET.write_text(maker.TARGET.read_text().replace("cell: number", "cell: string"))
    assert maker.main() == 1
    assert "run `npm run api`" in capsys.readouterr().err


def test_every_kind_of_field_has_its_type(maker: ModuleType) -> None:
    kinds = {
        "plain": ({"type": "integer"}, "number"),
        "nothing": ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "number | null"),
        "listed": ({"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "null"}]}}, "(number | null)[]"),
        "chosen": ({"enum": ["a", "b"]}, '"a" | "b"'),
        "fixed": ({"const": "m"}, '"m"'),
        "named": ({"$ref": "#/components/schemas/GridFields"}, "GridFields"),
        "mapped": ({"type": "object", "additionalProperties": {"type": "number"}}, "Record<string, number>"),
    }
    schema = {"description": "About.", "properties": {name: kind for name, (kind, _) in kinds.items()}}
    made = maker.typescript({"components": {"schemas": {"Thing": schema}}, "paths": {}})
    for name, (_, words) in kinds.items():
        assert f"  {name}?: {words};\n" in made


def test_no_page_and_no_client_spells_an_answer_by_hand() -> None:
    """A field that only answers have appears in no other declaration of a type."""
    names = ("two_beta_per_km", "mutual_information_nats", "emd_to_previous_m", "merged_periods", "log_index")
    for path in [*(WEB / "src").glob("*.ts"), *(JS / "src").glob("*.ts")]:
        if path.name != "api.ts":
            declared = re.findall(rf"^\s*(?:readonly )?({'|'.join(names)})\??:", path.read_text(), re.MULTILINE)
            assert declared == [], path.name
