"""Check a certificate against the release it speaks about: everything is recomputed, nothing is taken on trust.

The certificate's own terms (mechanism, ladder, class, radius, order, wish) and the release's times and positions are
fed to the code that writes certificates, and every field must come out the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from sfumato.base.errors import InputError, SfumatoError, VerificationFailed
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.build import (
    FORMAT,
    KIND,
    Released,
    ReleasedFiles,
    Terms,
    certificate_body,
    check_grid,
    released_of,
)
from sfumato.tracks.certificates.document import (
    SEAL,
    SIGNATURE,
    Written,
    certificate_text,
    fields_of,
    file_facts,
    refuse_other_files,
    with_seal,
)
from sfumato.tracks.certificates.earlier import as_written_then, differs, other_version
from sfumato.tracks.certificates.person_ids import StatedIds
from sfumato.tracks.io import read_trace, read_traces
from sfumato.tracks.io.draft import plain
from sfumato.tracks.io.tables.columns import NAMES
from sfumato.tracks.noise.registry import mechanism_from_dict
from sfumato.tracks.plan import Target

Document = Mapping[str, Any]  # a certificate as its JSON, before it is checked
Release = str | Path | Trace | Sequence[tuple[str | None, Trace]]  # a file, one person, or people
TOLERANCE = 1e-9  # relative; numbers are recomputed by the same formulas, perhaps on another machine
_SENTENCES = (  # all else is a number or a name, and is compared whatever the wording
    *(f"guarantee.{part}" for part in ("notion", "assumes", "covers", "not_covered", "numerics")),
    *("headline", "warnings", "releases.meaning", "releases.gap_rule", "loss_at_times_grid", "times.meaning"),
    "if_turning.meaning",
    *("secrets.statement", "secrets.limits", "secrets.loss_over_class_grid", "ids.meaning"),
)
_KINDS = "Check the file; a smoothed track's certificate is for sfumato verify --raw, or judge_smoothed."
_CHANGED = "It was changed."
_INDEX = "That is the index of a pandas frame: write it with index=False."
LOSS_TOLERANCE = 1e-6  # exact losses go through a factorisation
_FACTORISED = (
    *("loss_at_times", "stay_loss", "stay_odds_99", "secrets.loss_over_class", "secrets.odds_99_over_class"),
    *("secrets.offset_loss", "secrets.offset_odds_99"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Verified:
    """What was checked, and the certificate that passed."""

    certificate: Document
    checks: tuple[str, ...]
    notes: tuple[str, ...] = ()
    wording_checked: bool = True

    def to_dict(self) -> dict[str, object]:
        """The fields of ``verify --json``."""
        lists = {"checks": list(self.checks), "notes": list(self.notes)}
        return {"ok": True, "wording_checked": self.wording_checked, **lists}


def read_certificate(source: str | Path | Written) -> dict[str, Any]:
    """The certificate in a file, or a mapping as it is."""
    if isinstance(source, Mapping):
        return dict(source)
    path = Path(source)
    try:
        value = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.", "Give the certificate's file.") from error
    except ValueError as error:
        refuse_other_files(path)
        raise VerificationFailed("The certificate is not valid JSON.", "It was changed or cut off.") from error
    if not isinstance(value, dict):
        raise VerificationFailed("The certificate is not a JSON object.", "It was changed or cut off.")
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def verify(
    source: str | Path | Written,
    *,
    release: Release,
    format: str | None = None,
    signer: str | Path | None = None,
    ignore_wording: bool = False,
) -> Verified:
    """Recompute everything from certificate + release; :class:`VerificationFailed` with the reason if they disagree.

    ``signer`` (a public key in base64, or its PEM file) demands a valid signature by that key. Sentences of 0.2.0 are
    written again as it wrote them, and what it did not say is noted; another version is refused. ``ignore_wording``
    checks the numbers only, and then no sentence of the certificate has been checked.
    """
    document = read_certificate(source)
    checks, notes = check_opening(document, signer, ignore_wording)
    if isinstance(source, str | Path) and Path(source).read_bytes() != certificate_text(document).encode():
        raise VerificationFailed(
            "The certificate's text is not what was written, though it means the same.", "A byte of it was changed."
        )
    recorded = document.get("release")
    if not isinstance(recorded, dict):
        raise VerificationFailed("The certificate names no release.", _CHANGED)
    file = {key: value for key, value in recorded.items() if key != "content_sha256"}
    if isinstance(release, str | Path):
        file = file_facts(release) if "file_sha256" in recorded else {}
        if file and file["file_sha256"] != recorded["file_sha256"]:
            raise VerificationFailed(
                "The release is not the file that was certified: its bytes differ.", "Use the original file."
            )
        checks += ["every byte of the release"] if file else []
    people = people_of(release, document, format=format)
    released = released_of(people)
    if released.digest() != recorded.get("content_sha256"):
        raise VerificationFailed(
            "The release's positions or times are not those that were certified.", "Use the original release."
        )
    checks.append("positions and times of the release")
    terms = terms_of(document)
    _check_kept(people, terms.kept)
    check_grid(released, terms.snap_m)
    checks.append(f"positions on the public {terms.snap_m:g} m grid")
    checks.append(check_recomputed(document, terms, released, file, notes, words=not ignore_wording))
    return Verified(document, tuple(checks), tuple(notes), not ignore_wording)


def verify_files(document: Written, traces: Iterable[Trace] | None, *, ignore_wording: bool) -> Verified:
    """:func:`verify` for the noise of an archive, file by file; ``traces`` is None where the files show no times.

    Files without times cannot be read as tracks: then positions are what the hashes of the files vouch for, and only
    what the certificate says is recomputed.
    """
    checks, notes = check_opening(document, None, ignore_wording)
    terms = terms_of(document)
    if not terms.several_files:
        raise VerificationFailed("The certificate speaks of one track, not of files.", _CHANGED)
    stated: dict[str, object] = {}
    content = fields_of(document)["release"]["content_sha256"]
    if traces is None:
        released = ReleasedFiles(((fields_of(document)["points"], ""),))
        stated = {"content_sha256": content}
        notes.append("Files without times are no tracks: their bytes were checked, positions were not read again.")
    else:
        contents = []
        for trace in traces:
            one = released_of([(None, trace)])
            _check_kept([(None, trace)], terms.kept)
            check_grid(one, terms.snap_m)
            contents.append((one.points, one.digest()))
        released = ReleasedFiles(tuple(contents))
        if released.digest() != content:
            raise VerificationFailed(
                "The files' positions or times are not those that were certified.", "Use the original files."
            )
        checks += ["positions and times of every file", f"positions on the public {terms.snap_m:g} m grid"]
    checks.append(check_recomputed(document, terms, released, stated, notes, words=not ignore_wording))
    return Verified(document, tuple(checks), tuple(notes), not ignore_wording)


def check_opening(
    document: Written, signer: str | Path | None, ignore_wording: bool, *, kind: str = KIND, format: int = FORMAT
) -> tuple[list[str], list[str]]:
    """Seal, signature and version: what was checked, and what should be noted."""
    checks, notes = ["the certificate's own hash"], []
    _check_seal(document, kind, format)
    signed_by = _checked_signer(document, signer)
    if signed_by is not None:
        checks.append(f"the signature of {signed_by}")
    notes += other_version(document, ignore_wording)
    if ignore_wording:
        notes.append("No sentence of the certificate was checked: believe its numbers only.")
    return checks, notes


def check_recomputed(
    document: Written,
    terms: Terms,
    released: Released | ReleasedFiles,
    file: Written,
    notes: list[str],
    *,
    words: bool,
) -> str:
    """Every field built again from the terms and the release, and compared."""
    try:
        again = certificate_body(terms, released)
    except SfumatoError as error:
        raise VerificationFailed(f"The certificate's terms do not hold: {error.what}", error.advice) from error
    except (ArithmeticError, ValueError, TypeError) as error:
        raise VerificationFailed("The certificate's terms do not hold: a number is beyond use.", _CHANGED) from error
    then, unsaid = as_written_then(document, again, words)
    notes += unsaid
    then |= {"sfumato": document["sfumato"], "release": {**again["release"], **file}}
    unsealed = {name: value for name, value in document.items() if name not in (SIGNATURE, SEAL)}
    _compare(then, unsealed, words=False)
    if words:
        try:
            _compare(then, unsealed)
        except VerificationFailed as error:
            raise differs(document) or error from None
    return f"universal bound, losses, epsilon, delta, odds{' and every sentence' if words else ''}, recomputed"


def _checked_signer(document: Written, signer: str | Path | None) -> str | None:
    if SIGNATURE not in document and signer is None:
        return None
    # The cipher's library loads only where there is a signature.
    from sfumato.tracks.certificates.sign import check_signer

    return check_signer(document, signer)


def check_belongs(document: Written, release: Trace) -> None:
    """Refuse a certificate that was changed, or that speaks about another release than this one."""
    check_whole(document, released_of([(None, release)]).digest())


def open_release(
    source: str | Path | Written,
    release: Release,
    *,
    format: str | None = None,
) -> tuple[Terms, list[tuple[str | None, Trace]]]:
    """The terms of a certificate that is whole, and the people of the very release it was written for.

    Enough for a receiver who only computes with the law of the noise; whether the promise holds is :func:`verify`'s.
    """
    document = read_certificate(source)
    _check_seal(document)
    people = people_of(release, document, format=format)
    check_whole(document, released_of(people).digest())
    return terms_of(document), people


def check_whole(document: Written, content_sha256: str) -> None:
    """Refuse a certificate that was changed, or that is of another release than the one with this digest."""
    _check_seal(document)
    recorded = document.get("release")
    if not isinstance(recorded, dict) or content_sha256 != recorded.get("content_sha256"):
        raise VerificationFailed(
            "The certificate is not this release's: positions or times differ.", "Give the certificate it came with."
        )


def people_of(
    release: Release,
    document: Written,
    *,
    format: str | None = None,
) -> list[tuple[str | None, Trace]]:
    """The people of a release, read where it is a file."""
    if isinstance(release, Trace):
        return [(None, release)]
    if isinstance(release, str | Path):
        columns, fleet = id_column(document.get("ids")), document.get("people") != 1
        return read_release(release, fleet=fleet, format=format, columns=columns)
    return list(release)


def id_column(ids: object) -> dict[str, str] | None:
    """The column of people that a certificate's ``ids`` name, where its name does not say that it is one."""
    name = ids.get("column") if isinstance(ids, dict) else None
    return {"id": name} if isinstance(name, str) and plain(name) not in NAMES["id"] else None


