"""An accountant for local information privacy whose total is the sum: each report is designed for the posterior.

P(x^n | y^n) / P(x^n) = prod_k Q_k(y_k | x_k) / P(y_k | y^(k-1)), and factor k is the lift of report k for the
*predictive* prior P(x_k | y^(k-1)). So if Q_k is eps_k-LIP for the predictive prior of a Bayes filter, the total
leakage is at most the sum of the eps_k, for one symbol asked again and again and for a Markov chain. It needs

(i)   Q_k, eps_k, timing and stopping to depend on earlier reports and independent coins only;
(ii)  report k to depend on the past only through x_k, given the earlier reports;
(iii) the bound of report k for every x_k of the predictive support.

Then it holds on both sides, for each side, for every sequence of reports and for every single X_j. The filter must be
the model the promise is stated for: with another prior the total may be off by max |ln P1(x^n)/P2(x^n)|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.accountant.compose import Guarantee
from sfumato.base.arrays import FloatArray, positive, read_only
from sfumato.base.errors import BudgetExceeded, InputError
from sfumato.base.things.channel import Channel, checked_probabilities, checked_rows
from sfumato.channels.measures.discrete import lip, lip_over_set
from sfumato.channels.priors.prior_sets import Known, Polytope


@dataclass(frozen=True, slots=True, eq=False)
class PosteriorAdaptive:
    """What has been spent and what is believed about the next symbol. Immutable: each report returns the next one.

    Start with :meth:`start`; ask :attr:`predictive` (or :attr:`priors`) for what to design for; :meth:`report` records
    the channel used and its output. Several priors (one per row) stand for every mixture of them: each is updated by
    Bayes' rule, and the predictive of any mixture stays a mixture of the predictives. ``spent_up`` and ``spent_low``
    are sums of leakages measured for the predictive priors.
    """

    predictives: FloatArray
    transition: FloatArray | None
    budget: float
    spent_up: float = 0.0
    spent_low: float = 0.0
    reports: int = 0

    @classmethod
    def start(
        cls, prior: npt.ArrayLike, *, budget: float, transition: npt.ArrayLike | None = None
    ) -> PosteriorAdaptive:
        """``transition`` is P(x_{k+1} | x_k) for a moving symbol; without it every report is about the same symbol.

        ``prior`` is one prior, or the vertices of a set of priors, one per row.
        """
        values = np.asarray(getattr(prior, "probabilities", prior), dtype=np.float64)
        p = read_only(np.stack([checked_probabilities(row) for row in np.atleast_2d(values)]))
        size = p.shape[1]
        moves = None if transition is None else checked_rows(transition)
        if moves is not None and moves.shape != (size, size):
            raise InputError(f"The transition is {moves.shape} for {size} symbols.", "Give a square matrix.")
        return cls(p, moves, positive(budget, "budget"))

    @property
    def predictive(self) -> FloatArray:
        """What is believed about the next symbol (of a set: its first vertex)."""
        first: FloatArray = self.predictives[0]
        return first

    @property
    def priors(self) -> Known | Polytope:
        """The prior, or every mixture of the vertices, that the next report must be designed for."""
        return Known(self.predictive) if self.predictives.shape[0] == 1 else Polytope(self.predictives)

    @property
    def spent(self) -> float:
        """The total promised so far: the larger of the two sides."""
        return max(self.spent_up, self.spent_low)

    @property
    def left(self) -> float:
        """What a next report may leak on either side."""
        return self.budget - self.spent

    def report(self, channel: Channel, output: int) -> PosteriorAdaptive:
        """Record that ``channel`` reported ``output``; refused, before anything is recorded, beyond the budget.

        The cost is measured on the channel for the predictive prior and does not depend on the output, so the check
        may be made (and is, by :meth:`check`) before the report is drawn.
        """
        up, low = self.check(channel)
        following = np.stack([channel.posterior(prior, output) for prior in self.predictives])
        if self.transition is not None:
            following = following @ self.transition
        return PosteriorAdaptive(
            predictives=read_only(following / following.sum(axis=1, keepdims=True)),
            transition=self.transition,
            budget=self.budget,
            spent_up=self.spent_up + up,
            spent_low=self.spent_low + low,
            reports=self.reports + 1,
        )

    def check(self, channel: Channel) -> tuple[float, float]:
        """(up, low) leakage of the channel for the predictive prior, or BudgetExceeded."""
        single = self.predictives.shape[0] == 1
        leakage = lip(channel, self.predictive) if single else lip_over_set(channel, self.priors)
        up, low = self.spent_up + leakage.up, self.spent_low + leakage.low
        if max(up, low) > self.budget * (1 + 1e-12):
            raise BudgetExceeded(
                f"This report leaks up to {leakage.max:.6g} nats and {self.left:.6g} are left of {self.budget:.6g}.",
                "Design it for the predictive prior with a smaller epsilon, or stop.",
            )
        return leakage.up, leakage.low

    def guarantee(self) -> Guarantee:
        """The statement for everything reported so far."""
        single = self.predictives.shape[0] == 1
        prior = "the one of this filter" if single else "a mixture of those of this filter"
        moves = "" if self.transition is None else " and moves by its transitions"
        return Guarantee(
            notion="local information privacy, posterior-adaptive",
            parameters={
                "epsilon_up_nats": self.spent_up,
                "epsilon_low_nats": self.spent_low,
                "reports": self.reports,
                "budget_nats": self.budget,
            },
            assumes=(
                f"the adversary's prior is {prior}{moves}",
                "channels, budgets, timing and stopping depend on earlier reports and independent coins only",
                "a report depends on the past only through the present symbol, given the earlier reports",
            ),
            covers=("all reports together, every single symbol and the whole sequence, for every outcome",),
            not_covered=("an adversary with another prior", "(epsilon, delta) promises: they have no composition rule"),
        )
