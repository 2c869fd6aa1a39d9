"""Check a shared folder against its certificate, and say what it is worth: archives and datasets, by one verifier.

:func:`verify_folder` answers whether a folder and its certificate belong together: seal, every file's bytes, no file
beside them, words, and the noise from scratch. A certificate of 5 m of noise, of a simulation, or of files with a true
position in a comment is a true certificate, too: :func:`judge_folder` asks whether it protects, holds nothing else, and
could be a release at all. As for one track (:mod:`sfumato.tracks.certificates.verdict`), with two differences: where
places were withheld, that is the protection, and the noise on the rest is reported beside it; and what cannot be told
(files without times, files of few points, the parts of a dataset) is said and does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.things.traces import PointsRead, Trace, join_traces
from sfumato.base.units import count_of
from sfumato.tracks.certificates.build import ReleasedFiles
from sfumato.tracks.certificates.clean import more_than_certified
from sfumato.tracks.certificates.document import SEAL, SIGNATURE, Certificate, with_seal
from sfumato.tracks.certificates.sign import check_signer
from sfumato.tracks.certificates.verdict import Answer, plausible_release, stated_verdict
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
from sfumato.tracks.folders.rows.check_rows import check_rows
from sfumato.tracks.folders.rows.dataset import REJECTS
from sfumato.tracks.folders.staging import (
    CERTIFICATE_NAME,
    DATASET,
    MANIFEST_NAME,
    REJECTS_NAME,
    WITHHELD_BEFORE,
    CertifiedFile,
    FolderDocument,
    FolderStatement,
    file_sha256,
    is_folder_document,
)
from sfumato.tracks.io import read_trace
from sfumato.tracks.times_released import Times

_UNTESTED = "Parts of a dataset are not tested for this."
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
    dataset, notes = document["kind"] == DATASET, list[str]()
    _check_files(document["files"], folder, dataset=dataset)
    checks += [
        f"every byte of {count_of(len(document['files']), 'part' if dataset else 'file')}",
        "no file beside them",
    ]
    again = FolderStatement.of(document)
    if dataset:
        found, checked, noted = check_rows(document, folder, ignore_wording=ignore_wording)
        again = replace(again, people=found)
        checks, notes = checks + checked, notes + noted
        if again.document()["people"] != document["people"]:
            raise VerificationFailed(
                "The release has other people or points than the certificate says.", "Get the release again."
            )
    if not ignore_wording and without_seal(again.document()) != without_seal(document):
        raise VerificationFailed(
            "The certificate's sentences are not those of this version.",
            "It was changed or made by another version: --ignore-wording checks files and noise only.",
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


def _check_files(files: Sequence[CertifiedFile], folder: Path, *, dataset: bool) -> None:
    """Every file as it was certified, and no other: beside a dataset's lie its certificate, manifest and rejects."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder.", "Give the folder that holds the certified files.")
    for file in files:
        path = folder / str(file["name"])
        if not path.is_file() or file_sha256(path) != file["sha256"]:
            raise VerificationFailed(f"{file['name']} is missing or not the file that was certified.", "Get it again.")
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


@dataclass(frozen=True, slots=True)
class FolderVerdict:
    """``protection`` is *as promised*, *places withheld*, *hardly any* or *none*; the words say why."""

    protection: str
    clean: Answer
    plausible: Answer
    reasons: Mapping[str, str]

    @property
    def ok(self) -> bool:
        """Protected, and nothing speaks against it."""
        held = self.protection in ("as promised", "places withheld")
        return held and self.clean is not False and self.plausible is not False

    def rows(self) -> list[tuple[str, str]]:
        """What was asked and what was found."""
        words = {True: "yes", False: "NO", None: "cannot be told"}
        found = (
            ("protection", "Protection", self.protection),
            ("clean", "Clean?", words[self.clean]),
            ("plausible", "Plausible?", words[self.plausible]),
        )
        return [(label, ". ".join(filter(None, (word, self.reasons.get(key))))) for key, label, word in found]

    def to_dict(self) -> dict[str, object]:
        """Beside the fields of :class:`~sfumato.tracks.certificates.verify.Verified`."""
        answers = {"protection": self.protection, "clean": self.clean, "plausible": self.plausible}
        return {"ok": self.ok, **answers, "reasons": dict(self.reasons)}


def judge_folder(found: Verified, folder: Path) -> FolderVerdict:
    """What a folder that was verified is worth."""
    document = found.certificate
    assert is_folder_document(document)
    protection, why = _protection(document)
    untold = _UNTESTED if document["kind"] == DATASET else _TIMELESS
    if document["kind"] == DATASET or not Times.parse(str(document["times"]["released"])).shown:
        return FolderVerdict(protection, None, None, {"protection": why, "clean": untold, "plausible": untold})
    reasons, traces = {"protection": why}, []
    clean = True
    for file in document["files"]:
        path = folder / str(file["name"])
        trace = read_trace(path, keep=document["kept"], keep_if_there=True, one_person=True)
        kept = [name for name in document["kept"] if name in trace.columns or name in trace.texts]
        traces.append(trace)
        if clean and (more := more_than_certified(path, people=1, kept=kept)):
            clean, reasons["clean"] = False, f"{file['name']}: {more}"
    plausible, reasons["plausible"] = None, "No noise is stated that it could be held against."
    if document["noise"] is not None:
        plausible, reasons["plausible"] = plausible_release(Certificate.of(document["noise"]), traces)
    return FolderVerdict(protection, clean, plausible, reasons)


def _protection(document: FolderDocument) -> tuple[str, str]:
    """Of what was withheld, or else of the noise."""
    noise = None if document["noise"] is None else stated_verdict(document["noise"])
    if document["simulation"]:
        return "none", "A simulation: whoever knows the seed undoes it."
    if document["withheld"] is not None:
        rest = "" if noise is None else f"{noise.protection}. {noise.reasons['protection']}"
        why = f"Protection by the noise on the rest: {rest}" if rest else "What is left is exact."
        before = WITHHELD_BEFORE[0] in document["withheld"]
        return "places withheld", f"Those named when a file was first shared. {why}" if before else why
    if noise is None:
        return "none", "Nothing was withheld, and no noise is stated."
    return noise.protection, noise.reasons["protection"]
