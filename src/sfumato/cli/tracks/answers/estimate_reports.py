"""``estimate heatmap`` of the reports of a collection: files of reported cells, and the signed channel of each."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from sfumato.base.errors import InputError
from sfumato.base.things.estimated_map import EstimatedMap
from sfumato.cli.tracks.answers.estimate_options import MapQuestion
from sfumato.collect.client.offer import Caps, Offer, check_offer
from sfumato.collect.estimation.tally import Tally, tally_reports
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.loop.reported import estimate_reports
from sfumato.collect.loop.rhythm import Rhythm

# A receiver takes part in nothing, so none of a device's limits is its own; what is signed must still hold together.
_ANY = Caps(
    two_beta_per_km=math.inf,
    cells=1_000_000,
    extent_km=math.inf,
    smallest_cell_side_m=0.0,
    smallest_floor=0.0,
    fewest_effective_cells=math.inf,
)
_KINDS = "Give a .csv or .parquet with 'cell' and 'reports' (as a campaign exports), or with 'report', one in each row."


def map_of_reports(asked: MapQuestion, channels: Sequence[Path]) -> EstimatedMap:
    """The map of every file of reports, each through its own channel."""
    if asked.certificate:
        raise InputError("Certificates and channels were given.", "Releases have certificates, reports have channels.")
    if any(one is not None for one in (asked.cell, asked.h3, asked.areas, asked.bounds)):
        raise InputError("Reports are of the channel's own cells.", "Leave --cell, --h3, --areas and --bounds.")
    if len(asked.release) != len(channels):
        raise InputError(
            f"{len(asked.release)} files of reports and {len(channels)} channels.",
            "Give --channel once for each file, in the same order: every cycle has its own.",
        )
    offers = [read_offer(path) for path in channels]
    rhythms = {offer.reporting for offer in offers}
    if len(rhythms) > 1:
        raise InputError("The channels ask people to report in different rhythms.", "Estimate each campaign by itself.")
    tallies = [_tally(path, offer) for path, offer in zip(asked.release, offers, strict=True)]
    return estimate_reports(tallies, reporting=cast(Rhythm, rhythms.pop()), confidence=asked.confidence)


def read_offer(path: Path) -> Offer:
    """The channel in what the collector's route ``…/channel`` answers; its signature must be right."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, ValueError) as error:
        raise InputError(
            f"{path.name} holds no channel.", "Save what the collector answers at .../campaigns/NAME/channel."
        ) from error
    if not isinstance(document, dict) or "payload" not in document:
        raise InputError(
            f"{path.name} holds no signed channel.", "Save the collector's answer whole, not its text alone."
        )
    return check_offer(document, caps=_ANY)


def _tally(path: Path, offer: Offer) -> Tally:
    channel = GridChannel(offer.grid, offer.beta_per_m, offer.output_weights)
    table = _table(path)
    for name in ("reports", "report", "cell"):
        if name in table.column_names and table[name].null_count:
            raise InputError(f"{path.name} has rows without '{name}'.", "Leave them out.")
    if {"cell", "reports"} <= set(table.column_names):
        cells, counts = (table[name].to_numpy() for name in ("cell", "reports"))
        known = tally_reports(channel, cells)  # whole numbers, inside the grid
        if (known.counts > 1).any():
            raise InputError(f"{path.name} names a cell twice.", "Give one row for each cell.")
        everything = known.counts * 0
        everything[cells] = counts
        return Tally(channel, everything)
    if "report" not in table.column_names:
        raise InputError(f"{path.name} has no column of reports.", _KINDS)
    return tally_reports(channel, table["report"].to_numpy())


def _table(path: Path) -> pa.Table:
    readers = {".csv": pyarrow.csv.read_csv, ".parquet": pyarrow.parquet.read_table}
    if path.suffix not in readers:
        raise InputError(f"Reports are not read from '{path.suffix}'.", _KINDS)
    try:
        return readers[path.suffix](path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path.name} cannot be read.", _KINDS) from error
