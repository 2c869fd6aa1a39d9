"""KMZ: a zip whose first KML file at its top is the document; unpacked privately, within limits, and read as KML."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

from sfumato.base.errors import InputError
from sfumato.tracks.io.archive import unpack_entry
from sfumato.tracks.io.draft import Draft, Reading
from sfumato.tracks.io.xml import kml


def read(path: Path, reading: Reading) -> list[Draft]:
    """The drafts of ``doc.kml``, or of the one KML file there is; other KML files of the zip are counted."""
    try:
        with zipfile.ZipFile(path) as packed:
            found = [info for info in packed.infolist() if info.filename.lower().endswith(".kml")]
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise InputError("The KMZ file is no readable zip file.", "It may be cut off; export it again.") from None
    if not found:
        raise InputError("The KMZ file holds no KML file.", "Export the track again, as KML or GPX.")
    main = min(found, key=lambda info: (info.filename.lower() != "doc.kml", info.filename.count("/")))
    with tempfile.TemporaryDirectory(prefix="sfumato-") as folder:
        target = Path(folder) / "doc.kml"
        unpack_entry(path, main, target)
        if target.stat().st_size == 0:
            raise InputError("The KML file in the KMZ file is empty.", "Export the track again.")
        drafts = kml.read(target, reading)
    if len(found) > 1:
        drafts[0].dropped[f"further KML files ({len(found) - 1})"] = None
    return drafts
