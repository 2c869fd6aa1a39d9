"""The tutorial's code runs as it is printed."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from repository import ROOT


@pytest.mark.parametrize(
    ("page", "blocks", "printed"),
    [("designs.md", 9, "total noise"), ("compare_mechanisms.md", 6, "shouted          costs 1.146")],
)
def test_every_block_of_a_tutorial_runs_in_order(
    page: str, blocks: int, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)
    assert len(found) >= blocks
    names: dict[str, object] = {}
    for block in found:
        exec(compile(block, page, "exec"), names)
    assert printed in capsys.readouterr().out


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
