"""Does ``sfumato-client`` resolve for Alpine (musl), how large is it there, and is anything in it compiled for glibc?

    python scripts/musl_client.py

Builds the client's wheel, lets pip resolve it with all it depends on for musllinux_1_2 on x86-64, wheels only, for each
Python from 3.11 to 3.14, unpacks what came and measures it; then the same with ``cryptography``, which it uses where it
is there. Exit 1 where something does not resolve, is 40 MB or more, or holds a compiled file of a wheel that is not
musl's. Nothing is run: that it works on Alpine follows only from its being plain Python on the standard library.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[1] / "clients" / "python"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORM = "musllinux_1_2_x86_64"
ASKED_BYTES = 40_000_000
COMPILED = (".so", ".pyd", ".dll", ".dylib", ".a", ".o")


def pip(*words: str) -> None:
    """Quietly; its complaint is printed where it fails."""
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *words, "-q"], check=True)


def download(wheel: Path, python: str, more: list[str], folder: Path) -> None:
    """What pip takes for that Python on Alpine."""
    target = ["--platform", PLATFORM, "--python-version", python, "--implementation", "cp", "--only-binary", ":all:"]
    pip("download", *target, "-d", str(folder), str(wheel), *more)


def looked_at(folder: Path) -> tuple[list[str], int, list[str], list[str]]:
    """Wheels, bytes unpacked, compiled files, and those of them that no musl wheel holds."""
    names, size, compiled, foreign = [], 0, [], []
    for path in sorted(folder.glob("*.whl")):
        names.append(path.name)
        with zipfile.ZipFile(path) as archive:
            for file in archive.infolist():
                size += file.file_size
                elf = archive.open(file).read(4) == b"\x7fELF"
                if elf or file.filename.endswith(COMPILED) or ".so." in file.filename:
                    compiled.append(file.filename)
                    foreign += [] if "musllinux" in path.name else [f"{path.name}: {file.filename}"]
    return names, size, compiled, foreign


def main() -> int:
    """A line for each Python, with and without cryptography."""
    good = True
    with tempfile.TemporaryDirectory() as name:
        pip("wheel", "--no-deps", "--no-build-isolation", "-w", f"{name}/built", str(CLIENT))
        [wheel] = Path(f"{name}/built").glob("sfumato_client-*.whl")
        for more in ([], ["cryptography"]):
            for python in PYTHONS:
                folder = Path(name) / f"{python}-{len(more)}"
                download(wheel, python, more, folder)
                names, size, compiled, foreign = looked_at(folder)
                good &= size < ASKED_BYTES and not foreign
                print(
                    f"Python {python}{' with cryptography' if more else ''}: {len(names)} wheel(s), "
                    f"{size / 1e6:.2f} MB unpacked (asked: < {ASKED_BYTES / 1e6:.0f}), {len(compiled)} compiled "
                    f"file(s), {len(foreign)} of them not musl's"
                )
                for one in foreign:
                    print(f"  {one}")
    print("ok" if good else "MISSED")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
