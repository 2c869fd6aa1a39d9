"""The gallery's notebooks run, and their pages hold what they printed."""

from __future__ import annotations

import json
import sys

import pytest
from repository import ROOT


@pytest.fixture
def gallery(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import gallery

    yield gallery
    sys.modules.pop("gallery", None)


def test_every_notebook_is_in_the_navigation_under_its_own_title(gallery) -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert len(gallery.names()) >= 4
    for name in gallery.names():
        assert f"gallery/{name}.md" in navigation
        assert gallery.title(name)


def test_a_notebook_runs_and_keeps_what_it_printed(gallery) -> None:
    ran = gallery.run("4_an_exact_loss")
    page = gallery.page("4_an_exact_loss", ran)
    assert "the best noise of the same size 7.6086" in page
    assert "more than a million : 1" in page
    kept = json.loads(gallery.notebook(ran))
    assert kept["nbformat"] == 4
    assert [cell["cell_type"] for cell in kept["cells"]] == ["markdown" if cell.is_text else "code" for cell in ran]
    assert any("7.6086" in output["text"] for cell in kept["cells"] for output in cell.get("outputs", []))


def test_a_value_is_shown_by_its_picture_and_a_broken_cell_stops_the_build(gallery, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(gallery, "GALLERY", tmp_path)
    shown = "class A:\n    def _repr_html_(self):\n        return '<b>\\n\\nx</b>'\nA()\n"
    (tmp_path / "n.py").write_text(f"# %% [markdown]\n# # N\n\n# %%\n{shown}\n# %%\n1 + 1\n")
    page = gallery.page("n", gallery.run("n"))
    assert '<div class="output"><b> x</b></div>' in page
    assert "```text\n2\n```" in page
    (tmp_path / "n.py").write_text("# %%\n1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        gallery.run("n")
