"""Check a shared folder against its certificate, and say what it is worth: archives and datasets, by one verifier.

:func:`verify_folder` answers whether a folder and its certificate belong together: seal, every file's bytes, no file
beside them, words, and the noise from scratch. A certificate of 5 m of noise, of a simulation, or of files with a true
position in a comment is a true certificate, too: :func:`judge_folder` asks whether it protects, holds nothing else, and
could be a release at all, and gives the verdict that one track gets (:mod:`sfumato.tracks.certificates.verdict`). Where
places were withheld, that is the protection, and the noise on the rest is reported beside it. Of a large dataset parts
and people are looked at that a public hash chooses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow.parquet as pq

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.things.traces import PointsRead, Trace, join_traces
from sfumato.base.units import count_of
from sfumato.tracks.certificates.build import ReleasedFiles
from sfumato.tracks.certificates.clean import more_than_certified
from sfumato.tracks.certificates.document import (
    CERTIFICATE_NAME,
    SEAL,
    SIGNATURE,
    Certificate,
    with_seal,
    worst_odds,
)
from sfumato.tracks.certificates.earlier import differs, other_version
from sfumato.tracks.certificates.person_ids import StatedIds, given_among
from sfumato.tracks.certificates.roughness import (
    Answer,
    chosen_tracks,
    looked_at_words,
    plausible_release,
    public_hash,
)
from sfumato.tracks.certificates.sign import check_signer
from sfumato.tracks.certificates.verdict import (
    WITHHELD,
    Verdict,
    check_demands,
    kept_ids,
    parse_requirements,
    refusal,
    stated_verdict,
    unmet,
    unmet_parts,
)
from sfumato.tracks.certificates.verify import (
    Document,
    Verified,
    check_opening,
    check_recomputed,
    read_certificate,
    terms_of,
    verify,
    verify_files,
)
from sfumato.tracks.folders.folder_fields import CertifiedFile, FolderDocument
from sfumato.tracks.folders.rows.check_rows import check_rows
from sfumato.tracks.folders.rows.dataset import REJECTS
from sfumato.tracks.folders.staging import (
    DATASET,
    MANIFEST_NAME,
    REJECTS_NAME,
    WITHHELD_BEFORE,
    FolderStatement,
    file_sha256,
    is_folder_document,
)
from sfumato.tracks.io import read_trace
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.rows import read_rows
from sfumato.tracks.plan import Times

LOOKED_AT_ROWS = 500_000  # of a dataset
_NOTHING_STATED = "No noise is stated that it could contradict."
_TIMELESS = "Files without times are no tracks."
_CHANGED = "It was changed."


def verify_folder(
    source: str | Path | Document, folder: Path, *, signer: str | Path | None = None, ignore_wording: bool = False
) -> Verified:
    """The seal, every file's bytes, no file beside them, what is in a dataset's, the words, and the noise."""
    document = read_certificate(source)
    if not is_folder_document(document):
        raise VerificationFailed("This is not the certificate of a folder.", "Give the one that speaks of the folder.")
    if with_seal(document)[SEAL] != document.get(SEAL):
        raise VerificationFailed("The certificate's own hash does not fit its content.", _CHANGED)
    signed_by = check_signer(document, signer) if signer is not None or SIGNATURE in document else None
    checks = ["the certificate's own hash", *([] if signed_by is None else [f"the signature of {signed_by}"])]
    try:
        return _verified(document, folder, checks, ignore_wording)
    except (KeyError, TypeError, AttributeError) as error:
        raise VerificationFailed("A field of the certificate is missing or has the wrong type.", _CHANGED) from error


def _verified(document: FolderDocument, folder: Path, checks: list[str], ignore_wording: bool) -> Verified:
    dataset, notes = document["kind"] == DATASET, other_version(document, ignore_wording)
    checks.append(f"every byte of {count_of(len(document['files']), 'part' if dataset else 'file')}")
    if alone := folder.is_file():
        if [file["name"] for file in document["files"]] != [folder.name]:
            raise VerificationFailed(f"The certificate is not of {folder.name} alone.", "Give the whole folder.")
        folder = folder.parent
    checks += [] if alone else ["no file beside them"]
    _check_files(document["files"], folder, dataset=dataset, alone=alone)
    again = FolderStatement.of(document)
    if dataset:
        found, checked, noted = check_rows(document, folder, ignore_wording=ignore_wording)
        again = replace(again, people=found)
        checks, notes = checks + checked, notes + noted
        if again.document()["people"] != document["people"]:
            raise VerificationFailed(
                "The release has other people or points than the certificate says.", "Get the release again."
            )
    written = {**without_seal(again.document()), "sfumato": document["sfumato"]}
    if not ignore_wording and written != without_seal(document):
        raise differs(document) or VerificationFailed(
            "The certificate's sentences are not those of this version.",
            "It was changed.",
        )
    if (noise := document["noise"]) is not None:
        if noise["simulation"] and not document["simulation"]:
            raise VerificationFailed("The noise is a simulation and the certificate hides it.", _CHANGED)
        if noise["times"]["released"] != str(again.times):
            raise VerificationFailed("The certificate contradicts itself about times.", _CHANGED)
        held = (_noise_of_rows if dataset else _noise_of_files)(document, noise, folder, ignore_wording)
        checks, notes = checks + list(held.checks[1:]), notes + list(held.notes)
    if document["withheld"] is not None:
        notes.append("That nothing from inside the zones is left, only the holder of the places file can check.")
    return Verified(document, tuple(checks), tuple(notes), not ignore_wording)


def without_seal(document: Mapping[str, object]) -> dict[str, object]:
    """Without seal and signature."""
    return {name: value for name, value in document.items() if name not in (SIGNATURE, SEAL)}


def _check_files(files: Sequence[CertifiedFile], folder: Path, *, dataset: bool, alone: bool) -> None:
    """Every file as it was certified, and no other: beside a dataset's lie its certificate, manifest and rejects.

    Beside a file that was certified ``alone`` may lie anything.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder.", "Give the folder that holds the certified files.")
    for file in files:
        path = folder / str(file["name"])
        if not path.is_file() or file_sha256(path) != file["sha256"]:
            raise VerificationFailed(f"{file['name']} is missing or not the file that was certified.", "Get it again.")
    if alone:
        return
    listed = {folder / str(file["name"]) for file in files}
    if dataset:
        listed |= {folder / CERTIFICATE_NAME, folder / MANIFEST_NAME}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path not in listed):
        name = path.relative_to(folder).as_posix()
        if not dataset or path.parent != folder / REJECTS_NAME or path.suffix != ".parquet":
            raise VerificationFailed(f"The folder holds {name}, which the certificate does not list.", "Remove it.")
        if pq.read_schema(path).remove_metadata() != REJECTS:
            raise VerificationFailed(f"{name} holds more than rejected rows' numbers and reasons.", "Remove it.")


