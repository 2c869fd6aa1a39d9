"""What several releases of one person's traces cost together: announced ones (redraws), and those of a ledger.

A mechanism states the losses of one release; here alone they are composed, for the calibration (:func:`together`), for
the certificate (:func:`composed_losses`) and for the ledger (:func:`total_loss`).

Between two hypotheses about one moment a release with Gaussian noise is μ-Gaussian-DP with μ² = loss·r². Rules:

* Releases of one continuing noise process are one observation of one process: the universal loss counts once.
* Independent processes of the same shape (kernel up to size) add their losses. For a process with covariance G and
  sizes o_i, blockdiag(o_i·G_ii) ⪰ (Σ 1/o_i)⁻¹·G by pinching (G ⪯ blockdiag(G_ii/p_i) for Σp_i = 1); loss is monotone.
* Losses of *different* shapes do not simply add: one release can be the key to another. They are refused, as is
  everything without a loss that holds at any times (independent noise, planar Laplace): unknown is never guessed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sfumato.accountant.ledger import Entry, amount
from sfumato.errors import InputError
from sfumato.leakage.odds import mu_of
from sfumato.mechanisms.traces.interface import Losses, Together


def together(redraws: int) -> Together:
    """The loss of ``redraws`` independent releases of one shape, from that of one: they add up."""

    def rule(loss: float) -> float:
        return loss * redraws

    return rule


def composed_losses(losses: Losses, redraws: int) -> Losses:
    """What ``redraws`` releases give away together; the floor is that of one release's noise."""
    rule = together(redraws)

    def total(loss: float | None) -> float | None:
        return None if loss is None else rule(loss)

    return replace(
        losses,
        worst_loss=total(losses.worst_loss),
        stay_loss=total(losses.stay_loss),
        loss_at_times=total(losses.loss_at_times),
        basis=total(losses.basis),
        pure_epsilon_per_m=total(losses.pure_epsilon_per_m),
    )


def entry_from_certificate(certificate: Mapping[str, Any], *, process: str) -> dict[str, Any]:
    """The ledger entry of a release: its loss, the shape of its noise, and which noise process it belongs to.

    ``process`` names the noise process: the same name for every release made with one ``--state``, otherwise a new one.
    """
    loss = certificate.get("worst_loss")
    if loss is None:
        raise InputError(
            f"A release by '{certificate.get('mechanism')}' has no loss that holds for any times, so it cannot be "
            "composed.",
            "Use multiscale or prior-shaped noise for people whose releases are accounted for.",
        )
    if certificate.get("secrets"):
        raise InputError(
            "A release designed for chosen times cannot be composed with others.", "Account for it on its own."
        )
    entry = {
        "notion": "conditional inferential privacy",
        "process": process,
        "shape": _shape(certificate["noise"]),
        "loss_per_m2": loss,
        "release": (certificate.get("release") or {}).get("content_sha256"),
    }
    return {**entry, "loss_per_m2": amount(entry, "loss_per_m2")}


def _shape(noise: Mapping[str, Any]) -> str:
    """The noise kernel with its sizes divided out: equal texts are proportional covariances."""
    sizes: list[float] = []

    def collect(part: object) -> None:
        if isinstance(part, Mapping):
            if "sd_m" in part:
                sizes.append(float(part["sd_m"]))
            for value in part.values():
                collect(value)
        elif isinstance(part, list):
            for value in part:
                collect(value)

    collect(noise)
    unit = sum(size * size for size in sizes) ** 0.5 or 1.0

    def relative(part: object) -> object:
        if isinstance(part, Mapping):
            return {k: f"{float(v) / unit:.9e}" if k == "sd_m" else relative(v) for k, v in sorted(part.items())}
        if isinstance(part, list):
            return [relative(value) for value in part]
        return part

    return json.dumps(relative(noise), sort_keys=True)


def total_loss(entries: Sequence[Entry]) -> float:
    """The loss per m² of all entries together, by the rules above; 0 for none."""
    processes: dict[str, float] = {}
    shapes: set[str] = set()
    for entry in entries:
        if entry.get("notion") != "conditional inferential privacy" or "loss_per_m2" not in entry:
            raise InputError("The ledger holds an entry of an unknown notion.", "It cannot be composed; refuse.")
        if not (isinstance(entry.get("shape"), str) and isinstance(entry.get("process"), str)):
            raise InputError("An entry of the ledger does not say the shape and process of its noise.", "Refuse it.")
        shapes.add(entry["shape"])
        process = entry["process"]
        processes[process] = max(processes.get(process, 0.0), amount(entry, "loss_per_m2"))
    if len(shapes) > 1:
        raise InputError(
            "Releases with differently shaped noise do not have a known total.",
            "Keep to one mechanism and prior class per person.",
        )
    return sum(processes.values())


def total_mu(entries: Sequence[Entry], *, radius_m: float) -> float:
    """μ between two places ``radius_m`` apart at any one moment, from every release together."""
    return mu_of(total_loss(entries), radius_m)