def read_release(
    path: str | Path, *, fleet: bool, format: str | None = None, columns: Mapping[str, str] | None = None
) -> list[tuple[str | None, Trace]]:
    """The people of a released file."""
    try:
        if fleet:
            return list(read_traces(path, format=format, columns=columns))
        return [(None, read_trace(path, format=format, one_person=True))]
    except InputError as error:
        raise VerificationFailed(f"The release cannot be read: {error.what}", error.advice) from error


def _check_seal(document: Written, kind: str = KIND, format: int = FORMAT) -> None:
    if document.get("format") != format or document.get("kind") != kind:
        raise VerificationFailed("This is not a sfumato trace certificate of a known format.", _KINDS)
    try:
        expected = with_seal(document)[SEAL]
    except (TypeError, ValueError) as error:
        raise VerificationFailed("The certificate cannot be read.", _CHANGED) from error
    if document.get(SEAL) != expected:
        raise VerificationFailed("The certificate's own hash does not fit its content.", _CHANGED)


def terms_of(document: Written) -> Terms:
    """The terms that a certificate states."""
    try:
        fields = fields_of(document)
        wish, mechanism = fields["target"], mechanism_from_dict(fields["parameters"])
        return Terms(
            mechanism=mechanism,
            target=Target(
                radius_m=float(fields["radius_m"]),
                odds=wish["odds"],
                epsilon=wish["epsilon"],
                noise_m=wish["noise_m"],
                order=float(fields["order"]),
            ),
            snap_m=float(fields["snap_m"]),
            randomness_source=str(fields["randomness"]),
            simulation=bool(fields["simulation"]),
            kept=tuple(fields["kept"]),
            times=str(fields["times"]["released"]) if "times" in fields else "keep",
            several_files=bool(fields.get("several_files", False)),
            ids=StatedIds.of(fields.get("ids")),
            columns=tuple(fields.get("columns", ())),
        )
    except VerificationFailed:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        reason = error.what if isinstance(error, SfumatoError) else "a field is missing or has the wrong type"
        raise VerificationFailed(f"The certificate's terms cannot be used: {reason}.", _CHANGED) from error


