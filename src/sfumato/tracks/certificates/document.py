"""A certificate as a document: written once, with one canonical text and one seal; read again as a checked record.

The seal is a SHA-256 of the certificate's own canonical text: it finds accidents and careless edits. It is not a
signature; whoever can rewrite the file can seal it again. The JSON is for files and people; report, audit and the
command line read the record. A certificate of an unknown, unregistered or incomplete mechanism has no record, so
nobody words it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Required, TypedDict

from sfumato.accountant.compose import Guarantee, Losses
from sfumato.base.arrays import jsonable
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.files import write_text
from sfumato.base.numbers.odds import AS_PROMISED, HARDLY_ANY, mu_of, odds_at, odds_words, reached_words
from sfumato.base.shown import Shown
from sfumato.tracks.certificates.build import FORMAT, KIND
from sfumato.tracks.noise.gaussian_noise import about_people
from sfumato.tracks.noise.interface import (
    NO_TURNING,
    Blocks,
    MechanismTerms,
    Numbers,
    SecretsBlock,
    Stated,
    TraceMechanism,
)
from sfumato.tracks.noise.registry import check_registered, mechanism_from_dict
from sfumato.tracks.plan import Target
from sfumato.tracks.priors.classes import ClassTerms
from sfumato.tracks.priors.kernels import KernelTerms

SEAL = "certificate_sha256"
SIGNATURE = "signature"
Written = Mapping[str, object]  # a certificate as its JSON, not yet checked
LEAST_RADIUS_M = 100.0  # a tiny radius cannot flatter


class ReleaseFields(TypedDict, total=False):
    """What a certificate says of the release it belongs to."""

    content_sha256: Required[str]
    file_sha256: str
    file_bytes: int


class CertificateFields(TypedDict, total=False):
    """A certificate as its JSON, as far as it is read; the numbers of the promise stand beside these."""

    format: int
    kind: str
    sfumato: str
    mechanism: str
    parameters: MechanismTerms
    target: dict[str, float | None]
    radius_m: float
    order: float
    epsilon_follows_from: str
    prior_class: ClassTerms | None
    prior: KernelTerms | None
    points: int
    people: int
    simulation: bool
    randomness: str
    releases: dict[str, str | int | float]
    snap_m: float
    kept: list[str]
    times: dict[str, str]
    several_files: bool
    columns: list[str]
    ids: dict[str, str]
    release: ReleaseFields
    guarantee: dict[str, object]
    warnings: list[str]
    secrets: SecretsBlock
    signature: dict[str, str]


def fields_of(document: Written) -> CertificateFields:
    """The document with the types that its readers go by; whether it holds them is checked where it is read."""
    fields: CertificateFields = jsonable(dict(document))
    return fields


def key_words(public_key: str) -> str:
    """A public key (base64) as six words that can be read over the telephone: 96 bits of its SHA-256, as proquints."""
    digest = hashlib.sha256(base64.b64decode(public_key)).digest()
    numbers = [int.from_bytes(digest[at : at + 2], "big") for at in range(0, 12, 2)]
    letters = (("bdfghjklmnprstvz", 12), ("aiou", 10), ("bdfghjklmnprstvz", 6), ("aiou", 4), ("bdfghjklmnprstvz", 0))
    return "-".join("".join(kind[number >> down & len(kind) - 1] for kind, down in letters) for number in numbers)


def is_words(text: str) -> bool:
    """Whether a text is a key in words, with hyphens or spaces between them."""
    return re.fullmatch(r"[a-z]{5}([- ][a-z]{5}){5}", text.strip().lower()) is not None


def canonical(value: Written) -> bytes:
    """One text for one meaning: sorted keys, no spaces, shortest floats, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


class Sealed(dict[str, Any], Shown):
    """A certificate as its JSON, with a card in notebooks."""

    __slots__ = ()

    def write(self, path: str | Path) -> None:
        """To a file, in the very text that ``verify`` expects, whole or not at all."""
        write_text(Path(path), certificate_text(self))


def with_seal(body: Written, sign: Callable[[Written], Mapping[str, str]] | None = None) -> Sealed:
    """The body with the hash of its canonical text; ``sign`` puts a signature of the body under it first."""
    plain = {key: value for key, value in jsonable(dict(body)).items() if key != SEAL}
    if sign is not None:
        plain[SIGNATURE] = dict(sign(plain))
    return Sealed({**plain, SEAL: hashlib.sha256(canonical(plain)).hexdigest()})


