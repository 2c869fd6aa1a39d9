"""The verdict on a release and its certificate: unchanged, clean, plausible, protected; and what else matters.

:func:`~sfumato.tracks.certificates.verify.verify` answers whether two files belong together. That is not yet
protection: a certificate of 5 m of noise, of a simulation, or of an original that was sealed as a release is a true
certificate. The verdict asks the four questions one after the other and says "good" only where all four are answered
yes.

*Protection* is judged by the worst of the odds the certificate states (moments, one place stayed at, chosen secrets
over their class, one point), at the stated radius or 100 m, whichever is more, so that a tiny radius cannot flatter.
Under a Gaussian loss μ is linear in the radius; under geo-indistinguishability the logarithm of the odds is.

A reader may require more: ``odds=5,radius=200m,class=day,no-kept,signed,releases,parts``. A promise for each point of
a track on its own, for one prior, or over a class that is not shipped is good only where that is required by name
(``class=point``, ``prior``, ``custom``): whoever smooths a track is not the adversary of the first two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from sfumato.base.errors import InputError, OtherVersion, VerificationFailed
from sfumato.base.things.traces import PointsRead
from sfumato.base.units import length_m
from sfumato.tracks.certificates.clean import more_than_certified
from sfumato.tracks.certificates.document import (
    LEAST_RADIUS_M,
    Certificate,
    CertificateFields,
    Written,
    fields_of,
    key_words,
    stated_protection,
    worst_odds,
)
from sfumato.tracks.certificates.person_ids import StatedIds, given_among
from sfumato.tracks.certificates.roughness import (
    LOOKED_AT_PEOPLE,
    Answer,
    chosen_tracks,
    looked_at_words,
    plausible_release,
    shared_moments,
)
from sfumato.tracks.certificates.verify import Release, id_column, people_of, verify
from sfumato.tracks.priors.classes import PRIOR_CLASSES

_WIDTHS = ("point", "prior", "custom", *PRIOR_CLASSES)  # what a promise may hold over, from the narrowest
WITHHELD = "places withheld"  # the protection of a folder that nothing inside the zones is in
_VALUED, _PLAIN = ("odds", "radius", "class"), ("no-kept", "signed", "releases", "parts")
_ADVICE = "For instance --require odds=5,radius=200m,class=day,no-kept,signed,releases,parts."


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """Four answers with their reasons, and what is reported beside them; ``ok`` where all four are yes."""

    unchanged: Answer
    clean: Answer
    plausible: Answer
    protection: str
    reasons: Mapping[str, str]
    worst_odds: float | None = None
    at_radius_m: float | None = None
    sentence: str = ""
    holds_over: str = ""
    exact: tuple[str, ...] = ()
    signed_by: str | None = None
    releases: str = ""
    releases_known: bool = False
    simulation: bool = False
    wording_checked: bool = False
    checks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()
    points_read: PointsRead | None = None
    vouched: bool = False
    against: str = ""
    shared: str = ""
    unnoticed: tuple[str, ...] = ()  # parts of a track that could be as they were, and nobody would see it

    @property
    def ok(self) -> bool:
        """Unchanged, clean, plausible (vouched for where that cannot be told), protected, and all that is required."""
        return self._but_plausible and (self.plausible is True or (self.plausible is None and self.vouched))

    @property
    def _but_plausible(self) -> bool:
        """All that ``ok`` asks, but whether the positions could hold the noise."""
        held = self.unchanged is True and self.clean is True and self.protection in ("as promised", WITHHELD)
        return held and not self.unmet

    def to_dict(self) -> dict[str, object]:
        """The fields of ``verify --json``."""
        said = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "points_read"}
        lists = {name: list(value) for name, value in said.items() if isinstance(value, tuple)}
        out: dict[str, object] = {"ok": self.ok, **said, **lists, "reasons": dict(self.reasons)}
        if self.points_read is not None:
            out["points_read"] = self.points_read.to_dict()
        if not self.unchanged:
            out["error"] = self.reasons["unchanged"]
        return out

    def head(self) -> str:
        """Good or not, in one sentence."""
        if self.unchanged is None:
            return "NOT CHECKED: another version of sfumato wrote this certificate."
        if self._but_plausible and self.plausible is None and not self.vouched:
            return "CANNOT BE TOLD: do not rely on this release before what is missing is there."
        if not self.ok:
            return "NOT GOOD: do not rely on this release."
        if not self.wording_checked:
            return "The numbers hold; the wording was not checked."
        trust = "signed by whom you named" if self.vouched else "if you trust who sent it"
        plausible = ("plausible as a whole" if self.unnoticed else "plausible") if self.plausible else "vouched for"
        return f"Good, {trust}: unchanged, clean, {plausible}, and protected against {self.against}."

    def rows(self) -> list[tuple[str, str]]:
        """What was asked and what was found, in the order in which people read it."""
        rows = [("Beware", self.shared)] if self.shared else []
        rows += [
            ("Unchanged?", _word(self.unchanged, self.reasons.get("unchanged"))),
            ("Clean?", _word(self.clean, self.reasons.get("clean"))),
            ("Plausible?", _word(self.plausible, self.reasons.get("plausible"))),
            ("Protection", f"{self.protection}. {self.reasons.get('protection', '')}".strip()),
        ]
        if self.unchanged:
            rows += [
                ("Promise", self.sentence),
                ("It holds over", self.holds_over),
                ("Also in it, exact", ", ".join(self.exact) or "nothing but times, gaps and the number of points"),
                ("Signed by", "nobody: whoever can rewrite both files can seal them again")
                if self.signed_by is None
                else ("Signed by", f"{key_words(self.signed_by)} ({self.signed_by})"),
                ("Releases", self.releases),
            ]
        if self.points_read is not None:
            rows.append(("Points", self.points_read.sentence() or f"Read {self.points_read.read}; none was skipped."))
        return rows + [("Required, not met", text) for text in self.unmet]

    def lines(self) -> list[str]:
        """The verdict as text, one answer a line."""
        return [self.head(), *(f"  {label:<18} {text}" for label, text in self.rows())]


def kept_ids(said: object, people: int) -> list[str]:
    """Ids as they were given, among what is exact; where a certificate says nothing of them, it is of 0.2.0."""
    stated = StatedIds.of(said)
    if stated is None:
        return ["ids, of which the certificate says nothing"] if people > 1 else []
    return [f"ids as they were given ({stated.column})"] if stated.kept else []


def _word(answer: Answer, reason: str | None) -> str:
    word = {True: "yes", False: "NO", None: "cannot be told"}[answer]
    return f"{word}. {reason}" if reason else word


def refusal(error: VerificationFailed) -> Verdict:
    """The verdict where something disagrees; what another version wrote is not called changed."""
    why = f"{error.what} {error.advice or ''}".strip()
    if isinstance(error, OtherVersion):
        return Verdict(None, None, None, "cannot be told", {"unchanged": why})
    return Verdict(False, None, None, "none", {"unchanged": why, "protection": "What was changed promises nothing."})


def judge(
    source: str | Path | Written,
    *,
    release: Release,
    format: str | None = None,
    signer: str | Path | None = None,
    ignore_wording: bool = False,
    require: str = "",
) -> Verdict:
    """All four answers. A changed file is answered, not raised; ``require`` is as in ``verify --require``."""
    check_demands(require, signer)
    try:
        found = verify(source, release=release, format=format, signer=signer, ignore_wording=ignore_wording)
    except VerificationFailed as error:
        return refusal(error)
    document, record = found.certificate, Certificate.of(found.certificate)
    verdict = stated_verdict(document)
    reasons = dict(verdict.reasons)
    clean: bool = True
    if isinstance(release, str | Path):
        named = id_column(document.get("ids"))
        more = more_than_certified(Path(release), people=record.people, kept=record.kept, format=format, columns=named)
        clean = more is None
        reasons |= {} if more is None else {"clean": more}
    people = people_of(release, document, format=format)
    stated = StatedIds.of(document.get("ids"))
    if clean and stated is not None and not stated.kept and (given := given_among([person for person, _ in people])):
        clean, reasons["clean"] = False, given
    many = len(people) > LOOKED_AT_PEOPLE
    looked_at = chosen_tracks(people) if many else [trace for _, trace in people]
    plausible, why, unnoticed = plausible_release(record, looked_at, some=many)
    if plausible is None and signer is not None:
        why += " The signer you named vouches for it."
    reasons |= {"plausible": why} if why else {}
    return replace(
        verdict,
        clean=clean,
        plausible=plausible,
        unnoticed=unnoticed,
        reasons=reasons,
        wording_checked=found.wording_checked,
        checks=found.checks,
        notes=(*found.notes, *([f"Looked at {looked_at_words(looked_at)}."] if many else [])),
        points_read=PointsRead.of(trace for _, trace in people),
        vouched=signer is not None,
        shared=shared_moments(record, [trace for _, trace in people]),
        unmet=(*unmet(require, document, worst=lambda at: worst_odds(record, at)), *unmet_parts(require, unnoticed)),
    )


def check_demands(require: str, signer: str | Path | None) -> None:
    """Refuse demands that are none, and a signature of nobody in particular."""
    if "signed" in parse_requirements(require) and signer is None:
        raise InputError(
            "A signature is required, and nobody says whose.",
            "Name the signer whom you trust: --signer with their public key, or its words (sfumato keys show).",
        )


def stated_verdict(document: Written) -> Verdict:
    """What a certificate says that was found unchanged; whether the release is clean and plausible is not yet told."""
    record = Certificate.of(document)
    odds, radius_m = worst_odds(record), max(record.stated.numbers.radius_m, LEAST_RADIUS_M)
    protection, why = stated_protection(record, odds, radius_m)
    fields = fields_of(document)
    mode, signature = fields["releases"], fields.get("signature")
    known = _counted(mode)
    return Verdict(
        unchanged=True,
        clean=None,
        plausible=None,
        protection=protection,
        reasons={"protection": why},
        worst_odds=odds if odds is not None and math.isfinite(odds) else None,
        at_radius_m=radius_m,
        sentence=record.headline,
        holds_over=_class_words(document),
        against=_AGAINST[_WIDTHS[_width(fields)]].format(_class_words(document)),
        exact=(*record.kept, *kept_ids(fields.get("ids"), record.people)),
        signed_by=None if not signature else str(signature["public_key"]),
        releases=("" if known else "an unknown number. ") + str(mode["meaning"]),
        releases_known=known,
        simulation=record.simulation,
    )


def _counted(mode: Mapping[str, str | int | float]) -> bool:
    """Whether it is known of how many releases this is one."""
    return mode["mode"] != "redrawn" or int(mode.get("redraws", 1)) > 1


_AGAINST = {
    "point": "somebody who sees one point of it and nothing else",
    "prior": "somebody who believes that people move in one certain way, and nobody else",
    "custom": "somebody who smooths it and knows how people move, over {}",
    **dict.fromkeys(PRIOR_CLASSES, "somebody who smooths it and knows how people move, over {}"),
}


def _width(fields: CertificateFields) -> int:
    """How much the promise holds over, by its place among :data:`_WIDTHS`; without an offset no class is shipped."""
    members = fields.get("prior_class")
    if members is not None:
        return _WIDTHS.index(members["name"] if members["name"] in PRIOR_CLASSES else "custom")
    if fields.get("prior") is not None:
        return _WIDTHS.index("prior")
    return 0 if fields["points"] > fields["people"] else len(_WIDTHS) - 1  # single points are no track


def _class_words(document: Written) -> str:
    fields = fields_of(document)
    members = fields.get("prior_class")
    if members is None:
        one = fields.get("prior") is not None
        return "one prior only, no class" if one else "no class of movements: each point on its own"
    if members["name"] == "custom":
        return "a hand-made class, none of day, week or year"
    return f"the class {members['name']}"


def unmet_parts(require: str, unnoticed: Sequence[str]) -> tuple[str, ...]:
    """The demand that no part of a track could be as it was."""
    asked = "parts" in parse_requirements(require)
    return (f"parts: not noticed would be {' or '.join(unnoticed)}",) if asked and unnoticed else ()


def parse_requirements(text: str) -> dict[str, str]:
    """The demands by name; an unknown one is refused, so that a slip of the pen never passes for a check."""
    asked: dict[str, str] = {}
    for part in (piece.strip() for piece in text.split(",") if text):
        name, equals, value = part.partition("=")
        if name in asked or (name not in _VALUED if equals else name not in _PLAIN) or (equals and not value):
            raise InputError(f"'{part}' cannot be required.", _ADVICE)
        asked[name] = value
    if "class" in asked and asked["class"] not in _WIDTHS:
        raise InputError(f"There is no class '{asked['class']}'.", f"From the narrowest: {', '.join(_WIDTHS)}.")
    if "odds" in asked:
        try:
            if not float(asked["odds"]) > 1:
                raise ValueError
        except ValueError:
            raise InputError("The odds required are not a number above 1.", _ADVICE) from None
    return asked


def unmet(text: str, document: Written, *, worst: Callable[[float | None], float | None]) -> tuple[str, ...]:
    """Which demands the certificate does not meet; ``worst`` gives its worst odds at a radius."""
    asked, fields = parse_requirements(text), fields_of(document)
    out: list[str] = []
    radius_m = length_m(asked["radius"]) if "radius" in asked else None
    if radius_m is not None and "odds" not in asked and float(fields["radius_m"]) < radius_m * (1 - 1e-9):
        out.append(f"radius={asked['radius']}: it promises {fields['radius_m']:g} m")
    if "odds" in asked:
        odds = worst(radius_m)
        if odds is None or not odds <= float(asked["odds"]) * (1 + 1e-6):
            at = "" if radius_m is None else f" at {asked['radius']}"
            out.append(f"odds={asked['odds']}{at}: it states {'none' if odds is None else f'{odds:.4g}'}")
    width, least = _width(fields), _WIDTHS.index(asked.get("class", "day"))
    if width < least:
        name = _WIDTHS[width]
        enough = "" if "class" in asked else f"; if that is enough for you, --require class={name}"
        wanted = f"class={asked['class']}" if "class" in asked else "class"
        out.append(f"{wanted}: it holds over {_class_words(document)}{enough}")
    held = [*fields["kept"], *kept_ids(fields.get("ids"), fields["people"])]
    if "no-kept" in asked and held:
        out.append(f"no-kept: it holds {', '.join(held)}")
    if "signed" in asked and not fields.get("signature"):
        out.append("signed: nobody signed it")
    if "releases" in asked and not _counted(fields["releases"]):
        out.append("releases: of how many releases this is one, nobody knows")
    return tuple(out)
