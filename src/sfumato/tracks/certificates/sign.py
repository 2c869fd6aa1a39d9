"""Sign a certificate with an Ed25519 key, so that others can tell who made it, not only that nobody changed it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from sfumato.base.arrays import jsonable
from sfumato.base.errors import InputError, VerificationFailed
from sfumato.tracks.certificates.document import SEAL, SIGNATURE, Written, canonical, fields_of, is_words, key_words

_ALGORITHM = "Ed25519"


def _signed_text(document: Written) -> bytes:
    body = {key: value for key, value in jsonable(dict(document)).items() if key not in (SEAL, SIGNATURE)}
    return b"sfumato certificate\0" + canonical(body)


def signer_with(key_file: str | Path) -> Callable[[Written], dict[str, str]]:
    """What signs a certificate's body with the private key in a PEM file (``sfumato keys make``)."""
    try:
        key = load_pem_private_key(Path(key_file).read_bytes(), password=None)
    except OSError as error:
        raise InputError(f"Cannot read the signing key {key_file}: {error.strerror}.") from error
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{key_file} holds no private key that can be read.", "Make one: sfumato keys make me."
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{key_file} is not an Ed25519 key.", "Make one: sfumato keys make me.")
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
    given = " ".join(str(wanted).lower().replace("-", " ").split())
    same = given == key_words(signer).replace("-", " ") if is_words(given) else signer == public_key_in(wanted)
    if not same:
        raise VerificationFailed("The certificate is signed by another key.", "It is not from who you think.")
    return signer


def fresh_keys() -> tuple[str, str, str]:
    """A new key: the private and the public one as PEM, and the public one in base64."""
    private = Ed25519PrivateKey.generate()
    secret = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    public = private.public_key()
    shown = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    return secret, shown, base64.b64encode(public.public_bytes_raw()).decode()


def public_key_in(given: str | Path) -> str:
    """The public key (base64) in a PEM file, in a signed certificate, or as it is written."""
    text, file = str(given), Path(given)
    if not file.is_file():
        try:
            Ed25519PublicKey.from_public_bytes(base64.b64decode(text, validate=True))
        except ValueError as error:
            raise InputError(
                f"'{text}' is neither a file nor a public key.", "Give a PEM file, base64 or words."
            ) from error
        return text
    try:
        content = file.read_bytes()
        if content.lstrip()[:1] == b"{":
            signer = signer_of(json.loads(content))
            if signer is None:
                raise InputError(f"Nobody signed {text}.", "Sign it with protect --sign.")
            return signer
        key = load_pem_public_key(content)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{text} holds no public key.", "Give a PEM file or the key in base64.") from error
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{text} is not an Ed25519 key.", "Give the signer's public key.")
    return base64.b64encode(key.public_bytes_raw()).decode()
