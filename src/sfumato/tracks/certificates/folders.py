"""What certificates of folders (an archive's, a dataset's) have in common: how they are opened, and their sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from sfumato.base.errors import VerificationFailed
from sfumato.tracks.certificates.document import SEAL, SIGNATURE, sealed
from sfumato.tracks.certificates.sign import check_signer
from sfumato.tracks.certificates.verify import Document, Verified, read_certificate


def verified_folder(
    source: str | Path | Document,
    kind: tuple[str, int],
    named: str,
    check: Callable[[Document, list[str]], Verified],
    signer: str | Path | None,
) -> Verified:
    """Kind and format, seal, signature, then ``check`` with the document and what was checked so far."""
    document = read_certificate(source)
    if (document.get("kind"), document.get("format")) != kind:
        raise VerificationFailed(f"This is not the certificate of {named}.", "Give the one that speaks of the folder.")
    if sealed(document)[SEAL] != document.get(SEAL):
        raise VerificationFailed("The certificate's own hash does not fit its content.", "It was changed.")
    signed_by = check_signer(document, signer) if signer is not None or SIGNATURE in document else None
    checks = ["the certificate's own hash", *([] if signed_by is None else [f"the signature of {signed_by}"])]
    try:
        return check(document, checks)
    except (KeyError, TypeError, AttributeError) as error:
        raise VerificationFailed(
            "A field of the certificate is missing or has the wrong type.", "It was changed."
        ) from error


def check_sentences(again: Mapping[str, object], document: Document) -> None:
    """Refuse a certificate that is not word for word the one this version would write."""
    if unsealed(again) != unsealed(document):
        raise VerificationFailed(
            "The certificate's sentences are not those of this version.",
            "It was changed or made by another version: --ignore-wording checks files and noise only.",
        )


def unsealed(document: Mapping[str, object]) -> dict[str, object]:
    """Without seal and signature."""
    return {name: value for name, value in document.items() if name not in (SIGNATURE, SEAL)}
