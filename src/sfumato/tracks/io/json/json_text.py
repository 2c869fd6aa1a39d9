"""JSON files, read whole; and a small language for picking things out of other people's JSON without crashing."""

from __future__ import annotations

import json
from pathlib import Path

from sfumato.base.errors import InputError


def load_json(path: Path, kind: str = "JSON") -> object:
    """The parsed file, or an error that says that it is cut off or damaged; JSON Lines as the list of its lines."""
    content = path.read_bytes()
    try:
        return json.loads(content)
    except RecursionError:
        raise InputError(f"The {kind} file is nested too deeply.", "It is not a track; export it again.") from None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return _lines(content, kind)
        raise InputError(
            f"The {kind} file is not valid JSON (line {error.lineno}).",
            "It may be cut off or damaged; export it again.",
        ) from None
    except (UnicodeError, ValueError):
        raise InputError(f"The {kind} file is not valid JSON.", "Save it as UTF-8.") from None


def _lines(content: bytes, kind: str) -> list[object]:
    """One JSON value a line (JSON Lines, NDJSON, GeoJSON sequences)."""
    values: list[object] = []
    for number, line in enumerate(content.decode("utf-8-sig", "replace").split("\n"), 1):
        if text := line.strip(" \t\r\x1e"):
            try:
                values.append(json.loads(text))
            except (ValueError, RecursionError):
                raise InputError(
                    f"The {kind} file is neither one JSON value nor one a line (line {number}).",
                    "It may be cut off or damaged; export it again.",
                ) from None
    return values


def at(value: object, *keys: str) -> object:
    """``value[key][key]...`` where every step is an object that has the key; otherwise None."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def objects(value: object) -> list[dict[str, object]]:
    """The objects of a list; nothing for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
