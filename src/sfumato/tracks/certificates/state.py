"""A person's noise state: the key that lets noise continue, in a file that only its owner may read.

Whoever reads the state can undo the noise of every release made with it, so the file is 0600, or encrypted with a
passphrase (scrypt and AES-256-GCM). It also fixes the size and ladder of the noise: the same process at two sizes
would give the truth away. It is written once, before the first release, and never changes.

Every person's key is derived in one way from the state's, by the canonical id
(:mod:`~sfumato.tracks.certificates.person_ids`) or, in a state made without ids, for its one person; a state is used
with ids or without, never both. States of the first format go on with their own derivation, where it is known which one
that was.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sfumato.base.errors import InputError
from sfumato.base.files import create_text
from sfumato.base.randomness import Random, randomness
from sfumato.base.sealing import seal, unseal
from sfumato.tracks.certificates.person_ids import canonical_id
from sfumato.tracks.noise.interface import KEY_BYTES, ContinuingNoise, LadderTerms
from sfumato.tracks.plan import Target

FORMAT = 2
_FIRST_FORMAT = 1
_WARNING = "Keep this file secret: whoever reads it can undo the noise of every release made with it."
_PURPOSE = "sfumato state"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NoiseState:
    """The key and what it may be used for: size, ladder, and the class of priors the ladder was chosen for.

    ``simulation`` marks keys that came from a seed; ``named`` says that its people have ids; ``format`` is the file's.
    """

    key: bytes
    noise_m: float
    ladder: LadderTerms
    simulation: bool = False
    prior_class: str = "day"
    named: bool = False
    format: int = FORMAT

    def __post_init__(self) -> None:
        if len(self.key) != KEY_BYTES:
            raise InputError("The state's key has the wrong length.", "Restore the state from a copy.")

    def __repr__(self) -> str:
        return "<NoiseState, its key not shown>"

    @classmethod
    def fresh(
        cls,
        noise_m: float,
        ladder: LadderTerms,
        rng: Random = None,
        *,
        prior_class: str = "day",
        named: bool = False,
    ) -> NoiseState:
        """A new person, or people with ids: 32 bytes of the operating system's entropy (or of a seed: a simulation)."""
        draw = randomness(rng)
        key = draw.words(KEY_BYTES // 8).tobytes()
        return cls(key, float(noise_m), ladder, draw.simulation, prior_class, named)

    @property
    def process(self) -> str:
        """The name of its noise process in a ledger, one for all its releases; it does not help to find the key."""
        return hashlib.sha256(b"sfumato noise process\0" + self.key).hexdigest()[:32]

    def key_of(self, person: str | None, *, together: bool = False) -> bytes:
        """The key of one person's noise; ``together`` where they are one of a fleet (only the first format asks).

        Refused where the same person could already have another noise from this state.
        """
        if self.format == _FIRST_FORMAT:
            return self._first_key_of(person, together=together)
        if person is None and self.named:
            raise InputError(
                "This state tells people apart by their ids, and this release has none.",
                "Say whose it is with --ledger-person (person=...), by the id the tables use, or use another state.",
            )
        if person is not None and not self.named:
            raise InputError(
                "This state is one person's and was made without an id; this release names its people.",
                "If it is that person, read the table with --one-person; if not, use another state.",
            )
        return person_key(self.key, person)

    def _first_key_of(self, person: str | None, *, together: bool) -> bytes:
        """A state of the first format: one trace had the key itself, people of a fleet one derived from the bare id."""
        if person is None:
            return self.key
        if not together:
            raise InputError(
                "This state is of the first format, which drew other noise for a person alone in a table than for the "
                "same person among others: going on could give one person two noises.",
                "If every earlier release with it was this one person's, alone, read the table with --one-person; "
                "otherwise use a new state (its releases add to those made with this one).",
            )
        return hmac.new(self.key, b"sfumato person\0" + person.encode(), hashlib.sha256).digest()

    def check_class(self, prior_class: str) -> None:
        """Refuse another class of priors: the ladder was chosen for one, and promises next to nothing for a wider."""
        if self.prior_class != prior_class:
            raise InputError(
                f"This state was made for another ladder or prior class: {self.prior_class}, not {prior_class}.",
                f"Use --class {self.prior_class}, or a new state (its releases add to those made with this one).",
            )

    def check_use(self, noise_m: float, ladder: LadderTerms, instead: str = "") -> None:
        """Refuse to use the same process at another size or ladder; ``instead`` says what its own size promises."""
        if self.noise_m != noise_m:
            raise InputError(
                f"This state's noise is {self.noise_m:g} m; this release would need {noise_m:g} m.",
                f"Two sizes of the same noise would reveal the trace: use --noise {self.noise_m:g}m{instead}, or a new "
                "state (its releases add to those made with this one).",
            )
        if self.ladder != ladder:
            raise InputError(
                "This state was made with another ladder or prior class.", "Use the same class, or a new state."
            )


def person_key(key: bytes, person: str | None) -> bytes:
    """One person's key: HMAC-SHA-256 of the canonical id (of nothing in a state without ids), for every way in."""
    name = b"one person" if person is None else b"id\0" + canonical_id(person).encode()
    return hmac.new(key, b"sfumato state 2\0" + name, hashlib.sha256).digest()


def opened_state(
    state: NoiseState | str | Path,
    mechanism: ContinuingNoise,
    target: Target,
    *,
    prior_class: str,
    passphrase: str | None = None,
    save: bool = True,
    named: bool = False,
    rng: Random = None,
) -> NoiseState:
    """The person's state: as given, or created in its file before anything is released with it."""
    noise_m = mechanism.noise_m
    assert noise_m is not None
    if not isinstance(state, NoiseState):
        fresh = NoiseState.fresh(noise_m, mechanism.process(), rng, prior_class=prior_class, named=named)
        if save:
            create_state(state, fresh, passphrase=passphrase)
        state = fresh
    state.check_use(noise_m, mechanism.process(), mechanism.gives_words(state.noise_m, target))
    if randomness(rng).simulation and not state.simulation:
        raise InputError("A seed cannot be used with a real state.", "Leave the seed out, or use another state.")
    return state


def state_text(state: NoiseState, passphrase: str | None = None) -> str:
    """The file's content, encrypted when a passphrase is given."""
    body = {
        "key": base64.b64encode(state.key).decode(),
        "noise_m": state.noise_m,
        "ladder": state.ladder,
        "simulation": state.simulation,
        "prior_class": state.prior_class,
        **({} if state.format == _FIRST_FORMAT else {"named": state.named}),
    }
    body["check"] = _check(state.key, body)
    outer: dict[str, object] = {"sfumato_state": state.format, "warning": _WARNING}
    if passphrase is None:
        outer["state"] = body
    else:
        outer["encrypted"] = seal(body, passphrase, purpose=_PURPOSE, noun="state")
    return json.dumps(outer, indent=1) + "\n"


def _check(key: bytes, body: Mapping[str, object]) -> str:
    """Finds an edit of the state, which could release the same noise at two sizes; not a thief's, who has the key."""
    plain = {name: value for name, value in body.items() if name != "check"}
    return hmac.new(key, json.dumps(plain, sort_keys=True).encode(), "sha256").hexdigest()


def load_state(path: str | Path, *, passphrase: str | None = None) -> NoiseState:
    """Read a state file; refused when others may read it unencrypted, or when the passphrase is wrong."""
    file = Path(path)
    try:
        outer = json.loads(file.read_text())
        mode = file.stat().st_mode
    except OSError as error:
        raise InputError(f"Cannot read the state {file}: {error.strerror}.") from error
    except ValueError as error:
        raise InputError(f"{file} is not a state file.", "Give the file that --state wrote.") from error
    if not isinstance(outer, dict) or outer.get("sfumato_state") not in (_FIRST_FORMAT, FORMAT):
        raise InputError(
            f"{file} is not a state file of format {_FIRST_FORMAT} or {FORMAT}.", "Give the file that --state wrote."
        )
    format = int(outer["sfumato_state"])
    body = outer.get("state") or {}
    if "encrypted" in outer:
        body = unseal(outer["encrypted"], passphrase, purpose=_PURPOSE, noun="state")
    elif passphrase is not None:
        raise InputError(
            f"The state {file} is not encrypted, though a passphrase is given.",
            "Leave the passphrase out, or start a new state with it.",
        )
    elif os.name == "posix" and mode & 0o077:
        raise InputError(f"Others can read the state {file}, which undoes the noise.", f"Run: chmod 600 {file}")
    try:
        key = base64.b64decode(body["key"], validate=True)
        if not hmac.compare_digest(str(body["check"]).encode(), _check(key, body).encode()):
            raise InputError(f"The state {file} was changed after it was made.", "Restore it from a copy.")
        if (format == FORMAT) != ("named" in body):  # a file of one format that claims the other
            raise InputError(f"The state {file} was changed after it was made.", "Restore it from a copy.")
        noise_m, named = float(body["noise_m"]), bool(body.get("named", False))
        return NoiseState(
            key, noise_m, body["ladder"], bool(body["simulation"]), str(body["prior_class"]), named, format
        )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"The state {file} is damaged.", "Restore it from a copy.") from error


def create_state(path: str | Path, state: NoiseState, *, passphrase: str | None = None) -> None:
    """Write a new state: beside, flushed to disk, 0600, then linked into place; an existing file is never touched."""
    try:
        create_text(path, state_text(state, passphrase), private=True)
    except FileExistsError as error:
        raise InputError(f"The state {path} appeared meanwhile.", "Run the command again.") from error