def _check_kept(people: Sequence[tuple[str | None, Trace]], kept: Sequence[str]) -> None:
    """What the release holds beside positions and times must be named in the certificate."""
    held = {str(name) for _, trace in people for name in (*trace.dropped, *trace.columns, *trace.texts)}
    if unnamed := sorted(held - set(kept)):
        index = any(not name or name.startswith("__index_level_") for name in unnamed)
        told = ", ".join(name or "a column without a name" for name in unnamed)
        raise VerificationFailed(
            f"The release also holds {told}, which the certificate does not name as kept.",
            _INDEX if index else "One of the two files was changed.",
        )


def _compare(expected: object, found: object, where: str = "", *, words: bool = True) -> None:
    """Field by field; the first disagreement is the reason. Without ``words`` sentences may differ, numbers not."""
    if not words and where in _SENTENCES and _sentences(expected) and _sentences(found):
        return
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted(expected.keys() | found.keys()):
            name = f"{where}.{key}" if where else key
            if key not in found or key not in expected:
                raise VerificationFailed(f"The field '{name}' is {'missing' if key not in found else 'not known'}.")
            _compare(expected[key], found[key], name, words=words)
        return
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, (one, other) in enumerate(zip(expected, found, strict=True)):
            _compare(one, other, f"{where}[{index}]", words=words)
        return
    if _number(expected) and _number(found):
        allowed = LOSS_TOLERANCE if where in _FACTORISED else TOLERANCE
        if abs(expected - found) <= allowed * max(abs(expected), abs(found)):
            return
    elif type(expected) is type(found) and expected == found:
        return
    raise VerificationFailed(
        f"The field '{where}' says {found!r}; recomputed it is {expected!r}.", "The certificate was changed."
    )


def _sentences(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
