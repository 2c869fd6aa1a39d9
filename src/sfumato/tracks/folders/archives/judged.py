"""The verdict on a shared folder: does it protect, does it hold nothing else, could it be a release at all?

:func:`~sfumato.tracks.folders.archives.statement.verify_archive` answers whether a folder and its certificate belong
together. A certificate of 5 m of noise, of a simulation, or of files with a true position in a comment is a true
certificate, too. As for one track (:mod:`sfumato.tracks.certificates.verdict`), with two differences: where places were
withheld, that is the protection, and the noise on the rest is reported beside it; and what cannot be told (files
without times, files of few points, the parts of a dataset) is said and does not fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.clean import more_than_certified
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.certificates.verdict import Answer, plausible_release, stated_verdict
from sfumato.tracks.certificates.verify import Verified
from sfumato.tracks.folders.archives.statement import KIND, verify_archive
from sfumato.tracks.io import read_trace
from sfumato.tracks.times_released import Times

__all__ = ["FolderVerdict", "judge_folder", "verify_archive"]

_UNTESTED = "Parts of a dataset are not tested for this."
_TIMELESS = "Files without times are no tracks."


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

    def to_dict(self) -> dict[str, Any]:
        """Beside the fields of :class:`~sfumato.tracks.certificates.verify.Verified`."""
        return {
            "ok": self.ok,
            "protection": self.protection,
            "clean": self.clean,
            "plausible": self.plausible,
            "reasons": dict(self.reasons),
        }


def judge_folder(found: Verified, folder: Path) -> FolderVerdict:
    """What a folder that was verified is worth."""
    document = found.certificate
    protection, why = _protection(document)
    if document["kind"] != KIND:
        return FolderVerdict(protection, None, None, {"protection": why, "clean": _UNTESTED, "plausible": _UNTESTED})
    if not Times.parse(str(document["times"]["released"])).shown:
        return FolderVerdict(protection, None, None, {"protection": why, "clean": _TIMELESS, "plausible": _TIMELESS})
    reasons, traces = {"protection": why}, []
    clean = True
    for file in document["files"]:
        path = folder / str(file["name"])
        traces.append(read_trace(path, keep=document["kept"], keep_if_there=True, one_person=True))
        if clean and (more := more_than_certified(path, people=1, kept=_present(document["kept"], traces[-1]))):
            clean, reasons["clean"] = False, f"{file['name']}: {more}"
    plausible, reasons["plausible"] = None, "No noise is stated that it could be held against."
    if document["noise"] is not None:
        plausible, words = plausible_release(Certificate.of(document["noise"]), traces)
        reasons["plausible"] = words
    return FolderVerdict(protection, clean, plausible, reasons)


def _present(kept: list[str], trace: Trace) -> list[str]:
    return [name for name in kept if name in trace.columns or name in trace.texts]


def _protection(document: Mapping[str, Any]) -> tuple[str, str]:
    """Of what was withheld, or else of the noise."""
    noise = None if document["noise"] is None else stated_verdict(document["noise"])
    if document["simulation"]:
        return "none", "A simulation: whoever knows the seed undoes it."
    if document["withheld"] is not None:
        if noise is None:
            return "places withheld", "What is left is exact."
        return (
            "places withheld",
            f"Protection by the noise on the rest: {noise.protection}. {noise.reasons['protection']}",
        )
    if noise is None:
        return "none", "Nothing was withheld, and no noise is stated."
    return noise.protection, noise.reasons["protection"]