def _noise_of_files(document: FolderDocument, noise: Document, folder: Path, ignore_wording: bool) -> Verified:
    """The noise of an archive: its files read again, one by one or as the one path they are."""
    counted = list[PointsRead]()
    if sorted(noise["kept"]) != sorted(document["kept"]):
        raise VerificationFailed("The certificate contradicts itself about what is kept.", _CHANGED)

    def traces() -> Iterator[Trace]:
        for file in document["files"]:
            trace = read_trace(folder / str(file["name"]), keep=document["kept"], keep_if_there=True)
            counted.append(trace.points_read)
            yield trace

    if noise["several_files"]:
        shown = Times.parse(str(noise["times"]["released"])).shown
        found = verify_files(noise, traces() if shown else None, ignore_wording=ignore_wording)
    else:
        found = verify(noise, release=join_traces(list(traces())), ignore_wording=ignore_wording)
    read = PointsRead.total_of(counted)
    said = [read.sentence() or f"Read {read.read} points; none was skipped."] if read.total else []
    return replace(found, notes=(*found.notes, *said))


def _noise_of_rows(document: FolderDocument, noise: Document, folder: Path, ignore_wording: bool) -> Verified:
    """The noise of a dataset, whose rows were looked at before."""
    opened, notes = check_opening(noise, None, ignore_wording)
    contents = tuple((int(file["points"]), str(file["sha256"])) for file in document["files"])
    released = ReleasedFiles(contents, range(int(document["people"]["people"])))
    checked = check_recomputed(noise, terms_of(noise), released, {}, notes, words=not ignore_wording)
    return Verified(noise, (opened[0], checked), tuple(notes))


