"""A private JSON body sealed with a passphrase: scrypt stretches it, AES-256-GCM encrypts and authenticates.

One scheme for every private file. ``purpose`` is authenticated with the body, so that a file of one kind is never
opened as one of another; ``noun`` is what the file is called in errors.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from sfumato.base.errors import InputError

_SCRYPT = {"n": 2**15, "r": 8, "p": 1}


def seal(body: Mapping[str, object], passphrase: str, *, purpose: str, noun: str) -> dict[str, object]:
    """``body`` encrypted, as a JSON object that says how."""
    salt, nonce = os.urandom(16), os.urandom(12)
    key = _stretched(passphrase, salt, noun, **_SCRYPT)
    data = AESGCM(key).encrypt(nonce, json.dumps(body).encode(), purpose.encode())
    parts = {"salt": salt, "nonce": nonce, "data": data}
    encoded = {name: base64.b64encode(value).decode() for name, value in parts.items()}
    return {"kdf": "scrypt", **_SCRYPT, "cipher": "AES-256-GCM", **encoded}


def unseal(sealed: Mapping[str, Any], passphrase: str | None, *, purpose: str, noun: str) -> Any:
    """The body again, or an error that says whether the passphrase or the file is wrong."""
    if passphrase is None:
        raise InputError(f"The {noun} is encrypted.", "Give its passphrase with --passphrase-file.")
    try:
        salt, nonce, data = (base64.b64decode(sealed[name]) for name in ("salt", "nonce", "data"))
        key = _stretched(passphrase, salt, noun, n=int(sealed["n"]), r=int(sealed["r"]), p=int(sealed["p"]))
        return json.loads(AESGCM(key).decrypt(nonce, data, purpose.encode()))
    except InvalidTag as error:
        raise InputError(f"The passphrase does not open this {noun}.", f"Check it, or restore the {noun}.") from error
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"The encrypted {noun} is damaged.", "Restore it from a copy.") from error


def _stretched(passphrase: str, salt: bytes, noun: str, *, n: int, r: int, p: int) -> bytes:
    if not passphrase:
        raise InputError("The passphrase is empty.", "Give one, or leave the option out.")
    if not (2 <= n <= 2**20 and 1 <= r <= 64 and 1 <= p <= 16):
        raise InputError(f"The {noun} asks for absurd scrypt settings.", "Restore it from a copy.")
    return Scrypt(salt=salt, length=32, n=n, r=r, p=p).derive(passphrase.encode())
