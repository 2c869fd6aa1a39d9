"""The tutorial's code runs as it is printed."""

from __future__ import annotations

import re
import sys

import numpy as np
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


def test_the_sentence_and_the_picture_of_shared_rides_are_what_the_script_makes(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import tutorial_rides

    try:
        sentence, svg = tutorial_rides.made()
        page = tutorial_rides.PAGE.read_text("utf-8")
        assert tutorial_rides.page_with(sentence, page) == page
        picture = tutorial_rides.PICTURE.read_text("utf-8")
        shapes = [re.sub(r"-?[0-9.]+", "#", text) for text in (svg, picture)]
        assert shapes[0] == shapes[1]
        numbers = [np.array(re.findall(r"-?[0-9]+\.[0-9]+", text), dtype=float) for text in (svg, picture)]
        assert np.abs(numbers[0] - numbers[1]).max() < 0.2  # another machine's last digit
    finally:
        sys.modules.pop("tutorial_rides", None)
