"""Check an Ed25519 signature [RFC 8032, section 5.1.7] in plain Python, or by OpenSSL where ``cryptography`` is there.

On the curve -x^2 + y^2 = 1 + d x^2 y^2 over the integers modulo p = 2^255 - 19, with the base point B of order L, a
signature (R, S) of M by A holds when S B = R + h A, h = SHA-512(R, A, M) mod L. Everything here is public, so it need
not take constant time. S >= L, and points not on the curve or not written in their one way, are refused.
"""

from __future__ import annotations

import hashlib

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    Ed25519PublicKey = None

Point = tuple[int, int, int, int]  # (X, Y, Z, T): x = X/Z, y = Y/Z, x y = T/Z

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)  # of -1
_NOTHING: Point = (0, 1, 1, 0)


def _added(a: Point, b: Point) -> Point:
    m, n = (a[1] - a[0]) * (b[1] - b[0]) % _P, (a[1] + a[0]) * (b[1] + b[0]) % _P
    t, z = 2 * a[3] * b[3] * _D % _P, 2 * a[2] * b[2] % _P
    e, f, g, h = n - m, z - t, z + t, n + m
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(point: Point, scalar: int) -> Point:
    out = _NOTHING
    while scalar:
        if scalar & 1:
            out = _added(out, point)
        point = _added(point, point)
        scalar >>= 1
    return out


def _point(data: bytes) -> Point | None:
    whole = int.from_bytes(data, "little")
    y, odd = whole & (2**255 - 1), whole >> 255
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if x * x % _P != square:
        x = x * _ROOT % _P
    if x * x % _P != square or (x == 0 and odd):
        return None
    x = _P - x if x & 1 != odd else x
    return x, y, 1, x * y % _P


_BASE = _point((4 * pow(5, -1, _P) % _P).to_bytes(32, "little"))


def is_signature_by_hand(message: bytes, *, signature: bytes, public_key: bytes) -> bool:
    """The check above with integers alone."""
    if len(signature) != 64 or len(public_key) != 32 or _BASE is None:
        return False
    a, s = _point(public_key), int.from_bytes(signature[32:], "little")
    if a is None or s >= _L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public_key + message).digest(), "little") % _L
    minus_a: Point = (_P - a[0], a[1], 1, _P - a[3])
    x, y, z, _ = _added(_times(_BASE, s), _times(minus_a, h))
    inverse = pow(z, -1, _P)
    x, y = x * inverse % _P, y * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]


def is_signature(message: bytes, *, signature: bytes, public_key: bytes) -> bool:
    """Whether ``signature`` is the Ed25519 signature of ``message`` by the owner of ``public_key``."""
    if Ed25519PublicKey is None:
        return is_signature_by_hand(message, signature=signature, public_key=public_key)
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
