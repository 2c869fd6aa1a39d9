"""The table of the browser page: every certificate it can write, in Python's own words and numbers, without its facts.

    python scripts/page_table.py web/src/page/table.json

`make web` runs this before it builds the page (docs/places.md), so the page's certificates are those of the
sfumato it was built beside. The page fills in the number of points and the hashes of its files, and seals.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.base.version import __version__
from sfumato.tracks.certificates.build import BROWSER, ReleasedFiles, Terms, certificate_body
from sfumato.tracks.certificates.document import SEAL, Certificate
from sfumato.tracks.folders.staging import NOT_COVERED, WITHHELD, FolderStatement
from sfumato.tracks.noise.multiscale.ladder import shipped_ladder
from sfumato.tracks.people.noise import choose
from sfumato.tracks.plan import LEVELS, Plan, Times

CLASSES = ("day", "week", "year")
# For so many points, over so long and no further apart, verify tells noise from none (held by test_page_release.py).
TOLD = {"points": 400, "most_points": 10_800, "span_s": 1800, "every_s": 30}


def terms_of(level: str, prior_class: str) -> Terms:
    """What the page's noise is certified by: fresh multiscale noise from the browser's CSPRNG."""
    plan = Plan(level=level, prior_class=prior_class)
    return replace(choose(plan, []).terms(), randomness_source=BROWSER)


def choice(level: str, prior_class: str) -> dict[str, Any]:
    """One choice of blur, with the certificate of its noise, heart rates kept or not."""
    terms = replace(terms_of(level, prior_class), several_files=True)
    noise = certificate_body(terms, ReleasedFiles(((1, ""),)))
    kept = certificate_body(replace(terms, kept=("heart_rate",)), ReleasedFiles(((1, ""),)))
    return {
        "level": level,
        "prior_class": prior_class,
        "noise_m": terms.mechanism.noise_m,
        "odds": LEVELS[level],
        "headline": Certificate.of(noise).headline,
        "noise": json.dumps(noise, ensure_ascii=False),
        "noise_kept": json.dumps(kept, ensure_ascii=False),
        "told": None if level == "low" and prior_class != "day" else TOLD,
    }


def archive(*, hidden: bool) -> str:
    """An archive's certificate before its files and its noise are known."""
    document = FolderStatement([], Times(), (), None, withheld=WITHHELD if hidden else ()).document()
    return json.dumps({name: value for name, value in document.items() if name != SEAL}, ensure_ascii=False)


def table() -> dict[str, Any]:
    """All that the page needs of Python."""
    return {
        "version": __version__,
        "radius_m": Plan().radius_m,
        "choices": [choice(level, prior_class) for prior_class in CLASSES for level in LEVELS],
        "ladders": {prior_class: shipped_ladder(prior_class).to_dict() for prior_class in CLASSES},
        "hidden": archive(hidden=True),
        "whole": archive(hidden=False),
        "not_covered": list(NOT_COVERED),
    }


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(table(), ensure_ascii=False), encoding="utf-8")
    print(f"{target}: {target.stat().st_size} bytes")
