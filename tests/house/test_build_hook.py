"""The wheel gets the pages' bundle when it was built, works without it, and a release can insist on it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hook with the little of hatchling that it uses, in an empty project."""

    class BuildHookInterface:
        target_name = "wheel"
        root = str(tmp_path)

        def __init__(self) -> None:
            self.said: list[str] = []
            self.app = SimpleNamespace(display_info=self.said.append)

    interface = ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = BuildHookInterface  # type: ignore[attr-defined]
    parts = interface.__name__.split(".")
    for depth in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:depth]), ModuleType(parts[depth - 1]))
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    monkeypatch.delenv("SFUMATO_BUNDLE", raising=False)
    if not (ROOT / "hatch_build.py").exists():
        pytest.skip("not a source checkout")
    spec = importlib.util.spec_from_file_location("hatch_build_under_test", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CustomBuildHook()


def built(hook: Any, version: str = "standard") -> dict[str, str]:
    data: dict[str, Any] = {"force_include": {}}
    hook.initialize(version, data)
    included: dict[str, str] = data["force_include"]
    return included


def test_a_built_bundle_is_packed_and_a_half_built_one_is_not(hook: Any, tmp_path: Path) -> None:
    bundle = tmp_path / "src/sfumato/collect/service/static/bundle"
    bundle.mkdir(parents=True)
    (bundle / "participant.js").write_text("")
    assert built(hook) == {}
    for name in ("dashboard.js", "operate.js", "land.js", "LICENSES.txt"):
        (bundle / name).write_text("")
    assert built(hook) == {str(bundle): "sfumato/collect/service/static/bundle"}
    assert built(hook, "editable") == {}


def test_without_a_bundle_the_wheel_is_built_and_says_so_unless_it_is_required(
    hook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert built(hook) == {}
    assert "make web" in hook.said[0]
    monkeypatch.setenv("SFUMATO_BUNDLE", "require")
    with pytest.raises(RuntimeError, match="make web"):
        built(hook)


def test_no_built_code_of_other_people_is_committed() -> None:
    ignored = (ROOT / ".gitignore").read_text().split()
    assert {"src/sfumato/collect/service/static/bundle/", "node_modules/", "dist/"} <= set(ignored)
