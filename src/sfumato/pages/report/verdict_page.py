"""The verdict on a release as a record for the file: yes or no, every answer, and what was looked at, by whom, when.

As one page that makes no request (and prints on paper, or to PDF, as it is), or as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sfumato.base.drawing.svg import escape
from sfumato.base.version import __version__
from sfumato.pages.report.parts import html_page
from sfumato.tracks.certificates.document import file_facts
from sfumato.tracks.certificates.verdict import Verdict

_STYLE = (
    ".answers{margin:0;padding:1rem 1.2rem}.answers dt{color:var(--soft);font-size:.88rem}"
    ".answers dd{margin:0 0 .9rem;overflow-wrap:anywhere}.looked td{overflow-wrap:anywhere;font-size:.8rem}"
    "@media print{.sheet{box-shadow:none;border:0}.answers dd,.looked tr{break-inside:avoid}}"
)
_MOST_FILES = 1000  # on the page; the JSON has all


@dataclass(frozen=True, slots=True)
class Looked:
    """What a verdict is about: names and SHA-256 of the files, the moment, what was demanded and of which signer."""

    files: tuple[tuple[str, str], ...]
    when: str
    require: str
    signer: str | None

    @classmethod
    def at(cls, certificate: Path, release: Path, *, require: str, signer: str | None) -> Looked:
        """Now, at a certificate and its release: a file, or a folder with all that is in it."""
        inside = sorted(path for path in release.rglob("*") if path.is_file()) if release.is_dir() else [release]
        files = [(certificate.name, certificate), *((_name(path, release), path) for path in inside)]
        hashes = [(name, str(file_facts(path)["file_sha256"])) for name, path in files if path.is_file()]
        when = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(tuple(hashes), when, require, signer)

    def rows(self) -> list[tuple[str, str]]:
        """What was asked, when and with what."""
        return [
            ("Demanded", self.require or "nothing beyond the four questions"),
            ("Signer demanded", self.signer or "none"),
            ("Looked at", f"{self.when}, with sfumato {__version__}"),
        ]


def _name(path: Path, release: Path) -> str:
    return path.relative_to(release.parent).as_posix()


def record_text(verdict: Verdict, looked: Looked, *, as_json: bool) -> str:
    """The record: the verdict's answers, what was demanded, and the names and hashes of what was looked at."""
    if as_json:
        files = [{"name": name, "sha256": digest} for name, digest in looked.files]
        demanded = {"require": looked.require, "signer": looked.signer}
        facts = {"when": looked.when, "sfumato": __version__, "demanded": demanded, "files": files}
        return json.dumps({"verdict": verdict.to_dict(), **facts}, indent=1, ensure_ascii=False) + "\n"
    return verdict_page(verdict, looked)


def verdict_page(verdict: Verdict, looked: Looked | None = None) -> str:
    """The verdict's rows under its head: green if all is well, red if not; then what was looked at."""
    asked = [] if looked is None else looked.rows()
    checks = [("Checked", one) for one in verdict.checks] + [("Note", one) for one in verdict.notes]
    rows = "".join(
        f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in [*verdict.rows(), *asked, *checks]
    )
    head = f"<strong>{escape(verdict.head())}</strong>"
    return html_page(
        "Verdict on a release",
        f'<header><h1>sfumato</h1><p class="banner {"public" if verdict.ok else "warning"}">{head}</p></header>',
        f'<dl class="sheet answers">{rows}</dl>',
        "" if looked is None else _files(looked.files),
        style=_STYLE,
    )


def _files(files: Sequence[tuple[str, str]]) -> str:
    shown = "".join(f"<tr><td>{escape(name)}</td><td>{digest}</td></tr>" for name, digest in files[:_MOST_FILES])
    more = f"<p>... and {len(files) - _MOST_FILES} more.</p>" if len(files) > _MOST_FILES else ""
    return f'<section class="sheet looked"><h2>Files and their SHA-256</h2><table>{shown}</table>{more}</section>'
