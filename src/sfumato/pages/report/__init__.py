"""One page about one release: a map, the promise in plain words, the error by time, and what is not covered.

The map draws the likeliest track given the release, for the release itself is a scribble, and the released points as
dots. That track is computed from release and certificate alone, so a public page may show it.

The page is one file that asks nothing of any host. With the original it is private and says so on top; without it
(``original=None``) it is made from the release and the certificate alone and can be published with them. A certificate
whose mechanism is not registered has no page: nobody else can say what it promises.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sfumato.base.drawing.svg import bullets, drawn_places, escape
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.pages.report.chart import Chart, error_chart
from sfumato.pages.report.map import TrackMap, draw_map
from sfumato.pages.report.parts import html_page, section, style_or_script
from sfumato.pages.report.routine import routine_rows
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
from sfumato.tracks.answers.received import law_of
from sfumato.tracks.answers.ways.smooth_tracks import smooth_track
from sfumato.tracks.certificates.build import SMOOTHED
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.plan import Times

_ROUTINE = "What your routine gives away in this release (not covered by the promise)"
_SMOOTHED = (
    "This track was smoothed from a noisy release that is not shown: prior fitted to that release, nothing else looked "
    "at. The promise is that release's; the size of the noise is its noise."
)


def render(
    *,
    release: Trace,
    certificate: Mapping[str, object] | Certificate,
    original: Trace | None = None,
    audit: Audit | None = None,
    dropped: Sequence[str] = (),
) -> str:
    """The page as HTML. ``original`` None makes the public page; ``audit`` and ``dropped`` are then refused."""
    if original is None:
        if audit is not None or dropped:
            raise InputError(
                "A public report cannot show an audit or what was dropped: both come from the original.",
                "Leave them out, or give the original for a private report.",
            )
    elif len(original) != len(release):
        raise InputError("The original and the release differ in their number of points.", "Give those of one release.")
    record, smoothed = record_of(certificate)
    shown = drawn_places(release)
    line = None if smoothed else smooth_line(release, record)
    track_map = draw_map(release, original, record, audit, shown, line=line)
    data: dict[str, object] = {"times": release.times_s[shown].round(3).tolist(), **track_map.slider}
    chart = None if original is None else error_chart(original, release, record, shown)
    if chart is not None:
        data |= chart.slider
    # "<" cannot start a tag inside the script's data.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    meant = record.mechanism.explanations(record.stated)
    kept = kept_words(record.kept)
    return html_page(
        "A protected track (private)" if original is not None else "A protected track",
        _banners(record, private=original is not None),
        f'<header><h1>sfumato</h1><p class="promise">{escape(record.headline)}</p></header>',
        _cards(record, audit),
        _map(track_map, len(shown), len(release)),
        "" if chart is None else _chart(chart, record),
        section("What this means", bullets([*([_SMOOTHED] if smoothed else []), *meant])),
        section("Take care", bullets(record.warnings)),
        section("What is not covered", bullets(record.guarantee.not_covered)),
        _left_out(dropped) if original is not None else "",
        section("What was kept", f"<p>{escape(kept)}</p>" if kept else ""),
        "" if audit is None else _table("What an adversary still learns", audit_rows(audit)),
        _table(_ROUTINE, [] if original is None else routine_rows(original, record)),
        _table("The record in numbers", numbers(record)),
        _statement(record),
        _footer(record),
        script=f'<script type="application/json" id="data">{text}</script>'
        f"<script>{style_or_script('page.js')}</script>",
    )


def smooth_line(release: Trace, certificate: Certificate) -> Trace | None:
    """The likeliest track at the release's own times; None where the noise has no law, or the times show none."""
    if len(release) < 2 or (certificate.times != "keep" and not Times.parse(certificate.times).same_intervals):
        return None
    try:
        return smooth_track(release, law_of(certificate.mechanism, certificate.snap_m))[0]
    except InputError:
        return None


def record_of(certificate: Mapping[str, object] | Certificate) -> tuple[Certificate, bool]:
    """What is certified, and whether of a smooth track: then the promise is that of the release inside."""
    if isinstance(certificate, Certificate) or certificate.get("kind") != SMOOTHED:
        return Certificate.of(certificate), False
    track = certificate["release"]
    assert isinstance(track, Mapping)
    return replace(Certificate.of(source_of(certificate)), content_sha256=str(track["content_sha256"])), True


def source_of(certificate: Mapping[str, object]) -> Mapping[str, object]:
    """The certificate of the release that a smooth track was made from; any other certificate as it is."""
    inner = certificate.get("source", certificate)
    assert isinstance(inner, Mapping)
    return inner


def _banners(certificate: Certificate, *, private: bool) -> str:
    kind, said = "public", f"{public_banner()} It was made from the release and its certificate only."
    if private:
        kind = "private"
        said = (
            "<strong>Private.</strong> This page shows the original track. Keep it to yourself; share only the release "
            "and its certificate, or the public report."
        )
    return f'{alarm(certificate)}<p class="banner {kind}" role="note">{said}</p>'


def _cards(certificate: Certificate, audit: Audit | None) -> str:
    body = "".join(
        f'<div><dt>{escape(card.label)}</dt><dd class="big">{escape(card.number)}</dd>'
        f'<dd class="fine">{escape(card.meaning)}</dd></div>'
        for card in cards(certificate, audit)
    )
    return f'<dl class="cards">{body}</dl>'


def _map(track_map: TrackMap, drawn: int, count: int) -> str:
    rows = "".join(
        f'<li><label><input type="checkbox" checked hidden data-layer="{name}"><span class="swatch {name}"></span>'
        f"{escape(text)}</label></li>"
        for name, text in track_map.legend
    )
    some = "" if drawn == count else f"<p>{drawn} of {count} points are drawn.</p>"
    return (
        f'<figure>{track_map.svg}<figcaption><ul class="legend">{rows}</ul>{some}'
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
    body = f'<figure>{chart.svg}<figcaption><ul class="legend">{legend}</ul></figcaption></figure>'
    return section("How far off the release is, by time", body)


def _left_out(dropped: Sequence[str]) -> str:
    nothing = "<p>Nothing but positions and times was found in the original.</p>"
    words = "<p>Found in the original and not in the release:</p>" if dropped else ""
    return section("What was left out", f"{words}{bullets(dropped_words(dropped), empty=nothing)}")


def _table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    body = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows)
    return section(title, f'<div class="sheet"><table>{body}</table></div>' if body else "")


def _statement(certificate: Certificate) -> str:
    guarantee = certificate.guarantee
    parts = [
        f"<div><p>{label}</p>{bullets(items)}</div>"
        for items, label in ((guarantee.covers, "It covers"), (guarantee.assumes, "It assumes"))
        if items
    ]
    numerics = f"<p>Numerics: {escape(guarantee.numerics)}.</p>"
    notion = f"<p>{escape(guarantee.notion[:1].upper() + guarantee.notion[1:])}.</p>"
    return section("The promise, exactly", f'{notion}<div class="two">{"".join(parts)}</div>{numerics}')


def _footer(certificate: Certificate) -> str:
    hashed = f"<p>Release: <code>{escape(certificate.content_sha256)}</code> (SHA-256 of its content).</p>"
    made = f"<p>Made by sfumato {escape(certificate.version)}.</p>"
    return (
        "<footer><p>Anyone can check the promise from the certificate and the release alone: "
        "<code>sfumato verify certificate.json --release release.gpx</code></p>"
        f"{hashed}{made}"
        "<p>This page asks nothing of any server. Land: Natural Earth, public domain.</p></footer>"
    )
