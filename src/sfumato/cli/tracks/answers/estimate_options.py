"""What all questions of ``estimate`` share: their options, spelled once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer


@dataclass(frozen=True, slots=True)
class Question:
    """What every question is asked of, and where its answer goes."""

    release: list[Path] = typer.Argument(
        ..., help="One or more releases: files (tracks, tables of people) or folders of them."
    )
    certificate: list[Path] = typer.Option(
        [], "--certificate", "-c", help="The certificate of each release, in the same order, if not beside it."
    )
    confidence: float = typer.Option(0.9, help="Confidence of the intervals over people, between 0 and 1.")
    each_file_a_person: bool = typer.Option(
        False, "--each-file-a-person", help="Files without ids are of different people."
    )
    output: Path | None = typer.Option(
        None, "--output", "-o", help="A file ending in .csv, .parquet, .json, and for maps .geojson, .geoparquet."
    )
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else.")


@dataclass(frozen=True, slots=True)
class MapQuestion(Question):
    """A question about cells: square ones, hexagons or areas."""

    cell: str | None = typer.Option(None, help="Side of a cell (m, km); its lines run along parallels and meridians.")
    h3: int | None = typer.Option(None, "--h3", help="H3 hexagons of this resolution instead (8: 0.7 km²).")
    areas: Path | None = typer.Option(None, "--areas", help="Named areas: GeoJSON, zipped shapefile, GeoPackage.")
    bounds: str | None = typer.Option(
        None, "--bounds", help="south,west,north,east in degrees; by default where the release is."
    )
    picture: Path | None = typer.Option(None, help="Draw the answer as a file ending in .svg.")
