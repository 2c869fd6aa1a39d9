"""Sfumato: use and share location data without giving anyone away, with guarantees exact, stated and checkable."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sfumato.base.version import __version__
from sfumato.moved import install as _install_moved_names

if TYPE_CHECKING:  # the same names as in the table below, for type checkers and editors
    from sfumato.accountant.compose import Guarantee
    from sfumato.base.things.channel import Channel
    from sfumato.base.things.grid import Grid
    from sfumato.base.things.traces import Trace
    from sfumato.channels.designs.comparison import compare
    from sfumato.tracks.aggregates.holder import publish
    from sfumato.tracks.answers.flows.origin_destination import estimate_flows
    from sfumato.tracks.answers.maps.heatmap import estimate_heatmap
    from sfumato.tracks.answers.received import receive
    from sfumato.tracks.answers.usefulness.utility import utility
    from sfumato.tracks.answers.ways.displacement import estimate_displacements
    from sfumato.tracks.answers.ways.drawn_ways import estimate_ways
    from sfumato.tracks.answers.ways.how_people_move import estimate_distances, estimate_speeds, estimate_stays
    from sfumato.tracks.answers.ways.live import LiveView, live_circles
    from sfumato.tracks.answers.ways.smooth_tracks import judge_smoothed, smooth
    from sfumato.tracks.certificates.verdict import judge
    from sfumato.tracks.certificates.verify import verify
    from sfumato.tracks.folders.rides.hide import hide
    from sfumato.tracks.io import read_trace, read_traces, write_trace
    from sfumato.tracks.live.live_trace import LiveTrace
    from sfumato.tracks.people.door import protect
    from sfumato.tracks.people.preview import preview
    from sfumato.tracks.places import find_places

# Public names and the modules they live in, imported on first use so that ``import sfumato`` stays fast.
_HOMES = {
    "LiveTrace": "sfumato.tracks.live.live_trace",
    "Trace": "sfumato.base.things.traces",
    "read_trace": "sfumato.tracks.io",
    "read_traces": "sfumato.tracks.io",
    "write_trace": "sfumato.tracks.io",
    "protect": "sfumato.tracks.people.door",
    "receive": "sfumato.tracks.answers.received",
    "estimate_heatmap": "sfumato.tracks.answers.maps.heatmap",
    "estimate_flows": "sfumato.tracks.answers.flows.origin_destination",
    "estimate_displacements": "sfumato.tracks.answers.ways.displacement",
    "estimate_ways": "sfumato.tracks.answers.ways.drawn_ways",
    "estimate_distances": "sfumato.tracks.answers.ways.how_people_move",
    "estimate_speeds": "sfumato.tracks.answers.ways.how_people_move",
    "estimate_stays": "sfumato.tracks.answers.ways.how_people_move",
    "smooth": "sfumato.tracks.answers.ways.smooth_tracks",
    "live_circles": "sfumato.tracks.answers.ways.live",
    "LiveView": "sfumato.tracks.answers.ways.live",
    "judge_smoothed": "sfumato.tracks.answers.ways.smooth_tracks",
    "preview": "sfumato.tracks.people.preview",
    "publish": "sfumato.tracks.aggregates.holder",
    "utility": "sfumato.tracks.answers.usefulness.utility",
    "find_places": "sfumato.tracks.places",
    "hide": "sfumato.tracks.folders.rides.hide",
    "judge": "sfumato.tracks.certificates.verdict",
    "verify": "sfumato.tracks.certificates.verify",
    "compare": "sfumato.channels.designs.comparison",
    "Grid": "sfumato.base.things.grid",
    "Channel": "sfumato.base.things.channel",
    "Guarantee": "sfumato.accountant.compose",
}

__all__ = [
    "Channel",
    "Grid",
    "Guarantee",
    "LiveTrace",
    "LiveView",
    "Trace",
    "__version__",
    "compare",
    "estimate_displacements",
    "estimate_distances",
    "estimate_flows",
    "estimate_heatmap",
    "estimate_speeds",
    "estimate_stays",
    "estimate_ways",
    "find_places",
    "hide",
    "judge",
    "judge_smoothed",
    "live_circles",
    "preview",
    "protect",
    "publish",
    "read_trace",
    "read_traces",
    "receive",
    "smooth",
    "utility",
    "verify",
    "write_trace",
]


_install_moved_names()

if not TYPE_CHECKING:  # so that a name that is not there is an error for type checkers, too

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'sfumato' has no attribute '{name}'")
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
