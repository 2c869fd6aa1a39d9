"""The public page of a dataset: what is promised to everybody in it, and a picture of some of them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfumato.base.drawing.elements import escape
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.pages.report.fleet_page import public_fleet_page
from sfumato.pages.report.parts import section, table
from sfumato.tracks.adversary.fleet import People, person_losses
from sfumato.tracks.answers.received import Received, received_as
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.certificates.verify import Document, terms_of
from sfumato.tracks.folders.rows.people_losses import BLOCK
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.rows import read_rows
from sfumato.tracks.people.rows_loops import by_person
from sfumato.tracks.times_released import Times

_PARTS, _OF_EACH, _MOST_POINTS = 16, 4, 200_000
_WORDS = {"0.00": "least", "0.25": "a quarter", "0.50": "half", "0.75": "three quarters", "0.95": "19 of 20"}
_UNSAID: Document = {"people": 0, "meaning": "Not stated."}
_LOSSES = {"0.10": "a tenth", "0.25": "a quarter", "0.50": "half", "0.75": "three quarters", "0.90": "9 in 10"}


def public_dataset_page(out: Path, document: Document) -> str:
    """From the release and its certificate alone."""
    if not Times.parse(str(document["times"]["released"])).same_intervals:
        raise InputError(
            "A page needs the times that were released.", "Leave --public-report out, or use --times keep or shift."
        )
    shown = _some(out, document)
    noise = document["noise"]
    people, spread = document["people"], document["people"]["points_per_person"]
    rows = [(f"{words} of the people at most", spread[key]) for key, words in _WORDS.items() if key in spread]
    said = (
        f"<p>The picture, and what is said of a receiver, are of {len(shown)} of {people['people']} people, the first "
        f"of evenly chosen parts. Nobody's loss is larger than the one promised, whatever their number of points.</p>"
    )
    more = section(
        "How points are distributed over people", said + table(("", "points"), [*rows, ("most", spread["1.00"])])
    )
    losses = person_losses(shown, noise)
    sections = [more, section("What people lose at their own times", _losses(people))]
    received = _received(shown, noise)
    return public_fleet_page(shown, Certificate.of(noise), losses, received, smoothed=False, more=sections)


def loss_words(people: Document) -> str:
    """What people lose at their own times, as parts of the largest loss that anybody can have."""
    block, worst = people.get(BLOCK, _UNSAID), people["worst_loss"]
    if not block["people"]:
        return str(block["meaning"])
    parts = [f"{_LOSSES[name]} at most {_share(block, name, worst)}" for name in ("0.10", "0.50", "0.90")]
    everybody = block["people"] == people["people"]
    who = "everybody" if everybody else f"{block['people']} of {people['people']} people"
    whole = f"{block['with_all_moments']} with all their moments"
    return f"{', '.join(parts)} of that (computed for {who}, {whole})."


def _losses(people: Document) -> str:
    block, worst = people.get(BLOCK, _UNSAID), people["worst_loss"]
    said = f"<p>{escape(str(block['meaning']))}</p>"
    if not block["people"]:
        return said
    rows = [(f"{words} of the people at most", _share(block, name, worst)) for name, words in _LOSSES.items()]
    return said + table(("", "of the largest loss that anybody can have"), rows)


def _share(block: Document, name: str, worst: float) -> str:
    """A quantile, or the two numbers that it lies between."""
    low, high = math.floor(100.0 * block["at_least"][name] / worst), math.ceil(100.0 * block["at_most"][name] / worst)
    return f"{high} %" if high - low <= 1 else f"{low} to {high} %"


def _some(out: Path, document: Document) -> People:
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


def _received(shown: People, noise: Document) -> Received | None:
    try:
        return received_as(shown, terms_of(noise))
    except InputError:
        return None
