"""Put the modules that both Python clients share into the small wheel, under its own name and without NumPy.

The small client is the device's part of sfumato with five files of its own (``src/sfumato_client``: arrays, exact_draw,
ed25519, grid, reveals), which do the same sums in plain Python. Everything else is copied from ``src/sfumato`` when the
wheel is built, with ``sfumato.<rooms>.X`` renamed to ``sfumato_client.X``: one source, two wheels, and no file in
common, so that both can be installed. A source distribution carries the copies.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

HERE = Path(__file__).resolve().parent
FROM = HERE.parents[1] / "src" / "sfumato"
SHARED = (
    *(f"base/{name}.py" for name in ("errors", "files", "version")),
    *(f"accountant/{name}.py" for name in ("device", "device_memory")),
    *(f"collect/client/{name}.py" for name in ("__main__", "blind_tickets", "offer", "participant", "public_log", "request", "wire")),
)


def renamed(text: str) -> str:
    """A module of sfumato as a module of sfumato_client."""
    text = re.sub(r"\bsfumato\.(collect\.)?client\b", "sfumato_client", text)
    return re.sub(r"\b(from|import) sfumato\.(?:\w+\.)*(\w+)", r"\1 sfumato_client.\2", text)


def copy_shared(folder: Path) -> list[Path]:
    """Write the shared modules into ``folder`` and say which files they are."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in SHARED:
        target = folder / Path(name).name
        target.write_text(renamed((FROM / name).read_text(encoding="utf-8")), encoding="utf-8")
        written.append(target)
    return written


class CustomMetadataHook(MetadataHookInterface):  # type: ignore[misc]
    """The version is the package's."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling for the dynamic fields."""
        source = FROM / "base" / "version.py" if FROM.is_dir() else HERE / "src" / "sfumato_client" / "version.py"
        found = re.search(r'__version__ = "([^"]+)"', source.read_text(encoding="utf-8"))
        if found is None:
            raise RuntimeError("No version was found.")
        metadata["version"] = found[1]


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Adds the shared modules to a wheel or a source distribution."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it writes; in an unpacked source distribution the copies are there already."""
        if not FROM.is_dir():
            return
        self._folder = tempfile.TemporaryDirectory()
        where = "sfumato_client" if self.target_name == "wheel" else "src/sfumato_client"
        for path in copy_shared(Path(self._folder.name)):
            build_data["force_include"][str(path)] = f"{where}/{path.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called by hatchling when the file is written."""
        if FROM.is_dir():
            self._folder.cleanup()
