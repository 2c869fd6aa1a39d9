"""Notebooks show a map or picture and the promise: self-contained, escaped, without a coordinate of the original."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.base.arrays import Solved
from sfumato.base.errors import InputError
from sfumato.base.progress import progress
from sfumato.base.shown import Shown
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.things.channel import Channel
from sfumato.channels.designs.door import design_channel
from sfumato.channels.designs.task import ChannelTask
from sfumato.tracks.answers.usefulness.measures import Quality
from sfumato.tracks.answers.usefulness.utility import Utility
from sfumato.tracks.designs.exact_designs import joint
from sfumato.tracks.people.preview import Choice, Preview
from sfumato.tracks.priors.kernels import RBF

TIMES = 1.7e9 + 30.0 * np.arange(40)
RIDE = sf.Trace(48.2 + np.cumsum(np.sin(np.arange(40))) * 1e-3, 16.37 + np.arange(40) * 1e-3, TIMES)


def cabs() -> object:
    pd = pytest.importorskip("pandas")
    when = pd.to_datetime(np.r_[TIMES, TIMES], unit="s", utc=True)
    rows = {"cab_id": np.repeat([1, 2], 40), "lat": np.r_[RIDE.lat_deg, RIDE.lat_deg + 0.01]}
    return pd.DataFrame({**rows, "lon": np.r_[RIDE.lon_deg, RIDE.lon_deg], "time": when})


def designed() -> object:
    prior, cost = CellPrior(np.array([0.5, 0.3, 0.2])), 1 - np.eye(3)
    return design_channel("lip-optimal", ChannelTask(prior, cost, 1.0))


VALUES: dict[str, Callable[[], object]] = {
    "trace": lambda: RIDE,
    "release": lambda: sf.protect(RIDE, odds=5.0),
    "frame": lambda: sf.protect(cabs(), person="cab_id", odds=5.0),
    "certificate": lambda: sf.protect(RIDE, odds=5.0).certificate,
    "channel": lambda: Channel(np.full((300, 4), 0.25)),
    "designed channel": designed,
    "design": lambda: joint(RBF(6.0, 1.0).covariance(np.arange(20.0)), 10, budget=1.0).value,
    "audit": lambda: sf.protect(RIDE, odds=5.0).audit(),
    "audit of people": lambda: sf.protect(cabs(), person="cab_id", odds=5.0).audit(),
    "comparison": lambda: sf.compare([0.5, 0.3, 0.2], 1 - np.eye(3), [0.5, 1.0], mechanisms=["exponential"]),
}
PROMISED = {"release", "frame", "certificate"}


class _Closed(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", VALUES)
def test_every_value_has_a_card_that_asks_nothing_of_any_host(name: str) -> None:
    value = VALUES[name]()
    assert isinstance(value, Shown)
    text = value._repr_html_()
    assert _Closed(text).open == []
    assert "<svg" in text
    assert "NaN" not in text
    assert not re.findall(r"(?:src|href)=\"(?!data:)", text)
    assert not re.findall(r"https?://(?!www\.w3\.org)", text)
    assert "<script" not in text
    assert len(text) < 200_000
    assert ("cannot tell apart two places" in text) == (name in PROMISED)
    for degrees in (*RIDE.lat_deg, *RIDE.lon_deg):
        assert f"{degrees:.4f}" not in text
    assert ("Private" in text) == (name in ("audit", "audit of people"))


def test_what_protects_nothing_is_said_in_red_and_texts_are_escaped() -> None:
    done = sf.protect(RIDE, noise_m=5.0)
    assert "this protects nothing" in done._repr_html_()
    nasty = "<script>alert(1)</script>"
    channel = Channel(np.eye(2), distortion=1 - np.eye(2), distortion_name=nasty)
    assert nasty not in channel._repr_html_()


@pytest.mark.parametrize("name", VALUES)
def test_the_same_picture_by_matplotlib_with_units_and_legends_beside_the_data(name: str) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed: nothing was plotted")
    matplotlib.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    value = VALUES[name]()
    assert isinstance(value, Shown)
    axes = np.atleast_1d(np.asarray(value.plot(), dtype=object))
    for ax in axes:
        ax.figure.canvas.draw()
        legend = ax.get_legend()
        if legend is not None:
            assert legend.get_window_extent().x0 >= ax.get_window_extent().x1
        assert ax.get_xlabel() or ax.images or name == "comparison"
    if name == "trace":
        assert "east (km)" in axes[0].get_xlabel()
    plt.close("all")


def test_the_original_is_drawn_only_where_it_is_asked_for() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    done = sf.protect(RIDE, odds=5.0)
    assert [line.get_label() for line in done.plot().lines] == ["release"]
    assert [line.get_label() for line in done.plot(original=True).lines] == ["original (private)", "release"]
    _, ax = plt.subplots()
    assert done.plot(ax=ax) is ax
    plt.close("all")


def test_without_matplotlib_plotting_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.delitem(sys.modules, "sfumato.pages.notebook.figure", raising=False)
    with pytest.raises(InputError, match=r"sfumato\[plot\]"):
        RIDE.plot()


def test_nothing_of_a_notebook_is_loaded_by_protecting() -> None:
    code = "import sys, sfumato.tracks.people.door, sfumato.cli.tracks.protect; "
    code += "print([n for n in sys.modules if 'notebook' in n])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


class Display:
    """What stands in for ``IPython.display``: it keeps what is drawn, update by update."""

    def __init__(self) -> None:
        self.drawn: list[dict[str, str]] = []

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> Display:
        assert raw
        assert display_id
        self.drawn.append(bundle)
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.drawn.append(bundle)


def test_progress_is_shown_in_notebooks_and_nowhere_where_nobody_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("Working", 3) as step:
        step()
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setitem(sys.modules, "IPython.display", notebook := Display())
    monkeypatch.setattr("sfumato.base.progress.SECONDS_APART", 0.0)
    with progress("Working <hard>", 3) as step:
        step()
    first, second, last = notebook.drawn
    assert first["text/plain"] == "Working <hard>: 0 of 3"
    assert 'value="1" max="3"' in second["text/html"]
    assert "Working &lt;hard&gt;: 1 of 3" in second["text/html"]
    assert last == {"text/html": "", "text/plain": ""}


def test_a_bar_is_taken_away_also_when_the_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setitem(sys.modules, "IPython.display", notebook := Display())

    def fail() -> None:
        with progress("Working", 3) as step:
            step()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert notebook.drawn[-1]["text/html"] == ""


def test_every_plot_is_shown_and_not_the_first_one_only(tmp_path: Path) -> None:
    """A notebook's backend turns itself on with the first figure; the plot must not turn it off again."""
    pytest.importorskip("matplotlib")
    (tmp_path / "loud.py").write_text(
        "import matplotlib\nfrom matplotlib.backends.backend_agg import *\n"
        "from matplotlib.backends.backend_agg import FigureCanvas\nmatplotlib.interactive(True)\n"
    )
    code = (
        "import matplotlib, sfumato as sf\n"
        "from sfumato.pages.notebook.figure import plot\n"
        "plot(sf.Trace(lat_deg=[48.0, 48.1], lon_deg=[2.0, 2.1], times_s=[0.0, 60.0]))\n"
        "print(matplotlib.is_interactive())"
    )
    environment = {
        **os.environ,
        "MPLBACKEND": "module://loud",
        "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}",
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "True"


def test_what_a_solver_found_is_shown_with_how_far_to_believe_it() -> None:
    channel = Solved(Channel([[0.75, 0.25], [0.25, 0.75]]), "certified", gap=0.01, objective=0.25, lower_bound=0.2475)
    shown = channel._repr_html_()
    assert "A channel" in shown
    assert "certified gap" in shown
    assert "0.01" in shown
    assert "<svg" in shown
    assert "What was found" in Solved(1.0, "exact")._repr_html_()


def test_usefulness_is_shown_and_called_private() -> None:
    rows = (Quality("length", None, 0.5, 0.04), Quality("heatmap", 500.0, 0.2, None, "too few <people>"))
    found = Utility(3, 120, 150.0, rows, notes=("Some <note>",))
    offer = {"radius_m": 200.0, "odds": 5.0, "mechanism": "multiscale", "wishes": (), "notes": ("Quick.",)}
    choices = tuple(Choice(size, odds, {5.0: size / 3.5}, found) for size, odds in ((400.0, 22.5), (200.0, 1630.0)))
    for shown in (found._repr_html_(), Preview(choices=choices, **offer)._repr_html_()):
        assert "Private: computed from the original." in shown
        assert "trip length" in shown
        assert "<people>" not in shown
    assert "50 % → 4.0 %" in found._repr_html_()
    assert "22.5 : 1 at 200 m; 5 : 1 at 114 m" in shown
