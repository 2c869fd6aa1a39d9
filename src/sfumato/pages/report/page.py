"""The page around the pictures: one HTML file with its style and script inside, and a policy that forbids requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources

from sfumato.base.drawing.drawing import bullets, drawn_places, escape
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.pages.report.chart import Chart
from sfumato.pages.report.map import Picture
from sfumato.pages.report.words import (
    alarm,
    audit_rows,
    cards,
    dropped_words,
    interval_words,
    kept_words,
    numbers,
    public_banner,
)
from sfumato.tracks.adversary.audit import Audit
from sfumato.tracks.certificates.document import Certificate

_ROUTINE = "What your routine gives away in this release (not covered by the promise)"
_SMOOTHED = (
    "This track was smoothed from a noisy release that is not shown: prior fitted to that release, nothing else looked "
    "at. The promise is that release's; the size of the noise is its noise."
)
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)


def assemble(
    release: Trace,
    certificate: Certificate,
    *,
    picture: Picture,
    chart: Chart | None,
    audit: Audit | None,
    dropped: Sequence[str],
    private: bool,
    smoothed: bool = False,
    routine: Sequence[tuple[str, str]] = (),
) -> str:
    """All parts in reading order; ``smoothed`` where the release is a smooth track."""
    shown = drawn_places(release)
    data: dict[str, object] = {"times": release.times_s[shown].round(3).tolist(), **picture.slider}
    if chart is not None:
        data |= chart.slider
    # "<" cannot start a tag inside the script's data.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    meant = certificate.mechanism.explanations(certificate.stated)
    title = "A protected track (private)" if private else "A protected track"
    return "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" '
            'content="no-referrer"><meta name="robots" content="noindex">',
            f"<title>{title}</title><style>{_part('page.css')}</style></head><body><main>",
            _banners(certificate, private=private),
            f'<header><h1>sfumato</h1><p class="promise">{escape(certificate.headline)}</p></header>',
            _cards(certificate, audit),
            _map(picture, len(shown), len(release)),
            "" if chart is None else _chart(chart, certificate),
            _list("What this means", [*([_SMOOTHED] if smoothed else []), *meant]),
            _list("Take care", certificate.warnings),
            _list("What is not covered", certificate.guarantee.not_covered),
            _dropped(certificate, dropped) if private else _kept(certificate),
            "" if audit is None else _table("What an adversary still learns", audit_rows(audit)),
            _table(_ROUTINE, routine) if routine else "",
            _table("The certificate in numbers", numbers(certificate)),
            _statement(certificate),
            _footer(certificate, private=private),
            f'</main><script type="application/json" id="data">{text}</script>',
            f"<script>{_part('page.js')}</script></body></html>\n",
        )
    )


def _part(name: str) -> str:
    return resources.files("sfumato.pages.report").joinpath(name).read_text(encoding="utf-8")


def _banners(certificate: Certificate, *, private: bool) -> str:
    rows = [alarm(certificate)]
    if private:
        rows.append(
            '<p class="banner private" role="note"><strong>Private.</strong> This page shows the original track. '
            "Keep it to yourself; share only the release and its certificate, or the public report.</p>"
        )
    else:
        rows.append(
            f'<p class="banner public" role="note">{public_banner()} It was made from the release and its certificate '
            "only.</p>"
        )
    return "".join(rows)


def _cards(certificate: Certificate, audit: Audit | None) -> str:
    body = "".join(
        f'<div><dt>{escape(card.label)}</dt><dd class="big">{escape(card.number)}</dd>'
        f'<dd class="fine">{escape(card.meaning)}</dd></div>'
        for card in cards(certificate, audit)
    )
    return f'<dl class="cards">{body}</dl>'


def _map(picture: Picture, drawn: int, count: int) -> str:
    rows = "".join(
        f'<li><label><input type="checkbox" checked hidden data-layer="{name}"><span class="swatch {name}"></span>'
        f"{escape(text)}</label></li>"
        for name, text in picture.legend
    )
    some = "" if drawn == count else f"<p>{drawn} of {count} points are drawn.</p>"
    return (
        f'<figure>{picture.svg}<figcaption><ul class="legend">{rows}</ul>{some}'
        '<div class="timeline" id="timeline" hidden><label for="time">Moment</label>'
        f'<input id="time" type="range" min="0" max="{drawn - 1}" value="0">'
        '<output id="said" for="time">walk along the track</output></div></figcaption></figure>'
    )


def _chart(chart: Chart, certificate: Certificate) -> str:
    rows = [("east", "metres east of the truth"), ("north", "metres north of the truth")]
    if chart.noise_m:
        rows.append(("band-68", f"{interval_words(certificate)} of the noise, ±{format_length(chart.noise_m)}"))
    legend = "".join(
        f'<li><label><span class="swatch {name}"></span>{escape(text)}</label></li>' for name, text in rows
    )
    return (
        f"<section><h2>How far off the release is, by time</h2><figure>{chart.svg}"
        f'<figcaption><ul class="legend">{legend}</ul></figcaption></figure></section>'
    )


def _dropped(certificate: Certificate, dropped: Sequence[str]) -> str:
    nothing = "<p>Nothing but positions and times was found in the original.</p>"
    words = "<p>Found in the original and not in the release:</p>" if dropped else ""
    left_out = f"{words}{bullets(dropped_words(dropped), empty=nothing)}"
    return f"<section><h2>What was left out</h2>{left_out}</section>{_kept(certificate)}"


def _kept(certificate: Certificate) -> str:
    words = kept_words(certificate.kept)
    return f"<section><h2>What was kept</h2><p>{escape(words)}</p></section>" if words else ""


def _list(title: str, texts: Sequence[str]) -> str:
    return f"<section><h2>{escape(title)}</h2>{bullets(texts)}</section>" if texts else ""


def _table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    body = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows)
    return f'<section><h2>{escape(title)}</h2><div class="sheet"><table>{body}</table></div></section>'


def _statement(certificate: Certificate) -> str:
    guarantee = certificate.guarantee
    parts = [
        f"<div><p>{label}</p>{bullets(items)}</div>"
        for items, label in ((guarantee.covers, "It covers"), (guarantee.assumes, "It assumes"))
        if items
    ]
    numerics = f"<p>Numerics: {escape(guarantee.numerics)}.</p>"
    notion = f"<p>{escape(guarantee.notion[:1].upper() + guarantee.notion[1:])}.</p>"
    return f'<section><h2>The promise, exactly</h2>{notion}<div class="two">{"".join(parts)}</div>{numerics}</section>'


def _footer(certificate: Certificate, *, private: bool) -> str:
    hashed = f"<p>Release: <code>{escape(certificate.content_sha256)}</code> (SHA-256 of its content).</p>"
    made = f"<p>Made by sfumato {escape(certificate.version)}.</p>"
    return (
        "<footer><p>Anyone can check the promise from the certificate and the release alone: "
        "<code>sfumato verify certificate.json --release release.gpx</code></p>"
        f"{hashed}{made}"
        "<p>This page asks nothing of any server. Land: Natural Earth, public domain.</p></footer>"
    )