def certificate_text(document: Written) -> str:
    """A certificate as it is written to a file."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


CERTIFICATE_NAME = "_certificate.json"  # of a dataset, in its folder


def certificate_beside(release: Path) -> Path:
    """Where the certificate of a file or folder is written unless it is said where: beside it, by its whole name."""
    return release.with_name(f"{release.name}.certificate.json")


def find_certificate(release: Path) -> Path | None:
    """The certificate in a released folder, or beside a release by its whole name or as .json; None: there is none."""
    places = (release / CERTIFICATE_NAME, certificate_beside(release), release.with_suffix(".json"))
    return next((path for path in places if path.is_file() and path != release), None)


_OTHER_FILES = {
    b"<gpx": "a GPX track",
    b"<!doctype html": "a web page (HTML)",
    b"<html": "a web page (HTML)",
    b"<kml": "a KML file",
    b"<trainingcenterdatabase": "a TCX file",
    b"par1": "a Parquet file",
    b"pk\x03\x04": "a .zip file",
}


def refuse_other_files(path: Path) -> None:
    """A release or a report in the place of a certificate is told as what it is."""
    with path.open("rb") as file:
        begins = file.read(2048).lower()
    for mark, words in _OTHER_FILES.items():
        if mark in begins:
            raise InputError(
                f"{path.name} is {words}, and no certificate.", "Give the JSON file written beside the release."
            )


def with_file(body: Written, path: str | Path) -> dict[str, object]:
    """The body with the hash and size of the file the release was written to."""
    return {**body, "release": {**fields_of(body)["release"], **file_facts(path)}}


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


@dataclass(frozen=True, slots=True, eq=False)
class Certificate(Shown):
    """What a certificate states; ``stated`` holds its numbers and losses, ``mechanism`` answers for their meaning."""

    mechanism: TraceMechanism
    stated: Stated
    guarantee: Guarantee
    version: str
    points: int
    people: int
    noise_m: float | None
    loss_over_floor: float | None
    snap_m: float
    kept: tuple[str, ...]
    randomness: str
    simulation: bool
    warnings: tuple[str, ...]
    content_sha256: str
    times: str = "keep"
    ids: str = ""

    def __post_init__(self) -> None:
        check_registered(self.mechanism)

    @classmethod
    def of(cls, document: Written | Certificate) -> Certificate:
        """The record of a certificate's JSON; refused with words where it is no whole certificate."""
        if isinstance(document, Certificate):
            return document
        try:
            if document["format"] != FORMAT or document["kind"] != KIND:
                raise InputError("This is not a sfumato trace certificate of a known format.", "Check the file.")
            return cls._read(fields_of(document))
        except KeyError as error:
            raise InputError(
                f"The certificate does not state {error}.", "Use a certificate written by sfumato protect."
            ) from error
        except (TypeError, ValueError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError("A field of the certificate has the wrong type.", "It was changed.") from error

    @classmethod
    def _read(cls, document: CertificateFields) -> Certificate:
        mechanism = mechanism_from_dict(document["parameters"])
        if document["mechanism"] != mechanism.name:
            raise InputError("The certificate names two mechanisms.", "It was changed.")
        numbers, wish, plain = Numbers.from_dict(jsonable(document)), document["target"], dict(document)
        basis_name = str(document["epsilon_follows_from"])
        losses = Losses(
            worst_loss=_number(plain["worst_loss"]),
            stay_loss=_number(plain["stay_loss"]),
            loss_at_times=_number(plain["loss_at_times"]),
            floor_loss=_number(plain["floor_loss"]),
            basis=_number(plain.get(basis_name)),
            basis_name=basis_name,
            warnings=tuple(str(warning) for warning in document["warnings"]),
        )
        target = Target(numbers.radius_m, wish["odds"], wish["epsilon"], wish["noise_m"], numbers.order)
        blocks: Blocks = jsonable({name: document.get(name) for name in ("secrets", "bound") if name in document})
        return cls(
            mechanism=mechanism,
            stated=Stated(target, losses, numbers, blocks),
            guarantee=Guarantee.from_dict(document["guarantee"]),
            version=str(document["sfumato"]),
            points=int(document["points"]),
            people=int(document["people"]),
            noise_m=_number(plain["rms_noise_m"]),
            loss_over_floor=_number(plain["loss_over_floor"]),
            snap_m=float(document["snap_m"]),
            kept=tuple(str(name) for name in document["kept"]),
            randomness=str(document["randomness"]),
            simulation=bool(document["simulation"]),
            warnings=losses.warnings,
            content_sha256=str(document["release"]["content_sha256"]),
            ids=str(document.get("ids", {}).get("meaning", "")),
            times=str(document["times"]["released"]) if "times" in document else "keep",
        )

    @property
    def headline(self) -> str:
        """The promise in one sentence."""
        return self.words(self.mechanism.headline(self.stated))

    def words(self, text: str) -> str:
        """A sentence to the person it is about, or, of several people, about them."""
        return about_people(text) if self.people > 1 else text


def _number(value: object) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]


