"""Protect whatever is given: a trace, or a table of any library, which comes back as the same kind of table.

``sf.protect(df, person="cab_id", noise_m=150)`` takes pandas, GeoPandas, polars (lazy too), DuckDB, Arrow and their kin
(:mod:`sfumato.tracks.people.kinds`). ``.frame`` has the same index, names, types and ids; of other columns only those
named in ``keep`` are in it, because nobody knows what they tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Generic, Protocol, TypedDict, TypeVar, Unpack, overload

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.progress import progress
from sfumato.base.randomness import Random
from sfumato.base.shown import Shown
from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.fleet import FleetAudit, People, attacked_people, audit_fleet
from sfumato.tracks.answers.received import received_as
from sfumato.tracks.answers.usefulness.measures import MapsAsked
from sfumato.tracks.answers.usefulness.utility import Utility, shown_people, useful
from sfumato.tracks.certificates.build import certificate_body
from sfumato.tracks.certificates.document import Certificate, with_seal
from sfumato.tracks.certificates.state import NoiseState
from sfumato.tracks.certificates.verify import terms_of
from sfumato.tracks.noise.interface import Json
from sfumato.tracks.people.kinds import as_arrow, library_of, like
from sfumato.tracks.people.local import protect_arrow
from sfumato.tracks.people.protecting import ProtectedRows
from sfumato.tracks.people.protection import Protected, protect_by
from sfumato.tracks.people.rows import Rows, counted
from sfumato.tracks.plan import Plan
from sfumato.tracks.priors.kernels import Kernel
from sfumato.tracks.secret import SecretRule


class SpeaksArrow(Protocol):
    """A table that can hand its columns over: pandas, GeoPandas, polars, DuckDB, Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class IsCollected(Protocol):
    """A table that is not computed yet (polars)."""

    def collect(self) -> object: ...


Frame = TypeVar("Frame", bound=SpeaksArrow | IsCollected)


class Wishes(TypedDict, total=False):
    """What :class:`~sfumato.tracks.plan.Plan` takes, by name."""

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
    secrets: str | SecretRule | Sequence[str | SecretRule] | None


class AskedOfTrace(Wishes, total=False):
    """What :func:`protect` takes of a trace."""

    person: str | None
    state: NoiseState | str | Path | None
    passphrase: str | None
    save_state: bool
    rng: Random


class AskedOfTable(AskedOfTrace, total=False):
    """What :func:`protect` takes of a table."""

    columns: Mapping[str, str] | None
    zone: str | None
    one_person: bool
    strict: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProtectedFrame(Shown, Generic[Frame]):
    """A table that can be shared (``frame``) and its certificate; everything else here is private.

    ``dropped`` names the columns that were left behind, ``skipped`` counts the rows that could not be used, by reason.
    """

    frame: Frame
    certificate: Json
    dropped: tuple[str, ...]
    skipped: Mapping[str, int]
    rows: Rows
    done: ProtectedRows
    state: NoiseState | None = None

    def __repr__(self) -> str:
        said = Certificate.of(self.certificate)
        return f"<ProtectedFrame, {said.people} people, {said.points} points. {said.headline}>"

    @property
    def releases(self) -> People:
        """(id, track) of each person as released, each in order of time."""
        return self._people(self.done.lat_deg, self.done.lon_deg, self.done.times_ms)

    @property
    def originals(self) -> People:
        """(id, track) of each person as given, row for row beside the released ones. Private."""
        good = np.flatnonzero(self.done.faults == 0)
        at = good[np.argsort(self.rows.codes[good], kind="stable")]
        return self._people(self.rows.lat_deg[at], self.rows.lon_deg[at], self.rows.times_ms[at])

    def _people(self, lat_deg: FloatArray, lon_deg: FloatArray, times_ms: IntArray) -> People:
        names = self.done.labels if len(self.done.labels) != 1 else (None,)
        people = []
        for name, (first, end) in zip(names, pairwise(self.done.starts.tolist()), strict=True):
            at = first + np.argsort(times_ms[first:end], kind="stable")
            people.append((name, Trace(lat_deg[at], lon_deg[at], times_ms[at] / 1000.0)))
        return people

    def audit(self, *, prior: str = "fit") -> FleetAudit:
        """What an adversary who knows the mechanism still learns, person by person (``.worst``). Private."""
        originals = self.originals
        with progress("Attacking every person", len(attacked_people(len(originals)))) as step:
            return audit_fleet(originals, self.releases, self.certificate, prior=prior, step=step)

    def utility(self) -> Utility:
        """How far answers from the release are from the truth, as they are and with the noise taken out. Private."""
        releases = self.releases
        try:
            received = [received_as(releases, terms_of(self.certificate))]
        except InputError:  # a noise without one law: nothing can be taken out
            received = []
        with progress("Measuring usefulness", len(shown_people(len(releases))) + 1) as step:
            return useful(self.originals, releases, received, MapsAsked(), step)