def judge_folder(
    source: str | Path | Document,
    folder: Path,
    *,
    signer: str | Path | None = None,
    ignore_wording: bool = False,
    require: str = "",
) -> Verdict:
    """All four answers on a folder, as :func:`~sfumato.tracks.certificates.verdict.judge` gives them on a file."""
    check_demands(require, signer)
    try:
        found = verify_folder(source, folder, signer=signer, ignore_wording=ignore_wording)
    except VerificationFailed as error:
        return refusal(error)
    document = found.certificate
    assert is_folder_document(document)
    stated, looked = _stated(document), _looked_at(document, folder.parent if folder.is_file() else folder)
    if looked.plausible is None and signer is not None:
        looked.reasons["plausible"] += " The signer you named vouches for it."
    return replace(
        stated,
        clean=looked.clean,
        plausible=looked.plausible,
        unnoticed=looked.unnoticed,
        reasons={**stated.reasons, **looked.reasons},
        wording_checked=found.wording_checked,
        checks=found.checks,
        notes=(*found.notes, *looked.notes),
        vouched=signer is not None,
        unmet=(*_unmet(require, document), *unmet_parts(require, looked.unnoticed)),
    )


def _stated(document: FolderDocument) -> Verdict:
    """What a folder's certificate says that was found unchanged."""
    noise, signature = document["noise"], dict(document).get(SIGNATURE)
    said = Verdict(True, None, None, "none", {}, releases_known=True) if noise is None else stated_verdict(noise)
    protection, why = said.protection, said.reasons.get("protection", "Nothing was withheld, and no noise is stated.")
    sentence, exact = said.sentence, list(document["kept"])
    if document["withheld"] is not None:
        rest = (
            f"Protection by the noise on the rest: {protection}. {why}"
            if noise is not None
            else "What is left is exact."
        )
        beside = "" if noise is None or protection == "as promised" else ", not against somebody who smooths the rest"
        then = WITHHELD_BEFORE[0] in document["withheld"]
        zones = "zones drawn before a file was shared" if then else "the zones"
        guess = f"somebody who looks in the files for what was inside {zones}, not who guesses where the ways out lead"
        said = replace(said, against=f"{guess}{beside}")
        if then:
            rest = f"Those named when a file was first shared. {rest}"
        protection, why, sentence = WITHHELD, rest, " ".join((document["withheld"][0], sentence)).strip()
        exact = exact if noise is not None else ["every position that is left", *exact]
        said = replace(said, releases=said.releases or "any number, with the same places file: zones are drawn once.")
    if document["simulation"]:
        protection, why = "none", "A simulation: whoever knows the seed undoes it."
    people = document["people"]["people"] if "people" in document else 1
    return replace(
        said,
        protection=protection,
        reasons={"protection": why},
        sentence=sentence,
        holds_over=said.holds_over or "whatever is known of the owner's movements outside the zones",
        exact=(*exact, *kept_ids(document.get("ids"), people)),
        signed_by=str(signature["public_key"]) if isinstance(signature, dict) else None,
        simulation=bool(document["simulation"]),
    )


def _unmet(require: str, document: FolderDocument) -> tuple[str, ...]:
    """The demands that a folder's certificate does not meet: its own signature and what it keeps, its noise's odds."""
    noise, asked, signature = document["noise"], parse_requirements(require), dict(document).get(SIGNATURE)
    people = document["people"]["people"] if "people" in document else 1
    if noise is None:
        held = [*document["kept"], *kept_ids(document.get("ids"), people)]
        out = [f"{name}: it states no noise" for name in ("odds", "radius", "class") if name in asked]
        out += [f"no-kept: it holds {', '.join(held)}"] if "no-kept" in asked and held else []
        return (*out, "signed: nobody signed it") if "signed" in asked and signature is None else tuple(out)
    if document["withheld"] is not None and "class" not in asked:  # the noise on the rest is not the protection
        require = f"{require},class=point" if require else "class=point"
    own = {"kept": document["kept"], "ids": document.get("ids"), "people": people, SIGNATURE: signature}
    record = Certificate.of(noise)
    return unmet(require, {**noise, **own}, worst=lambda at: worst_odds(record, at))


