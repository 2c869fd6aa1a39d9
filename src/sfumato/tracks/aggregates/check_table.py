"""Is a published table unchanged, does it keep its own rules, and does its noise cost what it says?

What can be recomputed from the certificate alone is: ε and δ from bounds, scales and thresholds, the least count that
may be shown, every sentence. That noise of that size was drawn, or people bounded, leaves no trace in a table: who
published it must be believed, so it is *vouched for* by a signer whom the reader names, or cannot be told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict, Unpack, cast

import numpy as np
import pyarrow as pa

from sfumato.base.arrays import jsonable
from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.numbers.odds import AS_PROMISED, HARDLY_ANY
from sfumato.base.units import plain_number
from sfumato.tracks.aggregates.noise_law import UseOfData, chance_of
from sfumato.tracks.aggregates.public_table import KIND, TableTerms, guarantee_of, notes_of
from sfumato.tracks.answers.answer_files import PLACES, read_answer
from sfumato.tracks.certificates.document import Written, fields_of, file_facts
from sfumato.tracks.certificates.verdict import Verdict, check_demands, parse_requirements, refusal
from sfumato.tracks.certificates.verify import check_opening, read_certificate

_ROUNDING = 1e-9
_UNTOLD = "Noise leaves no trace in a table: that it was drawn, and people bounded, only its publisher can say."


class TableDemands(TypedDict, total=False):
    """What ``verify`` demands of a table."""

    signer: str | Path | None
    ignore_wording: bool
    require: str


def judge_table(source: str | Path | Written, *, release: Path, **asked: Unpack[TableDemands]) -> Verdict:
    """The verdict on a table and its certificate."""
    signer, require = asked.get("signer"), asked.get("require", "")
    ignore_wording = asked.get("ignore_wording", False)
    check_demands(require, signer)
    try:
        document = read_certificate(source)
        checks, notes = check_opening(document, signer, ignore_wording, kind=KIND, format=1)
        terms = cast(TableTerms, document)
        epsilon, delta = _checked_cost(terms)
        _check_said(document, terms, ignore_wording)
        _check_file(document, release)
        wrong = _broken_rule(terms, read_answer(release))
    except VerificationFailed as error:
        return refusal(error)
    except (KeyError, TypeError, ValueError, AttributeError, LookupError) as error:
        if isinstance(error, InputError):
            return refusal(VerificationFailed(error.what, error.advice))
        return refusal(VerificationFailed("The certificate lacks what a table's says.", "It was changed."))
    promise, odds = guarantee_of(terms), math.exp(min(epsilon, 700.0))
    protection = "as promised" if odds <= AS_PROMISED else "hardly any" if odds <= HARDLY_ANY else "none"
    why = f"The odds that one person is in the data, with everything they did, move by {plain_number(odds)} at most."
    if terms["simulation"]:
        protection, why = "none", "A simulation: whoever knows the seed takes the noise away."
    ledger, signature = terms["ledger"], fields_of(document).get("signature")
    known = ledger is not None
    return Verdict(
        unchanged=True,
        clean=wrong is None,
        plausible=None,
        protection=protection,
        reasons={
            "plausible": _UNTOLD + (" The signer you named vouches for it." if signer else ""),
            "protection": why,
            **({} if wrong is None else {"clean": wrong}),
        },
        worst_odds=odds if math.isfinite(odds) else None,
        sentence=f"{promise.notion}: {promise.covers[0]}.",
        holds_over="whatever anybody knows beforehand",
        against="somebody who knows everybody else's rows",
        exact=("what the certificate says of how it was made",),
        signed_by=None if not signature else str(signature["public_key"]),
        releases=f"{ledger['releases']} in the holder's ledger, ε = {ledger['epsilon']:g} together"
        if ledger is not None
        else "an unknown number: what else is published about the same people adds to ε.",
        releases_known=known,
        simulation=terms["simulation"],
        wording_checked=not ignore_wording,
        checks=(*checks, "ε and δ, from bounds, scales and thresholds", "the table's own rules"),
        notes=(*notes, *notes_of(terms), f"ε = {epsilon:.4g}, δ = {delta:.2g}"),
        vouched=signer is not None,
        unmet=_unmet(require, odds, known, signed=bool(signature)),
    )


def _checked_cost(terms: TableTerms) -> tuple[float, float]:
    uses = [UseOfData(**use) for use in terms["spent"]]  # type: ignore[arg-type]
    for use in uses:
        if not (use.bound >= 1 and math.isfinite(use.scale) and use.scale > 0):
            raise VerificationFailed("A use of the data has no bound or no noise.", "The certificate was changed.")
        if use.bound / use.scale > use.epsilon * (1 + _ROUNDING) or chance_of(use) > use.delta * (1 + _ROUNDING):
            raise VerificationFailed(
                f"Noise of scale {use.scale:g} on '{use.what}' costs more than it says.", "The certificate was changed."
            )
        if use.what != "the bound" and use.bound != terms["bound"]:
            raise VerificationFailed("Noise was set for another bound than it says.", "The certificate was changed.")
    if not uses:
        raise VerificationFailed("No use of the data is stated.", "The certificate was changed.")
    return math.fsum(use.epsilon for use in uses), math.fsum(use.delta for use in uses)


def _check_said(document: Written, terms: TableTerms, ignore_wording: bool) -> None:
    said, again = document["guarantee"], jsonable(guarantee_of(terms).to_dict())
    if not isinstance(said, Mapping):
        raise VerificationFailed("The promise is missing.", "The certificate was changed.")
    same = said["parameters"] == again["parameters"] and said["simulation"] == again["simulation"]
    if not same or (not ignore_wording and (said != again or document["notes"] != list(notes_of(terms)))):
        raise VerificationFailed("The promise is not that of its own numbers.", "The certificate was changed.")


def _check_file(document: Written, release: Path) -> None:
    if document["release"] != file_facts(release):
        raise VerificationFailed(
            "The certificate belongs to another table: its bytes differ.", "Give the table it came with."
        )


def _broken_rule(terms: TableTerms, table: pa.Table) -> str | None:
    """What the table holds against its own rules."""
    names, stated = set(table.column_names) - {"geometry"}, set(terms["columns"])
    if names not in (stated, stated - set(PLACES)) or table.num_rows != terms["rows"]:
        return "Its columns or rows are not those of the certificate."
    count, low, high = (
        table[name].cast(pa.float64()).to_numpy(zero_copy_only=False) for name in ("count", "low", "high")
    )
    blank = np.isnan(count)
    if (
        (count[~blank] < terms["least"]).any()
        or not (np.isnan(low) == blank).all()
        or not (np.isnan(high) == blank).all()
    ):
        return f"It shows counts below {terms['least']}."
    if not ((low <= count) & (count <= high) & (low >= 0))[~blank].all():
        return "A count lies outside its interval."
    total = terms["total"]
    if total is not None and count[~blank].sum() > total + _ROUNDING:
        return "Its counts are more than all together."
    return None


def _unmet(require: str, odds: float, known: bool, *, signed: bool) -> tuple[str, ...]:
    asked = parse_requirements(require)
    out = []
    if "odds" in asked and odds > float(asked["odds"]) * (1 + _ROUNDING):
        out.append(f"odds={asked['odds']}: it states {odds:.4g}")
    if "signed" in asked and not signed:
        out.append("signed: nobody signed it")
    if "releases" in asked and not known:
        out.append("releases: of how many releases this is one, nobody knows")
    return tuple(out)
