"""The public page of a dataset: from the release and its certificate alone, of some of its people."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfumato.base.drawing.svg import escape
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.pages.report.fleet_page import public_fleet_page
from sfumato.pages.report.parts import section, table
from sfumato.tracks.adversary.fleet import People, person_losses
from sfumato.tracks.answers.received import received_as
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.certificates.verify import terms_of
from sfumato.tracks.folders.folder_fields import FolderDocument
from sfumato.tracks.folders.rows.people_notes import BLOCK, loss_rows, not_stated
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.rows import by_person, read_rows
from sfumato.tracks.plan import Times

_PARTS, _OF_EACH, _MOST_POINTS = 16, 4, 200_000
_WORDS = {"0.00": "least", "0.25": "a quarter", "0.50": "half", "0.75": "three quarters", "0.95": "19 of 20"}


def public_dataset_page(out: Path, document: FolderDocument) -> str:
    """From the release and its certificate alone."""
    if not Times.parse(str(document["times"]["released"])).same_intervals:
        raise InputError(
            "A page needs the times that were released.", "Leave --public-report out, or use --times keep or shift."
        )
    shown = _some(out, document)
    noise = document["noise"]
    assert noise is not None  # what sfumato protect filled
    people, spread = document["people"], document["people"]["points_per_person"]
    rows = [(f"{words} of the people at most", spread[key]) for key, words in _WORDS.items() if key in spread]
    said = (
        f"<p>The picture, and what is said of a receiver, are of {len(shown)} of {people['people']} people, the first "
        f"of evenly chosen parts. Nobody's loss is larger than the one promised, whatever their number of points.</p>"
    )
    more = section(
        "How points are distributed over people", said + table(("", "points"), [*rows, ("most", spread["1.00"])])
    )
    parts = [(f"{words} of the people at most", share) for words, share in loss_rows(people)]
    meaning = f"<p>{escape(people.get(BLOCK, not_stated('Not stated.'))['meaning'])}</p>"
    lost = meaning + (table(("", "of the largest loss that anybody can have"), parts) if parts else "")
    sections = [more, section("What people lose at their own times", lost)]
    losses, received = person_losses(shown, noise), None
    with suppress(InputError):  # nothing to be said of a receiver
        received = received_as(shown, terms_of(noise))
    return public_fleet_page(shown, Certificate.of(noise), losses, received, smoothed=False, more=sections)


def _some(out: Path, document: FolderDocument) -> People:
    """The first few people of some parts, whole."""
    columns, files, people = dict(document["columns"]), list(document["files"]), list[tuple[str | None, Trace]]()
    points = 0
    for number in sorted({int(k) for k in np.linspace(0, len(files) - 1, min(len(files), _PARTS))}):
        part = pq.read_table(out / str(files[number]["name"]))
        layout = Layout.of(part.schema, columns=columns, zone="UTC", one_person="id" not in columns)
        rows = read_rows(part, layout)
        order, starts = by_person(rows.codes, len(rows.labels))
        for person in range(min(_OF_EACH, len(rows.labels))):
            at = order[starts[person] : starts[person + 1]]
            if people and points + len(at) > _MOST_POINTS:
                continue
            at, points = at[np.argsort(rows.times_ms[at], kind="stable")], points + len(at)
            trace = Trace(rows.lat_deg[at], rows.lon_deg[at], rows.times_ms[at] / 1000.0)
            people.append((None if layout.person is None else rows.labels[person], trace))
    return people