@overload
def protect(data: Trace, **asked: Unpack[AskedOfTrace]) -> Protected: ...


@overload
def protect(data: Frame, **asked: Unpack[AskedOfTable]) -> ProtectedFrame[Frame]: ...


def protect(
    data: Trace | Frame,
    *,
    person: str | None = None,
    columns: Mapping[str, str] | None = None,
    zone: str | None = None,
    one_person: bool = False,
    strict: bool = False,
    state: NoiseState | str | Path | None = None,
    passphrase: str | None = None,
    save_state: bool = True,
    rng: Random = None,
    **wishes: Unpack[Wishes],
) -> Protected | ProtectedFrame[Frame]:
    """A trace or table that can be shared, and a certificate of what it still gives away.

    Ask with one of ``odds`` (posterior odds between two places at most ``radius_m`` apart, at any one moment, relative
    to prior odds, are at most this 99 times in 100), ``epsilon`` (Rényi, of order ``order``), ``noise_m`` or
    ``level``; nothing means odds of 5 at 200 m. ``mechanism``, ``prior_class``, ``prior``, ``redraws``,
    ``white_share``, ``constant_share``, ``snap_m``, ``times`` and ``secrets`` are those of
    :class:`~sfumato.tracks.plan.Plan`; ``keep`` names what else is released, as it is.

    Of a table, ``person`` names the column that says whose each row is, and a single column of moments is the time
    whatever its name; ``columns`` names others by role ({"lat": "Y"}), ``zone`` is the time zone of times without one,
    ``one_person`` says that all rows are one person's, ``strict`` refuses rows that cannot be used instead of leaving
    them out with a warning. Of a trace, ``person`` is the id that a ``state`` keeps this person's noise under.

    A ``state`` (or its file) makes the noise continue over releases; a new one is written to its file before this
    returns, unless ``save_state`` is False. ``rng`` is for simulations only: the release says so.
    """
    _only_known(wishes)
    plan = Plan(**wishes)
    if isinstance(data, Trace):
        if columns or zone or one_person or strict:
            raise InputError("columns, zone, one_person and strict are for tables.", "Leave them out for a trace.")
        return protect_by(plan, data, state=state, person=person, passphrase=passphrase, save_state=save_state, rng=rng)
    if not library_of(data) and not hasattr(data, "__arrow_c_stream__"):
        raise InputError(
            "That is neither a trace nor a table of points.",
            "Read files with sf.read_trace; give pandas, GeoPandas, polars, DuckDB or Arrow tables as they are.",
        )
    if person is not None and "id" in (columns or {}):
        raise InputError("The column of people is named twice.", "Give person=..., or an id among columns=....")
    roles = {**(columns or {}), **({} if person is None else {"id": person})}
    whole = as_arrow(data)
    kept = None if state is None else (state, passphrase, save_state)
    rows, done, noise = protect_arrow(
        whole, plan, columns=roles, zone=zone, one_person=one_person, strict=strict, kept=kept, rng=rng
    )
    left = tuple(name for name in whole.column_names if name not in done.table.column_names)
    return ProtectedFrame(
        frame=like(data, done.table, np.flatnonzero(done.faults == 0)),
        certificate=with_seal(certificate_body(noise.terms(), done.released())),
        dropped=left,
        skipped=counted(done.faults),
        rows=rows,
        done=done,
        state=noise.state,
    )


def _only_known(wishes: Mapping[str, object]) -> None:
    """A misspelt wish is answered with those there are: ``noise`` may have meant ``noise_m``."""
    known = [field.name for field in fields(Plan)]
    for name in wishes:
        if name not in known:
            meant = get_close_matches(name, known, n=1, cutoff=0.5)
            advice = f"Did you mean {meant[0]}?" if meant else f"There are: {', '.join(known)}."
            raise InputError(f"protect knows no '{name}'.", advice)
