"""How a certificate is written: one canonical text, one hash over it, once, by the code that writes the file.

The seal is a SHA-256 of the certificate's own canonical text: it finds accidents and careless edits. It is not a
signature; whoever can rewrite the file can seal it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sfumato.arrays import jsonable
from sfumato.errors import InputError

SEAL = "certificate_sha256"
SIGNATURE = "signature"


def canonical(value: Mapping[str, Any]) -> bytes:
    """One text for one meaning: sorted keys, no spaces, shortest floats, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def sealed(
    body: Mapping[str, Any], sign: Callable[[Mapping[str, Any]], Mapping[str, str]] | None = None
) -> dict[str, Any]:
    """The body with the hash of its canonical text; ``sign`` puts a signature of the body under it first."""
    plain = {key: value for key, value in jsonable(dict(body)).items() if key != SEAL}
    if sign is not None:
        plain[SIGNATURE] = dict(sign(plain))
    return {**plain, SEAL: hashlib.sha256(canonical(plain)).hexdigest()}


def certificate_text(document: Mapping[str, Any]) -> str:
    """A certificate as it is written to a file."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def with_file(body: Mapping[str, Any], path: str | Path) -> dict[str, Any]:
    """The body with the hash and size of the file the release was written to."""
    return {**body, "release": {**body["release"], **file_facts(path)}}


def file_facts(path: str | Path) -> dict[str, str | int]:
    """What a certificate says about the file: its hash and size."""
    digest = hashlib.sha256()
    size = 0
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
                size += len(block)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.", "Give the release's file.") from error
    return {"file_sha256": digest.hexdigest(), "file_bytes": size}
