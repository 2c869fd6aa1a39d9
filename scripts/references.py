"""The references page, made from ``docs/references.bib``; ``[Meehan2021, Thm 3.4]`` in any page links to it."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BIBLIOGRAPHY = Path(__file__).parents[1] / "docs" / "references.bib"
PAGE = "reference/references.md"
_ENTRY = re.compile(r"@\w+\{(\w+),\s*(.*?)\n\}", re.S)
_FIELD = re.compile(r"(\w+)\s*=\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
_KEY = re.compile(r"\b[A-Z][A-Za-z]+(?:19|20)\d\d\b")
_CITED = re.compile(rf"\[({_KEY.pattern}[^\[\]]*)\](?![(\[:])")  # [Meehan2021], [Meehan2021, Thm 3.4], [A1999; B2000]
_ACCENT = re.compile(r"\{\\(['\"`^~])\\?([A-Za-z])\}")
_COMBINING = {"'": "\u0301", '"': "\u0308", "`": "\u0300", "^": "\u0302", "~": "\u0303"}


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Called by MkDocs with the pages it found: the references are added."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, PAGE, content=references_page()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by MkDocs with a page's text: citations become links."""
    return linked(markdown, posixpath.relpath(PAGE, posixpath.dirname(page.file.src_uri) or "."))


def linked(markdown: str, target: str) -> str:
    """``[Meehan2021, Thm 3.4]`` with a link to its entry; code and what is no entry are left as they are."""
    known = entries()

    def link(match: re.Match[str]) -> str:
        cited = match.group(1)
        if any(key not in known for key in _KEY.findall(cited)):
            return match.group(0)
        links = _KEY.sub(lambda key: f"[{key[0]}]({target}#{key[0].lower()})", cited)
        return f"&#91;{links}&#93;"  # as entities: a backslash before a bracket opens a formula

    parts = re.split(r"(```.*?```|`[^`\n]*`)", markdown, flags=re.S)
    return "".join(part if part.startswith("`") else _CITED.sub(link, part) for part in parts)


def entries() -> Mapping[str, Mapping[str, str]]:
    """Key -> fields, in the order of the file; an entry that is written twice counts once."""
    text = BIBLIOGRAPHY.read_text("utf-8")
    return {
        key: {name.lower(): _plain(value) for name, value in _FIELD.findall(body)} for key, body in _ENTRY.findall(text)
    }


def references_page() -> str:
    """The page: one heading for each entry, so that every citation has an address."""
    lines = ["# References", "", "As BibTeX: `docs/references.bib` in the repository.", ""]
    for key, fields in sorted(entries().items()):
        where = fields.get("journal") or fields.get("booktitle") or fields.get("publisher") or fields.get("institution")
        volume = "".join(f", {name} {fields[name]}" for name in ("volume", "number") if name in fields)
        about = " ".join(part for part in (f"*{where}*{volume}," if where else "", fields.get("year", "")) if part)
        note = f" {fields['note']}." if "note" in fields else ""
        authors = fields.get("author", "").replace(" and ", "; ")
        lines += [f"## {key}", "", f"{authors}: **{fields.get('title', '')}**. {about}.{note}", ""]
    return "\n".join(lines)


def _plain(value: str) -> str:
    value = _ACCENT.sub(lambda m: unicodedata.normalize("NFC", m.group(2) + _COMBINING[m.group(1)]), value)
    value = value.replace("\\alpha", "α").replace("\\beta", "β").replace("\\&", "&").replace("--", "-")
    return re.sub(r"\s+", " ", re.sub(r"[{}$]", "", value)).strip()
