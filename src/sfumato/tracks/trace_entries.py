"""A trace's release in a person's ledger: its entry, from what its registered mechanism states, and what entries total.

An entry is computed from the mechanism, never copied from the certificate: a loss that is not the mechanism's own is
refused, and so is everything without a loss that holds at any times (independent noise, planar Laplace). How entries
add up is :func:`sfumato.accountant.compose.composition`'s business.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isclose
from typing import TypedDict

import numpy as np

from sfumato.accountant.compose import INFERENTIAL, Guarantee, composed_losses, composition, trace_release
from sfumato.accountant.ledger import Entry, amount
from sfumato.base.arrays import jsonable
from sfumato.base.errors import InputError
from sfumato.tracks.noise.interface import MechanismTerms
from sfumato.tracks.noise.registry import mechanism_from_dict


class EntryFields(TypedDict, total=False):
    """What an entry needs of a certificate."""

    parameters: MechanismTerms
    mechanism: str
    worst_loss: float | None
    secrets: object
    release: dict[str, str]


def entry_from_certificate(certificate: Mapping[str, object], *, process: str) -> dict[str, object]:
    """The ledger entry of a release: its loss, the shape of its noise, and which noise process it belongs to.

    ``process`` names the noise process: the same name for every release made with one ``--state``, otherwise a new one.
    """
    fields: EntryFields = jsonable(dict(certificate))
    if not isinstance(fields.get("parameters"), dict):
        raise InputError("The certificate does not describe its mechanism.", "Use one written by sfumato protect.")
    mechanism, loss = mechanism_from_dict(fields["parameters"]), fields.get("worst_loss")
    if fields.get("mechanism") != mechanism.name:
        raise InputError("The certificate names two mechanisms.", "It was changed.")
    if loss is None:
        raise InputError(
            f"A release by '{mechanism.name}' has no loss that holds for any times, so it cannot be composed.",
            "Use multiscale or prior-shaped noise for people whose releases are accounted for.",
        )
    if fields.get("secrets"):
        raise InputError(
            "A release designed for chosen times cannot be composed with others.", "Account for it on its own."
        )
    loss = amount({"loss_per_m2": loss}, "loss_per_m2")
    own = composed_losses(mechanism.losses([np.zeros(1)]), mechanism.redraws).worst_loss  # the same for any times
    law = mechanism.law()
    if own is None or law is None or not isclose(loss, own, rel_tol=1e-9):
        raise InputError("The certificate's loss is not that of its mechanism.", "It was changed: protect again.")
    return {
        "notion": INFERENTIAL,
        "process": process,
        "shape": _shape(law),
        "loss_per_m2": loss,
        "release": (fields.get("release") or {}).get("content_sha256"),
    }


def _sizes(part: object) -> list[float]:
    """Every ``sd_m`` in a description."""
    if isinstance(part, list):
        return [size for each in part for size in _sizes(each)]
    if not isinstance(part, Mapping):
        return []
    return [float(value) for key, value in part.items() if key == "sd_m"] + _sizes(list(part.values()))


def _shape(noise: Mapping[str, object]) -> str:
    """The noise kernel with its sizes divided out: equal texts are proportional covariances."""
    unit = sum(size * size for size in _sizes(noise)) ** 0.5 or 1.0

    def relative(part: object) -> object:
        if isinstance(part, Mapping):
            return {k: f"{float(v) / unit:.9e}" if k == "sd_m" else relative(v) for k, v in sorted(part.items())}
        if isinstance(part, list):
            return [relative(value) for value in part]
        return part

    return json.dumps(relative(noise), sort_keys=True)


def total_loss(entries: Sequence[Entry]) -> float:
    """The loss per m² of all entries together, by the accountant's rule; 0 for none."""
    if not entries:
        return 0.0
    total = composition([_statement(entry) for entry in entries], reporting="every-cycle")
    return float(total.parameters["loss_per_m2"])


def _statement(entry: Entry) -> Guarantee:
    if entry.get("notion") != INFERENTIAL or "loss_per_m2" not in entry:
        raise InputError("The ledger holds an entry of an unknown notion.", "It cannot be composed; refuse.")
    if not (isinstance(entry.get("shape"), str) and isinstance(entry.get("process"), str)):
        raise InputError("An entry of the ledger does not say the shape and process of its noise.", "Refuse it.")
    return trace_release(amount(entry, "loss_per_m2"), process=str(entry["process"]), shape=str(entry["shape"]))
