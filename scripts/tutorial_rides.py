"""The sentence and the picture of docs/places.md, from the embedded rides: a simulation, with a seed.

python scripts/tutorial_rides.py            prints the sentence
python scripts/tutorial_rides.py --write    renews page and picture; a test fails where they are stale
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import textwrap
from importlib.resources import as_file, files
from pathlib import Path

from sfumato.pages.report.archive_page import private_map
from sfumato.tracks.folders.rides.hide import hide_archive
from sfumato.tracks.io import read_trace
from sfumato.tracks.io.archive import members
from sfumato.tracks.places import find_places
from sfumato.tracks.places.places_file import Places, place_at

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PICTURE = DOCS / "places.md", DOCS / "images" / "rides_hidden.svg"
START, END = "<!-- computed by scripts/tutorial_rides.py -->", "<!-- end -->"
SEED = 1


def made() -> tuple[str, str]:
    """What the leak test says of the rides that ship, and the private map, with the zone of one seed."""
    shipped = files("sfumato").joinpath("data", "sample_rides.zip")
    with as_file(shipped) as archive, tempfile.TemporaryDirectory() as name:
        rides = []
        for member in members([archive]):
            with member.path() as path:
                rides.append(read_trace(path))
        most = find_places(rides)[0]
        home = place_at("home", round(most.lat_deg, 5), round(most.lon_deg, 5), rng=SEED)
        places, out = Places.none(rng=SEED).add(home), Path(name) / "shared"
        done = hide_archive([archive], out, places)
        picture = private_map(done, places, out)
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="960" height="600"'
    return done.leaks[0].sentence(), picture.replace("<svg", head, 1) + "\n"


def page_with(sentence: str, text: str) -> str:
    """The page with this sentence between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    quoted = "\n".join(f"> {line}" for line in textwrap.wrap(sentence, 125))
    return f"{before}{START}\n{quoted}\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    sentence, svg = made()
    print(sentence)
    if options.write:
        PAGE.write_text(page_with(sentence, PAGE.read_text("utf-8")), "utf-8")
        PICTURE.write_text(svg, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
