"""Every channel design by name: the command's choices, the comparison, the documentation and the laws follow it.

To add one: write its file with ``build(task)`` (see :mod:`.named_design`), name it in the package's lazy table, and add
a line here and a row in docs/channel.md. An unknown name is refused everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.base.errors import InputError
from sfumato.channels import designs as channels
from sfumato.channels.designs.named_design import ChannelDesign, ChannelTask, DesignedChannel

# The designs' own files are loaded when one is built: a list of names must not cost a solver's imports.
DESIGNS: tuple[ChannelDesign, ...] = (
    ChannelDesign(
        "lip-optimal",
        "least distortion under local information privacy",
        "nats",
        build=lambda task: channels.lip_optimal.build(task),
        tune=lambda target: channels.tuned.lip_optimal(target),
        for_prior_sets=True,
    ),
    ChannelDesign(
        "ldp-tuned",
        "local differential privacy with the largest budget whose leakage under the prior is within epsilon",
        "nats",
        build=lambda task: channels.tuned.build_ldp_tuned(task),
        tune=lambda target: channels.tuned.ldp_tuned(target),
        reports_symbols=True,
    ),
    ChannelDesign(
        "ldp-optimal",
        "least distortion under local differential privacy, every prior",
        "nats",
        build=lambda task: channels.lip_optimal.build_worst_case(task),
        tune=lambda target: channels.tuned.ldp_optimal(target),
    ),
    ChannelDesign(
        "blahut-arimoto",
        "least mutual information for its distortion, by --beta, --distortion-target or --epsilon, exact",
        "per metre",
        build=lambda task: channels.rate_design.build(task),
        tune=lambda target: channels.tuned.blahut_arimoto(target),
        reports_symbols=True,
        by_rate=True,
    ),
    ChannelDesign(
        "planar-laplace",
        "planar Laplace from cell centres on a --grid",
        "per metre",
        build=lambda task: channels.planar_laplace.build(task),
        tune=lambda target: channels.tuned.planar_laplace(target),
        compared_up_to=2_500,
        remap="too",
        needs_grid=True,
        reports_symbols=True,
    ),
    ChannelDesign(
        "exponential",
        "exponential mechanism over the cells, measured",
        "per metre",
        build=lambda task: channels.exponential.build(task),
        tune=lambda target: channels.tuned.exponential(target),
        compared_up_to=2_500,
        remap="too",
        reports_symbols=True,
    ),
    ChannelDesign(
        "prior-resampling",
        "the truth or a draw from the prior, then the best relabelling",
        "nats",
        build=lambda task: channels.closed_forms.build_resampling(task),
        tune=lambda target: channels.tuned.prior_resampling(target),
        compared_up_to=2_500,
        remap="only",
    ),
    ChannelDesign(
        "geo-optimal",
        "least distortion under geo-indistinguishability, up to 2,500 cells",
        "per metre",
        build=lambda task: channels.geo_optimal.build(task),
    ),
    ChannelDesign(
        "top-k",
        "randomized response over the likeliest symbols, every prior",
        "nats",
        build=lambda task: channels.closed_forms.build_top_k(task),
        reports_symbols=True,
    ),
    ChannelDesign(
        "randomized-response",
        "the truth or any other symbol at random (GRR), every prior",
        "nats",
        build=lambda task: channels.closed_forms.build_randomized_response(task),
        tune=lambda target: channels.tuned.randomized_response(target),
        compared_up_to=2_500,
        remap="too",
        reports_symbols=True,
    ),
    ChannelDesign(
        "planar-geometric",
        "planar geometric noise on a --grid",
        "per metre",
        build=lambda task: channels.planar_geometric.build(task),
        needs_grid=True,
        reports_symbols=True,
    ),
)

NAMES: tuple[str, ...] = tuple(design.name for design in DESIGNS)
COMPARED: tuple[str, ...] = tuple(row for design in DESIGNS for row in design.compared_as)


def design_named(name: str) -> ChannelDesign:
    """The design called ``name``, or InputError."""
    for design in DESIGNS:
        if design.name == name:
            return design
    raise InputError(f"There is no mechanism '{name}'.", f"Use one of: {', '.join(NAMES)}.")


def designed(name: str, task: ChannelTask) -> DesignedChannel:
    """The channel that the design called ``name`` makes of ``task``."""
    design = design_named(name)
    able = ", ".join(other.name for other in DESIGNS if other.for_prior_sets)
    if task.priors is not None and not design.for_prior_sets:
        raise InputError(f"--priors is not used by {name}.", f"It is for {able}.")
    if task.epsilon_low is not None and not design.for_prior_sets:
        raise InputError(f"--epsilon-low is not used by {name}.", f"It is for {able}.")
    return design.designed(task)


def compared_named(rows: Iterable[str]) -> tuple[tuple[str, ChannelDesign], ...]:
    """The rows of a comparison with their designs; unknown names are refused."""
    wanted = tuple(rows)
    of = {row: design for design in DESIGNS for row in design.compared_as}
    unknown = sorted(set(wanted) - set(of))
    if unknown:
        raise InputError(f"There is no mechanism {unknown} to compare.", f"Use some of: {', '.join(COMPARED)}.")
    return tuple((row, of[row]) for row in wanted)
