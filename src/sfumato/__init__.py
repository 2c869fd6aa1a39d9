"""Sfumato: use and share location data without giving anyone away, with guarantees exact, stated and checkable."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sfumato.version import __version__

if TYPE_CHECKING:  # the same names as in the table below, for type checkers and editors
    from sfumato.answers.displacement import estimate_displacements
    from sfumato.answers.flows import estimate_flows
    from sfumato.answers.heatmap import estimate_heatmap
    from sfumato.answers.live import LiveView, live_circles
    from sfumato.answers.moving_answer import estimate_distances, estimate_speeds, estimate_stays
    from sfumato.answers.received import receive
    from sfumato.answers.smooth import smooth
    from sfumato.answers.smoothed import judge_smoothed
    from sfumato.answers.ways import estimate_ways
    from sfumato.archives.hiding import hide
    from sfumato.certificates.verdict import judge
    from sfumato.certificates.verify import verify
    from sfumato.channel import Channel
    from sfumato.engines.door import protect
    from sfumato.grid import Grid
    from sfumato.guarantees import Guarantee
    from sfumato.io import read_trace, read_traces, write_trace
    from sfumato.mechanisms.channels.comparison import compare
    from sfumato.places import find_places
    from sfumato.traces import Trace
    from sfumato.usefulness.preview import preview
    from sfumato.usefulness.utility import utility

# Public names and the modules they live in, imported on first use so that ``import sfumato`` stays fast.
_HOMES = {
    "Trace": "sfumato.traces",
    "read_trace": "sfumato.io",
    "read_traces": "sfumato.io",
    "write_trace": "sfumato.io",
    "protect": "sfumato.engines.door",
    "receive": "sfumato.answers.received",
    "estimate_heatmap": "sfumato.answers.heatmap",
    "estimate_flows": "sfumato.answers.flows",
    "estimate_displacements": "sfumato.answers.displacement",
    "estimate_ways": "sfumato.answers.ways",
    "estimate_distances": "sfumato.answers.moving_answer",
    "estimate_speeds": "sfumato.answers.moving_answer",
    "estimate_stays": "sfumato.answers.moving_answer",
    "smooth": "sfumato.answers.smooth",
    "live_circles": "sfumato.answers.live",
    "LiveView": "sfumato.answers.live",
    "judge_smoothed": "sfumato.answers.smoothed",
    "preview": "sfumato.usefulness.preview",
    "utility": "sfumato.usefulness.utility",
    "find_places": "sfumato.places",
    "hide": "sfumato.archives.hiding",
    "judge": "sfumato.certificates.verdict",
    "verify": "sfumato.certificates.verify",
    "compare": "sfumato.mechanisms.channels.comparison",
    "Grid": "sfumato.grid",
    "Channel": "sfumato.channel",
    "Guarantee": "sfumato.guarantees",
}

__all__ = [
    "Channel",
    "Grid",
    "Guarantee",
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
    "read_trace",
    "read_traces",
    "receive",
    "smooth",
    "utility",
    "verify",
    "write_trace",
]


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
