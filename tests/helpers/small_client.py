"""The small client as its wheel holds it: the files of clients/python and the copies that the build makes."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

CLIENT = Path(__file__).resolve().parents[2] / "clients" / "python"


def build_script() -> Any:
    """clients/python/hatch_build.py, with empty stand-ins for the two interfaces of hatchling it inherits from."""
    stand_ins = {}
    for name, interface in (("builders.hooks", "BuildHookInterface"), ("metadata", "MetadataHookInterface")):
        module = ModuleType("interface")
        setattr(module, interface, object)
        parts = f"hatchling.{name}.plugin.interface".split(".")
        stand_ins |= {".".join(parts[:depth]): ModuleType(parts[depth - 1]) for depth in range(1, len(parts))}
        stand_ins[".".join(parts)] = module
    spec = importlib.util.spec_from_file_location("small_client_build", CLIENT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, stand_ins):
        spec.loader.exec_module(script)
    return script


def unpack_small_client(folder: Path) -> Path:
    """The package ``sfumato_client`` in ``folder``, ready to be imported."""
    package = folder / "sfumato_client"
    shutil.copytree(CLIENT / "src" / "sfumato_client", package, ignore=shutil.ignore_patterns("__pycache__"))
    build_script().copy_shared(package)
    return folder
