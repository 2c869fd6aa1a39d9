"""The operator's screens: an empty frame that holds nothing of any campaign; the bundle fills it after signing in."""

from __future__ import annotations

from sfumato.collect.service.ground import Ground
from sfumato.collect.service.pages.layout import has_entry, page
from sfumato.collect.service.pages.maps import under

_COMMANDS = """<p>This server runs without its browser code (<code>make web</code> builds it). Everything
can be done in a terminal with the operator's token in <code>SFUMATO_OPERATOR_TOKEN</code>:</p>
<pre><code>sfumato campaign --help
sfumato collect plan --bounds SOUTH,WEST,NORTH,EAST --cell 500m --people 500
sfumato campaign create NAME --south .. --west .. --north .. --east ..</code></pre>"""


def operate_page(ground: Ground | None = None) -> str:
    """The frame of /operate; the map that areas are drawn on has the operator's own streets under it."""
    inside = '<p class="status" role="status">Loading…</p>' if has_entry("operate") else _COMMANDS
    body = f"""<div id="operate"{under(ground)}><h1>Operate this collector</h1>{inside}
<noscript><p>These screens need JavaScript; <code>sfumato campaign</code> does the same in a terminal.</p></noscript>
</div>"""
    return page("Operate", body, script="operate" if has_entry("operate") else None)
