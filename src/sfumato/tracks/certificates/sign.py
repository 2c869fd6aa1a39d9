"""Sign a certificate with an Ed25519 key, so that others can tell who made it, not only that nobody changed it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from sfumato.base.arrays import jsonable
from sfumato.base.errors import InputError, VerificationFailed
from sfumato.tracks.certificates.document import SEAL, SIGNATURE, Written, canonical, fields_of

_ALGORITHM = "Ed25519"


def _signed_text(document: Written) -> bytes:
    body = {key: value for key, value in jsonable(dict(document)).items() if key not in (SEAL, SIGNATURE)}
    return b"sfumato certificate\0" + canonical(body)


def signer_with(key_file: str | Path) -> Callable[[Written], dict[str, str]]:
    """What signs a certificate's body with the private key in a PEM file (``openssl genpkey -algorithm ed25519``)."""
    try:
        key = load_pem_private_key(Path(key_file).read_bytes(), password=None)
    except OSError as error:
        raise InputError(f"Cannot read the signing key {key_file}: {error.strerror}.") from error
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{key_file} holds no private key that can be read.", "Make one: openssl genpkey -algorithm ed25519."
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{key_file} is not an Ed25519 key.", "Make one: openssl genpkey -algorithm ed25519.")
    private: Ed25519PrivateKey = key

    def sign(body: Written) -> dict[str, str]:
        return {
            "algorithm": _ALGORITHM,
            "public_key": base64.b64encode(private.public_key().public_bytes_raw()).decode(),
            "value": base64.b64encode(private.sign(_signed_text(body))).decode(),
        }

    return sign


def signer_of(document: Written) -> str | None:
    """The public key (base64) whose valid signature the certificate carries; None if it carries none."""
    if SIGNATURE not in document:
        return None
    try:
        found = fields_of(document)["signature"]
        if set(found) != {"algorithm", "public_key", "value"} or found["algorithm"] != _ALGORITHM:
            raise ValueError("unknown signature")
        key = base64.b64decode(found["public_key"], validate=True)
        value = base64.b64decode(found["value"], validate=True)
        Ed25519PublicKey.from_public_bytes(key).verify(value, _signed_text(document))
    except (InvalidSignature, KeyError, TypeError, ValueError) as error:
        raise VerificationFailed(
            "The certificate's signature is not valid.", "It was changed, or not signed."
        ) from error
    return found["public_key"]


def check_signer(document: Written, wanted: str | Path | None) -> str | None:
    """The signer, checked against a public key (base64, or a PEM file) where one is wanted."""
    signer = signer_of(document)
    if wanted is None:
        return signer
    if signer is None:
        raise VerificationFailed("The certificate is not signed.", "Ask whoever made it to sign it.")
    if signer != _public_key(wanted):
        raise VerificationFailed("The certificate is signed by another key.", "It is not from who you think.")
    return signer


def _public_key(wanted: str | Path) -> str:
    text = str(wanted)
    if not Path(text).is_file():
        return text
    try:
        key = load_pem_public_key(Path(text).read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{text} holds no public key.", "Give a PEM file or the key in base64.") from error
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{text} is not an Ed25519 key.", "Give the signer's public key.")
    return base64.b64encode(key.public_bytes_raw()).decode()
