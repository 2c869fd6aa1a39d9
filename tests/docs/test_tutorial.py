"""The tutorial's code runs as it is printed."""

from __future__ import annotations

import re

import pytest
from repository import ROOT

PAGE = ROOT / "docs" / "tutorial_traces.md"


def test_every_block_of_the_tutorial_runs_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 9
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert "total noise" in capsys.readouterr().out
