"""Ed25519 signatures [RFC 8032] are checked by OpenSSL here; the small client has the same function in plain Python."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def is_signature(message: bytes, *, signature: bytes, public_key: bytes) -> bool:
    """Whether ``signature`` is the Ed25519 signature of ``message`` by the owner of ``public_key``."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