def worst_odds(document: Written | Certificate, radius_m: float | None = None) -> float | None:
    """The worst of the stated odds at ``radius_m`` (None: the stated radius, 100 m at least); None: none is stated."""
    stated = Certificate.of(document).stated
    numbers, losses, secrets = stated.numbers, stated.losses, stated.blocks.get("secrets")
    at = max(numbers.radius_m, LEAST_RADIUS_M) if radius_m is None else radius_m
    every = [losses.basis, losses.stay_loss, losses.worst_loss]
    if secrets:
        every += [secrets["loss_over_class"], secrets.get("offset_loss")]  # since 0.2.0
    found = [_gaussian_odds(loss, at) for loss in every if loss is not None]
    if numbers.odds_per_point is not None:
        found.append(_power(numbers.odds_per_point, at / numbers.radius_m))
    return max(found, default=None)


def thin_protection(document: Written | Certificate | None) -> list[str]:
    """A warning in words where ``verify`` would not call this release protected; None states no noise."""
    if document is None:
        return []
    record = Certificate.of(document)
    if record.simulation:
        return ["SIMULATION: a seed was given; whoever knows it takes the noise away. This protects nobody."]
    radius_m = max(record.stated.numbers.radius_m, LEAST_RADIUS_M)
    protection, why = stated_protection(record, worst_odds(record), radius_m)
    if protection == "as promised":
        return []
    return [f"Warning: this protects {'nothing' if protection == 'none' else 'hardly anything'}. {why}"]


def _gaussian_odds(loss: float, radius_m: float) -> float:
    try:
        return odds_at(mu_of(loss, radius_m))
    except (OverflowError, ValueError):
        return math.inf


def _power(odds: float, exponent: float) -> float:
    try:
        return math.pow(odds, exponent)
    except OverflowError:
        return math.inf


def stated_protection(record: Certificate, odds: float | None, radius_m: float) -> tuple[str, str]:
    """``none``, ``hardly any`` or ``as promised``, and why, from the worst odds at a radius."""
    if record.simulation:
        return "none", "A simulation: whoever knows the seed takes the noise away."
    if odds is None:
        return "none", "The certificate states no odds."
    words = f"The worst odds it states are {odds_words(odds)} between places {radius_m:g} m apart."
    if odds <= AS_PROMISED * (1 + 1e-9):
        return "as promised", words
    return ("hardly any" if odds <= HARDLY_ANY else "none"), words


def refuse_long_odds(body: Written) -> None:
    """Noise at chosen times hides no place from somebody who knows how people move: then cutting it out does."""
    secrets = fields_of(body).get("secrets")
    if secrets is None:
        return
    odds = secrets["odds_99_over_class"]
    if odds is None or odds > AS_PROMISED:
        raise NotCertified(
            f"Over the class of movements the odds for these secrets are {reached_words(odds)}, worse than "
            f"{AS_PROMISED:g} : 1.",
            "To hide places, cut them out: sfumato hide rides/ -o shared/ --places me.places. To release anyway, as "
            "the published mechanisms must, add --accept-odds.",
        )


def promise_lines(document: Written, *, advice: bool = False) -> list[str]:
    """Headline, figures and warnings of one certificate (of the noise, where it is an archive's or a dataset's)."""
    said = Certificate.of(document)
    lines = [
        said.headline,
        *said.mechanism.figures(said.stated),
        *([NO_TURNING] if said.mechanism.if_turning(said.stated) is None else []),
        *(said.mechanism.advice(said.stated, simulation=said.simulation) if advice else ()),
        *(f"Warning: {warning}" for warning in said.warnings),
        *thin_protection(document),
    ]
    return [said.words(line) for line in lines]


def smooth_lines(document: Written) -> list[str]:
    """How a smooth release was made, and that nobody can tell unless it is signed."""
    if "derived" not in document:
        return []
    derived: dict[str, str] = jsonable(document["derived"])
    unsigned = "Nobody can tell from it that it was made so: sign it (--sign), or publish the noisy release as well."
    return [f"Smooth: {derived['how']}. {derived['meaning']}", *([] if "signature" in document else [unsigned])]
