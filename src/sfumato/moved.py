"""Modules of version 0.2.0 that live elsewhere now: their old names keep working, with a DeprecationWarning.

``docs/upgrading.md`` prints this table. Only what version 0.2.0 documented is listed; a name that was taken out says
what to use instead.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_file_location
from types import ModuleType

# Old name -> where its names are looked for, in turn.
MOVED: dict[str, tuple[str, ...]] = {
    f"sfumato.{old}": tuple(f"sfumato.{new}" for new in homes.split())
    for old, homes in {
        "accountant.grid_reports": "collect.loop.rhythm",
        "accountant.information_privacy": "channels.posterior_accountant",
        "accountant.trace_losses": "tracks.trace_entries",
        "adversary": "tracks.adversary",
        "adversary.attacks": "tracks.adversary.repetition tracks.adversary.places.cuts",
        "adversary.audit": "tracks.adversary.audit",
        "adversary.places": "tracks.adversary.places",
        "adversary.posterior": "tracks.adversary.posterior",
        "adversary.stop_and_go": "tracks.adversary.stop_and_go",
        "answers": "tracks.answers",
        "answers.picture": "tracks.answers.answer_files",
        "arrays": "base.arrays",
        "channel": "base.things.channel",
        "client": "collect.client accountant.device tracks.live.live_trace",
        "client.live": "tracks.live.live_trace",
        "collection": "collect.loop",
        "collection.reported": "collect.loop.reported",
        "collection.resolution": "collect.loop.told_areas",
        "collection.simulation": "collect.loop.simulation",
        "engines.local": "tracks.folders.streams tracks.io.tables.point_table",
        "engines.spark": "tracks.folders.spark.frames_on_spark",
        "errors": "base.errors",
        "estimation": "collect.estimation",
        "estimation.duality": "papers.privic.privic_duality",
        "estimation.frequency": "channels.frequency.estimate",
        "estimation.tally": "collect.estimation.tally",
        "frames": "base.things.frames",
        "grid": "base.things.grid",
        "guarantees": "accountant.compose",
        "io": "tracks.io",
        "leakage.alpha_leakage": "channels.measures.alpha_leakage",
        "leakage.conversion_graph": "channels.conversions.routes",
        "leakage.conversions": "channels.conversions.lip_constants",
        "leakage.discrete": "channels.measures.discrete",
        "leakage.exact_channel": "channels.measures.exact_fractions",
        "leakage.loss": "tracks.losses.gaussian_loss base.numbers.odds papers.cip.several_moments",
        "leakage.odds": "base.numbers.odds",
        "leakage.pointwise": "channels.measures.discrete",
        "leakage.theorems": "papers.cip.theorems",
        "leakage.trade_off": "channels.measures.trade_off",
        "mechanisms.channels.clamped_laplace": "channels.designs.numbers.clamped_laplace",
        "mechanisms.channels.frequency_oracles": "channels.frequency.frequency_oracles",
        "mechanisms.channels.gaussian_channel": "channels.designs.numbers.gaussian_channel",
        "mechanisms.channels.lip_optimal": "channels.designs.lip.lip_optimal",
        "mechanisms.designs.design": "tracks.designs.design",
        "mechanisms.designs.one_compound": "tracks.designs.exact_designs",
        "mechanisms.designs.rank_one": "tracks.designs.exact_designs",
        "mechanisms.designs.two_axes": "tracks.designs.design",
        "mechanisms.grids.grid_channel": "collect.grids.grid_channel",
        "mechanisms.grids.kernel": "collect.grids.distance_kernel",
        "mechanisms.traces.interface": "tracks.noise.interface",
        "notebook": "pages.notebook",
        "places": "tracks.places",
        "plan": "tracks.plan",
        "priors.cities": "collect.cities",
        "priors.kernels": "tracks.priors.kernels",
        "randomness": "base.randomness",
        "report": "pages.report",
        "reproductions": "papers",
        "report.drawing": "base.drawing.svg base.drawing.scales",
        "reproductions.picture": "papers.picture base.drawing.panels base.drawing.scales",
        "secret": "tracks.secret",
        "service": "collect.service",
        "service.app": "collect.service.app",
        "service.settings": "collect.service.settings",
        "traces": "base.things.traces",
        "units": "base.units",
    }.items()
}
_PACKAGES = frozenset(name.rpartition(".")[0] for name in MOVED) | {"sfumato.mechanisms"}
_THERE = frozenset({"sfumato", "sfumato.accountant"})  # packages that are where they were
# Taken out, and what to use instead.
GONE: dict[str, str] = {
    "sfumato.cli.protected_spark": "Run `sfumato protect --engine spark`, or see docs/scaling.md.",
    "sfumato.leakage.hyper": "Every leakage of a channel is in sfumato.channels.measures.all_measures.",
    "sfumato.engines.spark_sums": "Sum on Spark, and give the counts to sfumato.collect.estimation.",
    "sfumato.reproductions.map_of_notions": "The map is drawn in docs/notions.md; the implications are in "
    "sfumato.channels.conversions.implications.",
    "sfumato.engines.spark_audit": "Audit a sample of people with `sfumato audit`.",
}


class _Moved:
    """Finds the old names: in front of the other finders, which would load a moved file a second time."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for an old name, None for any other."""
        if not fullname.startswith("sfumato."):
            return None
        if fullname in GONE:
            raise ModuleNotFoundError(f"{fullname} was taken out in 0.3.0. {GONE[fullname]}", name=fullname)
        if fullname == "sfumato.client.__main__":  # python -m sfumato.client
            real = find_spec("sfumato.collect.client.__main__")
            return None if real is None else spec_from_file_location(fullname, real.origin)
        if fullname in MOVED or (fullname in _PACKAGES and fullname not in _THERE):
            return ModuleSpec(fullname, self, is_package=fullname in _PACKAGES)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module at its new place; several places are looked through in turn."""
        homes = MOVED.get(spec.name, ())
        if not homes:
            return None
        new = " or ".join(homes)
        warnings.warn(f"{spec.name} is {new} since 0.3.0.", DeprecationWarning, stacklevel=2)
        if len(homes) == 1:
            found = import_module(homes[0])
            spec.loader_state = found.__spec__
            return found
        found = ModuleType(spec.name)

        def look(name: str) -> object:
            for home in homes:
                if hasattr(module := import_module(home), name):
                    return getattr(module, name)
            raise AttributeError(f"module '{spec.name}' has no attribute '{name}'")

        found.__getattr__ = look  # type: ignore[method-assign]
        return found

    def exec_module(self, module: ModuleType) -> None:
        """It was executed under its new name; importing it under the old one must not change what it says it is."""
        state = module.__spec__ and module.__spec__.loader_state
        if state is not None:
            module.__spec__ = state


def install() -> None:
    """Let old names be found; once is enough."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Moved())
