"""One certificate for a whole dataset: the noise, every part, and how many people have how many points."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sfumato.base.version import __version__
from sfumato.tracks.certificates.document import sealed
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.archives.statement import NOT_COVERED, WITHHELD
from sfumato.tracks.folders.datasets.job import JobTally
from sfumato.tracks.noise.interface import Json
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.plan import Plan
from sfumato.tracks.times_released import Times

KIND = "sfumato dataset certificate"
FORMAT = 1
CERTIFICATE_NAME, MANIFEST_NAME = "_certificate.json", "_manifest.json"
MEANING = (
    "Every person's points have one noise of their own, whatever part they are in. The losses stated hold for each "
    "person, with any number of points: nobody's is larger than worst_loss."
)
Sign = Callable[[Document], Mapping[str, str]]
_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


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


def dataset_document(
    parts: Sequence[tuple[str, str, int]],
    layout: Layout,
    times: Times | Plan,
    people: Document,
    *,
    noise: Document | None,
    withheld: bool = False,
    simulation: bool = False,
    sign: Sign | None = None,
) -> Json:
    """The sealed certificate; ``noise`` is the body of a trace certificate over all parts; a plan knows its times."""
    shown = set(layout.released)
    roles = {role: name for role, name in sorted(layout.roles.by_role.items()) if name in shown}
    return document_of(
        [{"name": name, "sha256": digest, "points": points} for name, digest, points in parts],
        columns=roles,
        times=times if isinstance(times, Times) else Times.parse(times.times),
        kept=sorted(shown - set(roles.values())),
        people=people,
        noise=None if noise is None else sealed(noise),
        withheld=withheld,
        simulation=simulation or (noise is not None and bool(noise["simulation"])),
        sign=sign,
    )


def document_of(
    files: Sequence[Document],
    *,
    columns: Mapping[str, str],
    times: Times,
    kept: Sequence[str],
    people: Document,
    noise: Document | None,
    withheld: bool,
    simulation: bool,
    sign: Sign | None = None,
) -> Json:
    """Everything that a dataset's certificate says, from its parts: made and checked by the same code."""
    return sealed(
        {
            "kind": KIND,
            "format": FORMAT,
            "sfumato": __version__,
            "withheld": list(WITHHELD) if withheld else None,
            "not_covered": list(NOT_COVERED) if withheld else [],
            "times": {"released": str(times), "meaning": times.sentence()},
            "columns": dict(columns),
            "kept": list(kept),
            "people": {**people, "worst_loss": None if noise is None else noise["worst_loss"]},
            "meaning": MEANING if noise is not None else None,
            "simulation": simulation,
            "noise": noise,
            "files": [dict(file) for file in files],
        },
        sign,
    )


def manifest_text(parts: Sequence[tuple[str, str, int]], tally: JobTally, *, read: bool = True) -> str:
    """What is in the folder, for whoever looks: the parts, and rows released; with ``read`` those left out, too."""
    counts = {"rows_read": tally.rows, "rows_rejected": dict(tally.skipped)} if read else {}
    said = {
        "sfumato_dataset": FORMAT,
        "complete": True,
        "rows_released": tally.released,
        **counts,
        "people": tally.people,
        "parts": [{"name": name, "sha256": digest, "rows": points} for name, digest, points in parts],
    }
    return json.dumps(said, indent=1) + "\n"
