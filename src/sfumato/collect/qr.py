"""A QR code of a short text as an SVG picture: an address that people point their phones at."""

from __future__ import annotations

from html import escape

from sfumato.base.errors import InputError, MissingExtra

_LARGEST_VERSION = 10
"""57 modules a side: what a phone still reads from a poster on the other side of the street."""
_QUIET = 4


def qr_svg(text: str, *, label: str) -> str:
    """The symbol (bytes, error correction M) dark on light whatever the page's colours, with its quiet zone."""
    try:
        import segno
    except ImportError as error:
        raise MissingExtra("segno", "service") from error
    try:
        symbol = segno.make_qr(text, error="m", mode="byte", encoding="utf-8", boost_error=False)
    except segno.DataOverflowError:
        symbol = None
    if symbol is None or int(symbol.version) > _LARGEST_VERSION:
        length = len(text.encode("utf-8"))
        raise InputError(f"The text has {length} bytes; a QR code here holds 213.", "Shorten the address.")
    size = len(symbol.matrix) + 2 * _QUIET
    dark = ((i, j) for i, row in enumerate(symbol.matrix, _QUIET) for j, one in enumerate(row, _QUIET) if one)
    marks = "".join(f"M{j} {i}h1v1h-1z" for i, j in dark)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" role="img" shape-rendering="crispEdges">'
        f"<title>{escape(label, quote=False)}</title>"
        f'<rect width="{size}" height="{size}" fill="#fff"/><path d="{marks}" fill="#000"/></svg>'
    )
