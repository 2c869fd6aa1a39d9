"""The small client's wheel is one for every machine, Alpine's too: nothing compiled, nothing it depends on, small."""

from __future__ import annotations

import compileall
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from small_client import CLIENT

MOST_BYTES = 40_000_000


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="hatchling is not installed: no wheel was built")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [built] = folder.glob("*.whl")
    return built


def test_one_wheel_for_every_python_library_and_processor(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        [tags] = [name for name in names if name.endswith(".dist-info/WHEEL")]
        said, tagged = message_from_bytes(packed.read(metadata)), message_from_bytes(packed.read(tags))
    assert said.get_all("Requires-Dist") is None
    assert tagged.get_all("Tag") == ["py3-none-any"]
    assert tagged["Root-Is-Purelib"] == "true"
    assert all(Path(name).suffix in (".py", ".typed", ".txt", "") for name in names), names


def test_installed_it_is_far_below_forty_megabytes(wheel: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path)
    assert compileall.compile_dir(tmp_path, quiet=2)
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    with capsys.disabled():
        print(f"\nsfumato-client installed, compiled files included: {size / 1e6:.2f} MB")
    assert 50_000 < size < MOST_BYTES / 20
    code = "import sys; sys.path[:0] = [sys.argv[1]]; import sfumato_client; print(sfumato_client.Participant.__name__)"
    alone = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert alone.stdout.strip() == "Participant", alone.stderr
