"""The table and the pictures of docs/publish_a_fleet.md: the cabs of San Francisco (../shared) before publication.

python scripts/tutorial_fleet.py                        prints the table and the wishes
python scripts/tutorial_fleet.py --write                renews page and pictures
python scripts/tutorial_fleet.py --table cabs.parquet   writes the table of trips that the page's commands start from

Noise is drawn from the operating system, so numbers differ from run to run by a few in a hundred. The data are
CC BY 4.0 (Piorkowski, Sarafijanovic-Djukic, Grossglauser: CRAWDAD epfl/mobility) and are not in this repository.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from evidence_answers import SHARED, cabs  # noqa: E402
from sfumato.base.numbers.odds import odds_words  # noqa: E402
from sfumato.base.units import format_length  # noqa: E402
from sfumato.pages.report.heat_picture import heat_picture  # noqa: E402
from sfumato.pages.report.usefulness_page import error_words, preview_panels  # noqa: E402
from sfumato.tracks.answers.received import receive  # noqa: E402
from sfumato.tracks.io.tables.point_table import write_fleet  # noqa: E402
from sfumato.tracks.people.door import protect_fleet  # noqa: E402
from sfumato.tracks.people.preview import (  # noqa: E402
    Preview,
    parse_wish,
    preview,
)
from sfumato.tracks.plan import Plan  # noqa: E402

PAGE, IMAGES = ROOT / "docs" / "publish_a_fleet.md", ROOT / "docs" / "images"
NOISES_M = (200.0, 400.0, 700.0)
START, END = "<!-- computed by scripts/tutorial_fleet.py -->", "<!-- end -->"
WISHES = (
    "length=10%,radius=200m",
    "length=10%,radius=500m",
    "heatmap@500m=10%,radius=200m",
    "heatmap@1km=10%,radius=200m",
)
INKS = (
    "<style>.east{stroke:#2650b8}.north{stroke:#0f766e}.third{stroke:#b4480f}path{fill:none;stroke-width:2.2}"
    "text{font:12px sans-serif;fill:#5b6270;stroke:none}.naive{stroke-dasharray:5 4;stroke-width:1.6}"
    ".rule{stroke:#e2ddd3;stroke-width:1}.cell{fill:#2650b8}.sea{fill:#eef1f3}.scale path{stroke:#5b6270}</style>"
)


def table_of(found: Preview) -> str:
    """The preview as a table, and its sentences as a list."""
    heads = ["noise per coordinate", *(format_length(one.noise_m) for one in found.choices)]
    rows = [
        heads,
        ["---"] * len(heads),
        ["radius kept at odds of 5 : 1", *(format_length(one.radius_at_m[5.0]) for one in found.choices)],
        ["odds at 200 m", *(odds_words(one.odds) or "-" for one in found.choices)],
    ]
    for k, row in enumerate(found.choices[0].utility.measures):
        rows.append([row.name, *(error_words(one.utility.measures[k]) for one in found.choices)])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, "", *(f"- {one.sentence}" for one in found.wishes), "", *(f"({n})" for n in found.notes)])


def standing(svg: str) -> str:
    """A picture that stands alone: its name space and its colours inside."""
    return svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1).replace(">", f">{INKS}", 1) + "\n"


def main() -> int:
    """Print, or renew the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    if not (SHARED / "data").exists():
        print("no ../shared/data here: nothing to compute from")
        return 0
    people = cabs(trips=True)
    if options.table is not None:
        write_fleet(people, options.table)
        print(f"{options.table}: {len(people)} cabs, {sum(len(trace) for _, trace in people)} points")
        return 0
    found = preview(people, noise_m=NOISES_M, wishes=[parse_wish(text, 200.0, 5.0) for text in WISHES])
    text = table_of(found)
    print(text)
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        PAGE.write_text(f"{before}{START}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
        for name, svg in preview_panels(found).items():
            (IMAGES / f"fleet_{name}.svg").write_text(standing(svg), encoding="utf-8")
        done = protect_fleet(Plan(noise_m=330.0), people)
        received = receive(list(done.releases), done.certificate)
        picture = heat_picture([trace for _, trace in done.releases], received)
        (IMAGES / "fleet_heat.svg").write_text(standing(picture.svg), encoding="utf-8")
        print(picture.caption)
    return 0


if __name__ == "__main__":
    sys.exit(main())
