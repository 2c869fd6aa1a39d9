"""Driving Debian's Chromium with a script of web/test: what it needs, how it is called, whom the page asked."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from repository import ROOT

from sfumato.collect.service.pages.layout import has_entry

WEB = ROOT / "web"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def need_browser() -> None:
    """Skip, and say why, where there is no browser or no driver."""
    if CHROMIUM is None or shutil.which("node") is None:
        pytest.skip("chromium or node is not installed")
    if not (WEB / "node_modules" / "playwright-core").is_dir():
        pytest.skip("playwright-core is not installed: run `make web`")


def need_entry(name: str) -> None:
    """The same, and where there is no bundle with this page."""
    need_browser()
    if not has_entry(name):
        pytest.skip(f"the bundle has no {name}.js: run `make web`")


def driven(script: str, *, pictures: Path, **options: Any) -> dict[str, Any]:
    """What a script of web/test found."""
    argument = json.dumps({"pictures": str(pictures), "executable": CHROMIUM, **options})
    run = subprocess.run(
        ["node", str(WEB / "test" / script), argument],
        cwd=WEB,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    found: dict[str, Any] = json.loads(run.stdout.strip().splitlines()[-1])
    return found


def asked_hosts(found: dict[str, Any], url: str) -> set[str]:
    """Every host that was asked for anything; blob: and data: never leave the browser."""
    outside = [one["url"] for one in found["requests"] if not one["url"].startswith((f"blob:{url}", "data:"))]
    return {urlsplit(address).netloc for address in outside}