@dataclass(slots=True)
class _Looked:
    """Whether a folder is clean and plausible, with the reasons; ``notes`` say how much of it was looked at."""

    clean: Answer = True
    plausible: Answer = True
    reasons: dict[str, str] = field(default_factory=lambda: {"plausible": _NOTHING_STATED})
    notes: tuple[str, ...] = ()
    unnoticed: tuple[str, ...] = ()

    def found(self, more: str | None, name: str) -> None:
        """Something that is not clean; the first is said."""
        if more and self.clean:
            self.clean, self.reasons["clean"] = False, f"{name}: {more}"

    def hold(self, noise: Document | None, traces: Sequence[Trace], *, some: bool) -> None:
        """Hold tracks against the noise that is stated, where any is."""
        if noise is not None:
            found = plausible_release(Certificate.of(noise), traces, some=some)
            self.plausible, self.reasons["plausible"], self.unnoticed = found

    def without_times(self, *, noise: bool) -> None:
        """Without times no noise that is stated can be looked for."""
        if noise:
            self.plausible, self.reasons["plausible"] = None, _TIMELESS


def _looked_at(document: FolderDocument, folder: Path) -> _Looked:
    times = Times.parse(str(document["times"]["released"]))
    if document["kind"] == DATASET:
        return _parts_looked_at(document, folder, timed=times.shown)
    looked = _Looked()
    if not times.shown:
        looked.clean, looked.reasons["clean"] = None, _TIMELESS
        looked.without_times(noise=document["noise"] is not None)
        return looked
    traces = []
    for file in document["files"]:
        path = folder / file["name"]
        trace = read_trace(path, keep=document["kept"], keep_if_there=True, one_person=True)
        kept = [name for name in document["kept"] if name in trace.columns or name in trace.texts]
        traces.append(trace)
        looked.found(more_than_certified(path, people=1, kept=kept), file["name"])
    # One noise over all files of one person is one track, where the times are still those of one path.
    looked.hold(document["noise"], [join_traces(traces)] if traces and times.same_intervals else traces, some=False)
    return looked


def _parts_looked_at(document: FolderDocument, folder: Path, *, timed: bool) -> _Looked:
    """All parts of a dataset, or so many rows of them, by a public hash; people by a public hash, too."""
    looked, stated = _Looked(), StatedIds.of(document.get("ids"))
    chosen, rows, people = list[CertifiedFile](), 0, list[tuple[str | None, Trace]]()
    for file in sorted(document["files"], key=lambda file: public_hash(file["sha256"])):
        if rows < LOOKED_AT_ROWS:
            chosen.append(file)
            rows += file["points"]
    for file in chosen:
        path = folder / file["name"]
        schema = pq.read_schema(path)
        extra = set(schema.metadata or {}) - {b"geo", b"ARROW:schema"}
        looked.found(f"it holds notes beside its rows ({len(extra)})." if extra else None, file["name"])
        if b"bbox" in (schema.metadata or {}).get(b"geo", b""):
            looked.found("it holds a box of positions beside its rows.", file["name"])
        columns = dict(document["columns"])
        if not timed:
            continue
        layout = Layout.of(schema, columns=columns, zone="UTC", one_person="id" not in columns)
        read = read_rows(pq.read_table(path, columns=layout.needed), layout)
        if stated is not None and not stated.kept:
            looked.found(given_among(read.labels), file["name"])
        people += zip(read.labels, read.traces(), strict=True)
    longest = chosen_tracks(people)
    if not timed:
        looked.without_times(noise=document["noise"] is not None)
    else:
        looked.hold(document["noise"], longest, some=True)
    parts = len(document["files"])
    looked.notes = (f"Looked into {len(chosen)} of {parts} parts, and at {looked_at_words(longest)}.",)
    return looked
