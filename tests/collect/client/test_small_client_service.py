"""The small client, installed alone into an environment without any package, takes part in a real campaign."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest
from collector_harness import CollectorProcess, close, create, history
from small_client import CLIENT, unpack_small_client

pytestmark = pytest.mark.service


def installed(folder: Path) -> Path:
    """The Python of a bare environment with the small client: from its wheel where hatchling is here to build it."""
    venv.create(folder / "bare", with_pip=False, symlinks=True)
    python = folder / "bare" / "bin" / "python"
    site = Path(
        subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    )
    if find_spec("hatchling") is None:
        unpack_small_client(site)
        return python
    pip = [sys.executable, "-m", "pip", "-q"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder / "wheel", CLIENT]
    subprocess.run([*pip, *build], check=True)
    (wheel,) = (folder / "wheel").glob("sfumato_client-*-py3-none-any.whl")
    subprocess.run([*pip, "install", "--no-index", "--target", site, wheel], check=True)
    return python


def test_a_bare_environment_of_under_one_megabyte_sends_a_report_that_is_counted(tmp_path: Path) -> None:
    if not CLIENT.exists():
        pytest.skip("not a source checkout: clients/python is missing")
    python = installed(tmp_path)
    with CollectorProcess(f"sqlite:///{tmp_path}/x.db") as collector:
        create(collector.visitor, "town", tickets="blind")
        run = subprocess.run(
            [
                *(python, "-I", "-m", "sfumato_client", collector.url, "town", "--yes", "--longest-delay", "0"),
                *("--device", tmp_path / "device.json"),
            ],
            input="48.853 2.349\n",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        assert "Report counted." in run.stdout
        assert close(collector.visitor, "town")["closed"]
        assert history(collector.visitor, "town")[0]["reports"] == 1
    assert "48.853" not in (tmp_path / "device.json").read_text()
    listed = json.loads(
        subprocess.run(
            [
                python,
                "-I",
                "-c",
                "import importlib.metadata as m, json; print(json.dumps([d.name for d in m.distributions()]))",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    assert set(listed) <= {"sfumato-client", "sfumato_client"}
    package = Path(python).parents[1]
    size = sum(path.stat().st_size for path in package.rglob("sfumato_client/**/*") if path.is_file())
    assert 10_000 < size < 1_000_000
