"""Certificates of earlier versions: their sentences are written again here, or they are refused and not called changed.

Version 0.2.0 says what this version says, without the fields and sentences of ``_SINCE_0_2``; a receiver is told them
beside it. Whatever else it says otherwise (the headline of noise shaped by a prior was too strong) is refused, as is
every other version unless its wording is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sfumato.base.errors import OtherVersion, VerificationFailed
from sfumato.base.version import __version__
from sfumato.tracks.certificates.document import Written
from sfumato.tracks.noise.gaussian_noise import INDEPENDENT_AXES, LAGGED_AXES

_WRITTEN_AGAIN = "0.2.0"
_SINCE_0_2 = (INDEPENDENT_AXES, LAGGED_AXES)
_FIELDS_SINCE = ("headline", "plan", "times", "several_files", "if_turning")  # what other versions' may not have
_STAYS = ("stay_loss", "stay_odds_99")
_FALSE_STAYS = (
    "Version 0.1.0 stated odds for stays that noise for chosen secrets does not keep.",
    "Its certificates with --secrets are refused: protect the trace again with this version.",
)


def other_version(document: Written, ignore_wording: bool) -> list[str]:
    """A note where another version made the certificate, which is refused where its wording cannot be checked."""
    said = document.get("sfumato")
    if said == __version__:
        return []
    if ignore_wording or said == _WRITTEN_AGAIN:
        return [f"Made by sfumato {_name(said)}, checked by {__version__}."]
    raise _refused(said)


def differs(document: Written) -> OtherVersion | None:
    """The refusal of another version's certificate whose sentences are not those written again for it."""
    said = document.get("sfumato")
    return None if said == __version__ else _refused(said)


def as_written_then(document: Written, again: Mapping[str, object], words: bool) -> tuple[dict[str, object], list[str]]:
    """A body as the version of ``document`` would have written it, and what that version did not say."""
    said = document.get("sfumato")
    if said == __version__:
        return dict(again), []
    since = ("if_turning",) if words else _FIELDS_SINCE
    then = {name: value for name, value in again.items() if name not in since or name in document}
    if said == "0.1.0":
        return _of_the_first_edition(document, then)
    guarantee, told = then["guarantee"], list[str]()
    if words and isinstance(guarantee, dict):
        for part in ("assumes", "not_covered"):
            told += [f"{_name(said)} did not say: {text}" for text in guarantee[part] if text in _SINCE_0_2]
            guarantee = {**guarantee, part: [text for text in guarantee[part] if text not in _SINCE_0_2]}
    turning = again.get("if_turning")
    if words and isinstance(turning, dict) and "if_turning" not in document:
        told.append(f"{_name(said)} did not say: {turning['meaning']}")
    return {**then, "guarantee": guarantee}, told


def _of_the_first_edition(document: Written, then: dict[str, object]) -> tuple[dict[str, object], list[str]]:
    """What 0.1.0 said about stays: nothing for noise shaped by a prior, and what was false for chosen secrets."""
    if "secrets" in document:
        raise VerificationFailed(*_FALSE_STAYS)
    if document.get("stay_loss") is not None or then["stay_loss"] is None:
        return then, []
    return then | dict.fromkeys(_STAYS), ["0.1.0 stated nothing about stays here: a place stayed at is not protected."]


def _name(said: object) -> str:
    known = isinstance(said, str) and re.fullmatch(r"[0-9][0-9A-Za-z.+-]{0,39}", said)  # its author wrote it
    return str(said) if known else "of an unknown version"


def _refused(said: object) -> OtherVersion:
    install = _name(said) if _name(said) == said else "that"
    return OtherVersion(
        f"Made by sfumato {_name(said)}; this is {__version__}: install {install} to verify, "
        "or use --ignore-wording to check the numbers only."
    )
