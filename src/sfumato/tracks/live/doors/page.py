"""The page behind a link: a circle on a map, or a name. One file, no request to anybody but the bridge."""

from __future__ import annotations

import json
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np

from sfumato.base.drawing.svg import element, escape, label, picture, scale_bar, sheet_around, short
from sfumato.base.units import format_length
from sfumato.tracks.live.doors.views import View
from sfumato.tracks.live.towns import towns_within

_SIZE = 640
_STYLE = """
:root{color-scheme:light dark;--ground:#f6f4ee;--ink:#222;--blue:#1f5fa8}
@media (prefers-color-scheme:dark){:root{--ground:#1d1f22;--ink:#e8e6e0;--blue:#7db4f0}}
body{margin:0 auto;max-width:40rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif}
body{color:var(--ink);background:var(--ground)}
svg{width:100%;height:auto;border:1px solid #8886;border-radius:.5rem}text{fill:var(--ink);font-size:15px}
.here{fill:var(--blue);fill-opacity:.18;stroke:var(--blue);stroke-width:2}.dot{fill:var(--blue)}.town{fill:var(--ink)}
h1{font-size:1.3rem;margin:.2rem 0}
"""
_SCRIPT = """
const box=document.getElementById("view"),news=new EventSource(location.pathname+"/events");
news.onmessage=e=>{box.innerHTML=JSON.parse(e.data)};
news.addEventListener("gone",()=>{news.close();box.textContent="This is not shared any more."});
"""


def page(person: str, view: View | None, zone: ZoneInfo, nonce: str) -> str:
    """The whole page."""
    words = escape(person)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{words}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">'
        f'<style nonce="{nonce}">{_STYLE}</style><h1>{words}</h1>'
        f'<main id="view" aria-live="polite">{fragment(view, zone)}</main>'
        f'<script nonce="{nonce}">{_SCRIPT}</script></html>'
    )


def fragment(view: View | None, zone: ZoneInfo) -> str:
    """What changes: the picture, and when it was measured."""
    if view is None:
        return "<p>Nothing is shared at the moment.</p>"
    at = datetime.fromtimestamp(view.time_ms / 1000.0, zone)
    when = f'<time datetime="{at.isoformat()}">{at:%Y-%m-%d %H:%M}</time>'
    if view.circle is None:
        return f"<p><strong>{escape(view.name)}</strong>, {when}</p>"
    radius = view.circle.radius_m
    said = "exactly here" if radius == 0 else f"within {format_length(radius)} with 68 %"
    return f"{_map(view)}<p>{said}, {when}</p>"


def events_text(view: View | None, zone: ZoneInfo) -> str:
    """One message of a stream of events."""
    return f"data: {json.dumps(fragment(view, zone))}\n\n"


def _map(view: View) -> str:
    circle = view.circle
    assert circle is not None
    radius = max(circle.radius_m, 150.0)
    here = np.array([circle.lat_deg]), np.array([circle.lon_deg])
    sheet = sheet_around(*here, width=_SIZE, height=_SIZE, margin=40, room_m=6 * radius, least_m=2000.0)
    (x, y), px = sheet.pixels(*here)[0], 1.0 / sheet.metres_per_px
    parts = []
    for name, lat, lon in towns_within(circle.lat_deg, circle.lon_deg, _SIZE * sheet.metres_per_px):
        tx, ty = sheet.pixels(np.array([lat]), np.array([lon]))[0]
        if 10 < tx < _SIZE - 60 and 20 < ty < _SIZE - 30:
            parts.append(element("circle", cx=float(tx), cy=float(ty), r=3, class_="town"))
            parts.append(label(float(tx) + 6, float(ty) + 5, name))
    if circle.radius_m:
        parts.append(element("circle", cx=float(x), cy=float(y), r=float(circle.radius_m * px), class_="here"))
    parts.append(element("circle", cx=float(x), cy=float(y), r=4, class_="dot"))
    parts.append(scale_bar(16, _SIZE - 16, sheet.metres_per_px, 160))
    where = f"{short(circle.lat_deg, 3)}, {short(circle.lon_deg, 3)}"
    return picture(_SIZE, _SIZE, *parts, title=f"A circle of {format_length(radius)} around {where}")
