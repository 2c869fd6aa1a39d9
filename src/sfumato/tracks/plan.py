"""What one release is asked to be, said once at the door: the wish, the mechanism and its options, frozen and checked.

A plan knows no trace, no file, no key and no seed: it can be written down, sent to another machine, and used again.
Every door makes one (the command line, :func:`sfumato.tracks.people.door.protect`, tables, folders, clusters),
everything behind it reads it, and the certificate quotes it. Its fields are the options' names everywhere.

:class:`Times` says which times a release shows: as recorded, shifted by a secret, from the start of each ride, coarse,
or none at all. Whatever is done to times afterwards is post-processing: what is promised about positions stays true.
What it hides is *when*, and only from those who do not know better: a race, a sunset or a photograph dates a ride, and
the way from one point to the next tells its pace wherever fixes came once a second.
"""

from __future__ import annotations

import hmac
import math
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, TypedDict

import numpy as np

from sfumato.base.arrays import positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import mu_at_epsilon, mu_at_odds
from sfumato.base.things.traces import Trace
from sfumato.base.units import duration_s, format_duration
from sfumato.tracks.priors.classes import prior_class_named
from sfumato.tracks.priors.kernels import Kernel, kernel_from_dict
from sfumato.tracks.priors.presets import DEFAULT_PRESET, preset_named
from sfumato.tracks.secret import Secret, SecretRule, compound

TIME_KINDS = ("keep", "shift", "relative", "drop", "coarse")
_TEN_YEARS_S = 3652 * 86400
AS_RECORDED = "Times are as recorded."
_TIME_WORDS = {
    "keep": AS_RECORDED,
    "shift": "All times are shifted by one secret, the same for every ride: dates are hidden, intervals are not.",
    "relative": "Every ride's times count from its first published point: when it was is hidden, its pace is not.",
    "drop": "No times are released; the order of points is.",
}


@dataclass(frozen=True, slots=True)
class Times:
    """``kind`` is one of :data:`TIME_KINDS`; ``step_s`` is what coarse times are rounded down to."""

    kind: str = "keep"
    step_s: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in TIME_KINDS:
            kinds = ", ".join(TIME_KINDS)
            raise InputError(f"Times cannot be released as '{self.kind}'.", f"Choose from {kinds}:5min.")
        if (self.step_s is not None) != (self.kind == "coarse"):
            raise InputError("Only coarse times have a step, and they need one.", "Write coarse:5min.")
        if self.step_s is not None and not 0.001 <= self.step_s <= 366 * 86400:
            raise InputError(f"Times cannot be rounded to {self.step_s:g} s.", "Use 1 ms to a year, e.g. coarse:5min.")

    @classmethod
    def parse(cls, text: str | Times) -> Times:
        """``keep``, ``shift``, ``relative``, ``drop`` or ``coarse:5min``."""
        if isinstance(text, Times):
            return text
        kind, _, step = text.partition(":")
        return cls(kind, duration_s(step) if step else None)

    def __str__(self) -> str:
        return self.kind if self.step_s is None else f"{self.kind}:{self.step_s:g}s"

    @property
    def shown(self) -> bool:
        """Whether any times are written."""
        return self.kind != "drop"

    @property
    def same_intervals(self) -> bool:
        """Whether intervals within one ride are those recorded, so that losses at its times can be recomputed."""
        return self.kind in ("keep", "shift", "relative")

    def sentence(self) -> str:
        """What readers of the release should know."""
        if self.step_s is None:
            return _TIME_WORDS[self.kind]
        return f"Times are rounded down to {format_duration(self.step_s)}; the order of points is as recorded."

    def apply(self, trace: Trace, key: bytes = b"") -> Trace:
        """The trace at the times released; a shift is drawn from ``key``, a function of nothing else."""
        if self.kind == "shift":
            if not key:
                raise InputError("A shift of times needs a secret.", "Use a places file or a noise state.")
            word = int.from_bytes(hmac.digest(key, b"sfumato shift of times", "sha256")[:8], "big")
            return replace(trace, times_s=trace.times_s - float(word % _TEN_YEARS_S))
        if self.kind == "relative":
            return replace(trace, times_s=trace.times_s - trace.times_s.min())
        if self.kind == "drop":
            return replace(trace, times_s=np.zeros(len(trace)))
        if self.step_s is not None:
            return replace(trace, times_s=np.floor(trace.times_s / self.step_s) * self.step_s)
        return trace


