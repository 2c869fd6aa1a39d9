"""Notebooks show a map or picture and the promise: self-contained, escaped, without a coordinate of the original."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser

import numpy as np
import pytest

import sfumato as sf
from sfumato.channel import Channel
from sfumato.errors import InputError
from sfumato.mechanisms.channels.channel_registry import design_named
from sfumato.mechanisms.channels.named_design import ChannelTask
from sfumato.mechanisms.designs.rank_one import joint
from sfumato.priors.cells import CellPrior
from sfumato.priors.kernels import RBF
from sfumato.progress import progress
from sfumato.shown import Shown

TIMES = 1.7e9 + 30.0 * np.arange(40)
RIDE = sf.Trace(48.2 + np.cumsum(np.sin(np.arange(40))) * 1e-3, 16.37 + np.arange(40) * 1e-3, TIMES)


def cabs() -> object:
    pd = pytest.importorskip("pandas")
    when = pd.to_datetime(np.r_[TIMES, TIMES], unit="s", utc=True)
    rows = {"cab_id": np.repeat([1, 2], 40), "lat": np.r_[RIDE.lat_deg, RIDE.lat_deg + 0.01]}
    return pd.DataFrame({**rows, "lon": np.r_[RIDE.lon_deg, RIDE.lon_deg], "time": when})


def designed() -> object:
    prior, cost = CellPrior(np.array([0.5, 0.3, 0.2])), 1 - np.eye(3)
    return design_named("lip-optimal").build(ChannelTask(prior, cost, 1.0))


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
    monkeypatch.delitem(sys.modules, "sfumato.notebook.figure", raising=False)
    with pytest.raises(InputError, match=r"sfumato\[plot\]"):
        RIDE.plot()


def test_nothing_of_a_notebook_is_loaded_by_protecting() -> None:
    code = "import sys, sfumato.protection, sfumato.cli.protect; print([n for n in sys.modules if 'notebook' in n])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_progress_is_shown_in_notebooks_and_nowhere_where_nobody_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("Working", 3) as step:
        step()
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    seen: list[str] = []
    monkeypatch.setattr("rich.progress.Progress.add_task", lambda bar, words, total: seen.append(words) or 0)
    monkeypatch.setattr("rich.progress.Progress.advance", lambda bar, task: seen.append("step"))
    with progress("Working", 3) as step:
        step()
    assert seen == ["Working", "step"]
