"""Every channel design, one row each: the command's choices, the comparison, the documentation and the laws follow it.

To add one: write its file, add its row here and its row in docs/channel.md (``docs/contributing/add_a_channel.md``).
A row names what makes the channel as ``module:function``; :mod:`.door` loads it when it is asked for, so that a list of
names costs no solver's imports.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MANY, MOST = 400, 2_500


@dataclass(frozen=True, slots=True)
class ChannelDesign:
    """One design: its name, what it is in a sentence, how it is made, and what it needs and understands."""

    name: str
    summary: str
    epsilon_unit: Literal["nats", "per metre"]
    build: str
    """``module:function`` of a :class:`~sfumato.channels.designs.task.ChannelTask` that gives a DesignedChannel."""
    tune: str | None = None
    """``module:function`` of a LeakageTarget that gives a Tuned channel; None where it is not compared."""
    remap: Literal["no", "too", "only"] = "no"
    """In a comparison: also (or only) followed by the best answer to each report."""
    compared_up_to: int = MANY
    """The most symbols it is tuned for in a comparison: to turn what is optimised takes minutes beyond."""
    optimal_at: str | None = None
    """The notion of which it is the optimum: there it is solved once, and compared up to 2,500 symbols."""
    needs_grid: bool = False
    reports_symbols: bool = False
    """Whether every report is one of the symbols, so that the distortion must be square."""
    for_prior_sets: bool = False
    """Whether it can promise for a set of priors, and differently up and down."""
    by_rate: bool = False
    """Whether it can be asked by its rate or the average distortion accepted, and started from a first channel."""

    def most_symbols(self, at: str) -> int:
        """The most symbols it is compared for at equal leakage in a notion; 0 where it is not."""
        return MOST if at == self.optimal_at else self.compared_up_to

    @property
    def compared_as(self) -> tuple[str, ...]:
        """The rows it has in a comparison."""
        if self.tune is None:
            return ()
        remapped = f"{self.name}+remap"
        return {"no": (self.name,), "too": (self.name, remapped), "only": (remapped,)}[self.remap]


DESIGNS: list[ChannelDesign] = [
    ChannelDesign("lip-optimal", "least distortion under local information privacy", "nats",
                  "sfumato.channels.designs.lip.lip_optimal:build",
                  "sfumato.channels.designs.tuned:lip_optimal", optimal_at="lip", for_prior_sets=True),
    ChannelDesign("ldp-tuned",
                  "local differential privacy with the largest budget whose leakage under the prior is within epsilon",
                  "nats",
                  "sfumato.channels.designs.tuned:build_ldp_tuned",
                  "sfumato.channels.designs.tuned:ldp_tuned", reports_symbols=True),
    ChannelDesign("ldp-optimal", "least distortion under local differential privacy, every prior", "nats",
                  "sfumato.channels.designs.lip.lip_optimal:build_worst_case",
                  "sfumato.channels.designs.tuned:ldp_optimal", optimal_at="ldp"),
    ChannelDesign("blahut-arimoto",
                  "least mutual information for its distortion, by --beta, --distortion-target or --epsilon, exact",
                  "per metre", "sfumato.channels.designs.rate_distortion:build",
                  "sfumato.channels.designs.tuned:blahut_arimoto", reports_symbols=True,
                  by_rate=True),
    ChannelDesign("planar-laplace", "planar Laplace from cell centres on a --grid", "per metre",
                  "sfumato.channels.designs.geo.planar:build_laplace",
                  "sfumato.channels.designs.tuned:planar_laplace", "too", MOST, needs_grid=True,
                  reports_symbols=True),
    ChannelDesign("exponential", "exponential mechanism over the cells, measured", "per metre",
                  "sfumato.channels.designs.exponential:build",
                  "sfumato.channels.designs.tuned:exponential", "too", MOST, reports_symbols=True),
    ChannelDesign("prior-resampling", "the truth or a draw from the prior, then the best relabelling", "nats",
                  "sfumato.channels.designs.lip.closed_forms:build_resampling",
                  "sfumato.channels.designs.tuned:prior_resampling", "only", MOST),
    ChannelDesign("geo-optimal", "least distortion under geo-indistinguishability, up to 2,500 cells", "per metre",
                  "sfumato.channels.designs.geo.geo_optimal:build",
                  "sfumato.channels.designs.tuned:geo_optimal", compared_up_to=0, optimal_at="geo"),
    ChannelDesign("top-k", "randomized response over the likeliest symbols, every prior", "nats",
                  "sfumato.channels.designs.lip.closed_forms:build_top_k", reports_symbols=True),
    ChannelDesign("randomized-response", "the truth or any other symbol at random (GRR), every prior", "nats",
                  "sfumato.channels.designs.lip.closed_forms:build_randomized_response",
                  "sfumato.channels.designs.tuned:randomized_response", "too", MOST,
                  reports_symbols=True),
    ChannelDesign("planar-geometric", "planar geometric noise on a --grid", "per metre",
                  "sfumato.channels.designs.geo.planar:build_geometric", needs_grid=True, reports_symbols=True),
]  # fmt: skip
