"""One certificate for a whole folder: what was withheld in words, what noise was added, and every file of it.

It says nothing of where zones are, how many there are, how many rides touched them or disappeared. Anybody can check
the files and the noise. That nothing inside the zones is left, only the holder of the places file can. A dataset's
certificate also names its columns, and says how many people have how many points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sfumato.base.things.traces import Trace
from sfumato.base.version import __version__
from sfumato.tracks.certificates.document import with_seal
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.noise.interface import Json
from sfumato.tracks.places import RADII_M
from sfumato.tracks.times_released import Times

ARCHIVE, DATASET = "sfumato archive certificate", "sfumato dataset certificate"
FORMAT = 1
CERTIFICATE_NAME, MANIFEST_NAME, REJECTS_NAME = "_certificate.json", "_manifest.json", "_rejects"  # in a dataset
WITHHELD = (
    "Everything recorded inside the zones of its owner's places was taken out of every file. Each file is a function "
    "of what was recorded outside them.",
    "A zone is a disc whose centre was drawn once, uniformly around its place, with a radius from the public list "
    f"({', '.join(f'{radius:g} m' for radius in RADII_M)}): by centre and radius alone, the odds between any two "
    "places of its inner disc (.8 of the radius) stay what they were before.",
)
NOT_COVERED = (
    "The directions in which rides come out of a zone: no guarantee. The owner measured what known attackers find.",
    "How long a gap lasted, where times are released.",
    "Places that their owner did not name, and whatever was published before.",
    "Housemates and colleagues who drew zones of their own for the same place: zones intersect.",
)
MEANING = (
    "Every person's points have one noise of their own, whatever part they are in. The losses stated hold for each "
    "person, with any number of points: nobody's is larger than worst_loss."
)
Sign = Callable[[Document], Mapping[str, str]]
_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class FolderStatement:
    """What a folder's certificate is made from; ``noise`` is that of a trace certificate over all files.

    An archive has neither ``columns`` nor ``people``. Made and checked by the same code (:meth:`of`).
    """

    files: Sequence[Document]
    times: Times
    kept: Sequence[str]
    noise: Document | None
    withheld: bool = False
    simulation: bool = False
    columns: Mapping[str, str] | None = None
    people: Document | None = None

    @classmethod
    def of(cls, document: Document) -> Self:
        """What a certificate says that it was made from."""
        return cls(
            document["files"],
            Times.parse(str(document["times"]["released"])),
            document["kept"],
            document["noise"],
            document["withheld"] is not None,
            bool(document["simulation"]),
            document["columns"] if document["kind"] == DATASET else None,
            document["people"] if document["kind"] == DATASET else None,
        )

    def document(self, sign: Sign | None = None) -> Json:
        """The sealed certificate."""
        noise, said, columns = None if self.noise is None else with_seal(self.noise), {}, {}
        if self.people is not None:
            worst = None if noise is None else noise["worst_loss"]
            said = {"people": {**self.people, "worst_loss": worst}, "meaning": MEANING if noise is not None else None}
            columns = {"columns": dict(self.columns or {})}
        body = {
            "kind": ARCHIVE if self.people is None else DATASET,
            "format": FORMAT,
            "sfumato": __version__,
            "withheld": list(WITHHELD) if self.withheld else None,
            "not_covered": list(NOT_COVERED) if self.withheld else [],
            "times": {"released": str(self.times), "meaning": self.times.sentence()},
            **columns,
            "kept": sorted(self.kept),
            **said,
            "simulation": self.simulation,
            "noise": noise,
            "files": [dict(file) for file in self.files],
        }
        return with_seal(body, sign)


def over_people(points_of_people: Mapping[int, int]) -> Json:
    """How points are spread over people: quantiles of the released points of one person."""
    points = np.array(sorted(points_of_people), dtype=np.int64)
    if not points.size:
        return {"people": 0, "points": 0, "points_per_person": {}}
    count = np.array([points_of_people[value] for value in points.tolist()], dtype=np.int64)
    upto = np.cumsum(count)
    place = np.searchsorted(upto, np.ceil(np.array(_QUANTILES) * upto[-1]).clip(1))
    spread = {f"{quantile:.2f}": int(points[at]) for quantile, at in zip(_QUANTILES, place.tolist(), strict=True)}
    return {"people": int(upto[-1]), "points": int((points * count).sum()), "points_per_person": spread}


def join_traces(traces: Sequence[Trace]) -> Trace:
    """Several files as one trace, in their order; positions and times only."""
    segment, base = [], 0
    for trace in traces:
        segment.append(trace.segment - trace.segment[0] + base)
        base = int(segment[-1][-1]) + 1
    lat, lon, times = (
        np.concatenate([getattr(trace, name) for trace in traces]) for name in ("lat_deg", "lon_deg", "times_s")
    )
    return Trace(lat, lon, times, np.concatenate(segment))
