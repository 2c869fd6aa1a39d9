"""The public log of a campaign's channels, and how two people find out that they were shown two of them.

Every cycle adds one signed entry whose hash covers the entry before: whoever has the *head*, the last entry, has the
whole log. An operator who shows one person another channel needs another log, and signs both. So a device remembers the
head it saw and refuses a log that does not go through it. People compare heads, which are eight short words, by other
ways: a poster, a notice, a friend, a *witness* that republishes heads. Two signed entries that differ, for one campaign
and one place in its log, are the proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sfumato.accountant.device_memory import LogHead
from sfumato.base.errors import VerificationFailed
from sfumato.collect.client.wire import log_entry, verify_signature

_DO_NOT = "Do not take part; ask the operator."
_PUBLISH = "Do not take part, and publish both heads: each is signed by the same key."
_CONSONANTS, _VOWELS = "bdfghjklmnprstvz", "aiou"


class SplitView(VerificationFailed):
    """One key signed two logs of one campaign. ``heads`` are the two signed entries: anybody can check them."""

    def __init__(self, what: str, heads: tuple[LogHead, LogHead]) -> None:
        super().__init__(what, _PUBLISH)
        self.heads = heads


def head_words(entry: str) -> str:
    """The first 128 bits of an entry's hash as eight words that can be read aloud, 16 bits to a word (proquints).

    >>> head_words("7f00000100000000" + "0" * 48)
    'lusab-babad-babab-babab-babab-babab-babab-babab'
    """
    words = []
    for at in range(0, 32, 4):
        n = int(entry[at : at + 4], 16)
        first, middle, last = _CONSONANTS[n >> 12], _CONSONANTS[n >> 6 & 15], _CONSONANTS[n & 15]
        words.append(first + _VOWELS[n >> 10 & 3] + middle + _VOWELS[n >> 4 & 3] + last)
    return "-".join(words)


def checked_log(entries: object, *, campaign: str, public_key: str) -> list[Mapping[str, object]]:
    """The log's entries if they are an unbroken signed chain, one per cycle in order; otherwise VerificationFailed.

    Cycles count up one by one, so that skipping numbers cannot widen the limit on the change of c.
    """
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise VerificationFailed("The public log is missing.", _DO_NOT)
    previous, found = "0" * 64, []
    for number, entry in enumerate(entries):
        if not isinstance(entry, Mapping) or entry.get("index") != number or entry.get("previous") != previous:
            raise VerificationFailed("The public log's chain is broken.", _DO_NOT)
        if str(entry.get("campaign")) != campaign:
            raise VerificationFailed("The public log is another campaign's.", _DO_NOT)
        cycle, version = entry.get("cycle"), str(entry.get("version"))
        if isinstance(cycle, bool) or cycle != number + 1:
            raise VerificationFailed("The public log skips or repeats a cycle.", _DO_NOT)
        previous = log_entry(campaign=campaign, index=number, cycle=number + 1, version=version, previous=previous)
        if entry.get("entry") != previous:
            raise VerificationFailed("An entry of the public log does not match its hash.", _DO_NOT)
        signature = str(entry.get("signature"))
        verify_signature(previous.encode("ascii"), signature=signature, public_key=public_key)
        found.append(entry)
    return found


def head_at(log: Sequence[Mapping[str, object]], index: int, *, public_key: str) -> LogHead:
    """One entry of a checked log (-1: the last) as a head that stands by itself."""
    return head_from(log[index], public_key, index % len(log))


def head_from(entry: Mapping[str, object], public_key: str, index: int) -> LogHead:
    """An entry of a log, or what claims to be one, with the key and the place it claims."""
    return {
        "campaign": str(entry["campaign"]),
        "public_key": public_key,
        "index": index,
        "version": str(entry["version"]),
        "previous": str(entry["previous"]),
        "entry": str(entry["entry"]),
        "signature": str(entry["signature"]),
    }


def check_head(head: LogHead) -> None:
    """Refuse a head that does not match its hash, or that its key has not signed."""
    about = {"campaign": head["campaign"], "version": head["version"], "previous": head["previous"]}
    if log_entry(index=head["index"], cycle=head["index"] + 1, **about) != head["entry"]:
        raise VerificationFailed("A head does not match its hash.", "Whoever gave it to you has changed it.")
    verify_signature(head["entry"].encode("ascii"), signature=head["signature"], public_key=head["public_key"])


def check_extends(log: Sequence[Mapping[str, object]], head: LogHead, *, whose: str) -> None:
    """Refuse a checked log that does not go through ``head``, which this device or somebody else (``whose``) saw."""
    place = head["index"]
    told = f"{whose} saw the log as far as entry {place}, {head_words(head['entry'])}"
    if place >= len(log):
        raise VerificationFailed(f"{told}; this server shows {len(log)} entries only.", _PUBLISH)
    if log[place]["entry"] != head["entry"]:
        here = head_at(log, place, public_key=head["public_key"])
        raise SplitView(f"{told}; this server shows {head_words(here['entry'])} there.", (head, here))


def heads_in(document: object, *, campaign: str, public_key: str) -> Iterator[LogHead]:
    """The heads of one campaign that a witness republishes (``{"heads": [...]}``), each checked by itself."""
    heads = document.get("heads") if isinstance(document, Mapping) else None
    for one in heads if isinstance(heads, Sequence) and not isinstance(heads, str) else ():
        if isinstance(one, Mapping) and (one.get("campaign"), one.get("public_key")) == (campaign, public_key):
            index = one.get("index")
            if not isinstance(index, int) or not {"version", "previous", "entry", "signature"} <= set(one):
                raise VerificationFailed("A head that the witness republishes is not whole.", "Name another witness.")
            head = head_from(one, public_key, index)
            check_head(head)
            yield head
