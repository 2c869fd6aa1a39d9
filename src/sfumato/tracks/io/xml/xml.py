"""Streaming XML that refuses document types and entities, the door of entity bombs and outside requests."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.parsers import expat

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError

# No track is nested like this; deeper files are made to exhaust their reader.
_DEEPEST = 100
_HEAD = 1 << 16

Start = Callable[[str, dict[str, str]], None]
End = Callable[[str, str], None]


def parse_xml(path: Path, start: Start, end: End, *, kind: str) -> None:
    """Call ``start(name, attributes)`` and ``end(name, text)`` for each element, names without their prefix.

    ``text`` is what stood directly before the end tag, which for leaves is their whole text. Prefixes are cut rather
    than resolved, because real files use prefixes that they never declare.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    local: dict[str, str] = {}
    pieces: list[str] = []
    depth = 0

    def refuse(*_: object) -> None:
        raise InputError(
            f"The {kind} file declares a document type or entities, which are used to attack readers.",
            "Remove the <!DOCTYPE ...> part; tracks do not need it.",
        )

    def open_element(name: str, attributes: dict[str, str]) -> None:
        short = local.get(name)
        if short is None:
            short = local[name] = name.rpartition(":")[2]
        pieces.clear()
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise InputError(f"The {kind} file is nested too deeply.", "It is not a track; export it again.")
        start(short, attributes)

    def close_element(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(local[name], "".join(pieces))
        pieces.clear()

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse  # type: ignore[assignment]
    parser.StartElementHandler = open_element
    parser.EndElementHandler = close_element
    parser.CharacterDataHandler = pieces.append
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
            if (other := _other_kind(head)) is not None:
                raise InputError(f"The file is {other}, not {kind}.", "Check what it is, and export the track again.")
            stream.seek(len(head) - len(_begun(head)))
            parser.ParseFile(stream)
    except expat.ExpatError as error:
        raise InputError(
            f"The {kind} file is not well-formed XML (line {error.lineno}: {expat.ErrorString(error.code)}).",
            "It may be cut off or damaged; export it again.",
        ) from None
    except (LookupError, UnicodeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"The {kind} file is in an unknown encoding.", "Save it as UTF-8.") from None


_OTHER_KINDS = {
    b"PK\x03\x04": "a ZIP archive (its name should end in .zip)",
    b"\x1f\x8b": "packed by gzip (its name should end in .gz)",
    b"\xff\xd8\xff": "a photo (JPEG)",
    b"\x89PNG": "a picture (PNG)",
    b"%PDF": "a PDF",
    b"<!doctype html": "a web page (perhaps one that asks to log in)",
    b"<html": "a web page (perhaps one that asks to log in)",
}


def _other_kind(head: bytes) -> str | None:
    """What people give the name of a track by mistake."""
    begun = _begun(head)[:20].lower()
    return next((words for magic, words in _OTHER_KINDS.items() if begun.startswith(magic.lower())), None)


def _begun(head: bytes) -> bytes:
    """From the first mark on: XML forbids blanks and byte order marks before its declaration; exporters write them."""
    while head[:1] in (b" ", b"\t", b"\r", b"\n") or head.startswith(codecs.BOM_UTF8):
        head = head[3:] if head.startswith(codecs.BOM_UTF8) else head[1:]
    return head


def escape(text: str) -> str:
    """Text for an element or a quoted attribute; characters that XML cannot hold are left out."""
    clean = "".join(letter for letter in text if letter in "\t\n\r" or " " <= letter <= "\ud7ff" or letter > "\udfff")
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def elements(columns: Sequence[tuple[str, FloatArray]], points: int) -> list[str]:
    """For each point the elements of its numbers, by tag; nothing where there is none."""
    texts = [""] * points
    for tag, column in columns:
        texts = [
            text if value != value else f"{text}<{tag}>{value:.10g}</{tag}>"
            for text, value in zip(texts, column.tolist(), strict=True)
        ]
    return texts


def within(tag: str, text: str) -> str:
    """The text inside an element; nothing where there is none."""
    return f"<{tag}>{text}</{tag}>" if text else ""