LEVELS = {"low": 20.0, "medium": 5.0, "high": 2.0}  # odds
DEFAULT_ODDS = 5.0
ODDS_DELTA = 0.01  # "99 times in 100"
MOST_NOISE_M = 100_000.0
MOST_RADIUS_M = 100_000.0
MOST_REDRAWS = 1_000_000
SNAP_M = 0.1
MOST_ROUNDED_M = 10_000.0
DEFAULT_MECHANISM = "multiscale"
ID_KINDS = ("random", "keep")
# The mechanisms that a plan with secrets, or with a grid to round to, means where it names none.
FOR_SECRETS, FOR_ROUNDING = "secrets", "rounded"


@dataclass(frozen=True, slots=True)
class Target:
    """What was asked for: exactly one of ``odds``, ``epsilon`` and ``noise_m``, at a radius and a Rényi order."""

    radius_m: float
    odds: float | None = None
    epsilon: float | None = None
    noise_m: float | None = None
    order: float = 5.0

    def __post_init__(self) -> None:
        positive(self.radius_m, "The radius in metres", at_most=MOST_RADIUS_M)
        if not (math.isfinite(self.order) and self.order > 1):
            raise InputError(f"The Rényi order is {self.order:g}.", "It must be a finite number greater than 1.")
        given = [name for name in ("odds", "epsilon", "noise_m") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InputError(
                f"{len(given)} of odds, epsilon and noise are given.", "Give exactly one: they fix one another."
            )
        if self.odds is not None and not (math.isfinite(self.odds) and 1 < self.odds <= 1e6):
            raise InputError(f"The odds are {self.odds:g}.", "They must be greater than 1 and at most 1e6, e.g. 5.")
        if self.epsilon is not None:
            positive(self.epsilon, "epsilon", at_most=1000.0)
        if self.noise_m is not None:
            positive(self.noise_m, "The noise in metres", at_most=MOST_NOISE_M)

    @property
    def mu(self) -> float | None:
        """The largest μ that fulfils the wish; None when the noise itself was given."""
        if self.odds is not None:
            return mu_at_odds(self.odds, ODDS_DELTA)
        if self.epsilon is not None:
            return mu_at_epsilon(self.epsilon, self.order)
        return None

    def to_dict(self) -> dict[str, float | None]:
        """What the certificate keeps of the wish."""
        return {"odds": self.odds, "epsilon": self.epsilon, "noise_m": self.noise_m}


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The wish (one of ``odds``, ``epsilon``, ``noise_m``, ``level``; nothing means odds of 5) and how to fulfil it.

    ``prior`` is a preset's name, ``preset`` for the default one, ``fit``, or a kernel; ``secrets`` are texts
    (``windows:10min``), secrets or rules; ``redraws`` = k says that this is one of k releases with redrawn noise;
    ``round_to_m`` is the public grid that positions are rounded to after the noise; ``turning`` takes people who tend
    to turn one way round into the promise; ``ids`` says whether people get new ids (``random``) or keep theirs
    (``keep``): by default new ones in files and datasets, their own in memory.
    Options that the mechanism does not take are refused by
    :func:`sfumato.tracks.noise.registry.mechanism_for`.
    """

    radius_m: float = 200.0
    odds: float | None = None
    epsilon: float | None = None
    noise_m: float | None = None
    order: float = 5.0
    mechanism: str = DEFAULT_MECHANISM
    prior_class: str = "day"
    prior: str | Kernel | None = None
    white_share: float | None = None
    constant_share: float | None = None
    redraws: int = 1
    secrets: str | SecretRule | Sequence[str | SecretRule] | None = None
    snap_m: float = SNAP_M
    keep: Sequence[str] = ()
    times: str = "keep"
    round_to_m: float | None = None
    turning: bool = False
    ids: str | None = None
    level: InitVar[str | None] = None

    def __post_init__(self, level: str | None) -> None:
        if level is not None:
            if level not in LEVELS:
                raise InputError(f"There is no level '{level}'.", f"Choose from {', '.join(LEVELS)}.")
            if self.odds is not None:
                raise InputError("Both a level and odds are given.", f"The level {level} is odds {LEVELS[level]:g}.")
            object.__setattr__(self, "odds", LEVELS[level])
        if self.odds is None and self.epsilon is None and self.noise_m is None:
            object.__setattr__(self, "odds", DEFAULT_ODDS)
        _ = self.target  # checks the wish
        if not (math.isfinite(self.snap_m) and 0.01 <= self.snap_m <= 1000):
            raise InputError(f"The snapping grid is {self.snap_m:g} m.", "It must lie between 0.01 m and 1000 m.")
        if not (isinstance(self.redraws, int | np.integer) and 1 <= self.redraws <= MOST_REDRAWS):
            raise InputError(f"redraws is {self.redraws}.", "It must be a whole number from 1.")
        if self.ids not in (None, *ID_KINDS):
            raise InputError(f"There are no ids '{self.ids}'.", f"Choose from {', '.join(ID_KINDS)}.")
        prior_class_named(self.prior_class)
        if isinstance(self.prior, str) and self.prior not in ("fit", "preset"):
            preset_named(self.prior)
        object.__setattr__(self, "keep", tuple(self.keep))
        if self.times != "keep":
            object.__setattr__(self, "times", str(Times.parse(self.times)))
        if self.round_to_m is not None:
            positive(self.round_to_m, "The grid to round to, in metres", at_most=MOST_ROUNDED_M)
            if self.mechanism == DEFAULT_MECHANISM:
                object.__setattr__(self, "mechanism", FOR_ROUNDING)
        if self.secrets is not None:
            several = isinstance(self.secrets, Sequence) and not isinstance(self.secrets, str)
            object.__setattr__(self, "secrets", tuple(self.secrets) if several else (self.secrets,))  # type: ignore[arg-type]
            if self.mechanism == DEFAULT_MECHANISM:
                object.__setattr__(self, "mechanism", FOR_SECRETS)

    @property
    def target(self) -> Target:
        """The wish alone."""
        return Target(self.radius_m, self.odds, self.epsilon, self.noise_m, self.order)

    @property
    def kernel(self) -> Kernel | None:
        """The prior as a kernel; None where it is fitted to the trace, or none was given."""
        if self.prior is None or self.prior == "fit":
            return None
        if isinstance(self.prior, Kernel):
            return self.prior
        return preset_named(DEFAULT_PRESET if self.prior == "preset" else self.prior).prior

    def to_dict(self) -> dict[str, object]:
        """Plain JSON; rules for secrets that were made in Python cannot be written down."""
        out: dict[str, object] = {field.name: getattr(self, field.name) for field in fields(self)}
        out["prior"] = self.prior.to_dict() if isinstance(self.prior, Kernel) else self.prior
        out["keep"] = list(self.keep)
        out["secrets"] = None if self.secrets is None else [_written(secret) for secret in self.rules]
        for name in ("round_to_m", "turning", "ids"):  # as plans were written before there was any of them
            if not out[name]:
                del out[name]
        return out

    @property
    def rules(self) -> tuple[str | SecretRule, ...]:
        """The secrets as they were given, one by one."""
        assert self.secrets is None or isinstance(self.secrets, tuple)
        return self.secrets or ()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Plan:
        """The plan that :meth:`to_dict` wrote; unknown fields are refused."""
        known = {field.name for field in fields(cls)}
        if set(values) - known:
            raise InputError(f"A plan has no {', '.join(sorted(set(values) - known))}.", "Use what to_dict() wrote.")
        given = dict(values)
        try:
            if isinstance(given.get("prior"), Mapping):
                given["prior"] = kernel_from_dict(given["prior"])
            if given.get("secrets") is not None:
                given["secrets"] = tuple(_read(secret) for secret in given["secrets"])
            return cls(**given)
        except InputError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("The plan is described wrongly.", "Use what to_dict() wrote.") from error


class Wishes(TypedDict, total=False):
    """What :class:`Plan` takes, by name, for type checkers: the same names, which a test compares."""

    radius_m: float
    odds: float | None
    epsilon: float | None
    noise_m: float | None
    level: str | None
    mechanism: str
    prior_class: str
    prior: str | Kernel | None
    order: float
    redraws: int
    white_share: float | None
    constant_share: float | None
    snap_m: float
    keep: Sequence[str]
    times: str
    round_to_m: float | None
    turning: bool
    ids: str | None
    secrets: str | SecretRule | Sequence[str | SecretRule] | None


def plan_of(wishes: Wishes) -> Plan:
    """The plan of wishes by name; a misspelt one is answered with those there are: ``noise`` may mean ``noise_m``."""
    known = list(Wishes.__annotations__)
    for name in wishes:
        if name not in known:
            meant = get_close_matches(name, known, n=1, cutoff=0.5)
            advice = f"Did you mean {meant[0]}?" if meant else f"There are: {', '.join(known)}."
            raise InputError(f"protect knows no '{name}'.", advice)
    return Plan(**wishes)


def _written(secret: str | SecretRule) -> object:
    if isinstance(secret, str):
        return secret
    if isinstance(secret, Secret) and secret.target_loss is None:
        return {"indices": secret.indices.tolist(), "label": secret.label, "radius_m": secret.radius_m}
    raise InputError("These secrets are a rule made in Python.", "Write it as text, e.g. windows:10min, or as indices.")


def _read(secret: object) -> str | SecretRule:
    if isinstance(secret, Mapping):
        return compound(secret["indices"], label=str(secret["label"]), radius_m=secret["radius_m"])
    return str(secret)
