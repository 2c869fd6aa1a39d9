"""A certificate in plain language: the mechanism words its promise, numbers are the certificate's or the audit's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sfumato.base.drawing.svg import escape
from sfumato.base.numbers.odds import odds_words
from sfumato.base.units import format_length
from sfumato.tracks.adversary.audit import Audit
from sfumato.tracks.certificates.document import Certificate, thin_protection
from sfumato.tracks.noise.interface import Card

_WORDS = {"heart_rate": "heart rate", "device": "recording device or program"}


def cards(certificate: Certificate, audit: Audit | None) -> list[Card]:
    """Big numbers: those of the promise, of the noise, and of the attack."""
    rows = list(certificate.mechanism.cards(certificate.stated))
    if certificate.noise_m is not None:
        spread = f"per coordinate, {certificate.mechanism.spread_words()}"
        rows.append(Card("Noise", f"± {format_length(certificate.noise_m)}", spread))
    if audit is not None and audit.rms_error_smoothed_m is not None:
        meaning = (
            "error per coordinate of an adversary who knows how you move and smooths the release; whoever also knows "
            "the road, a moment, a regular place or a companion of yours gets nearer"
        )
        rows.append(Card("Left after smoothing", f"± {format_length(audit.rms_error_smoothed_m)}", meaning))
    return rows


def public_banner(of: str = "track") -> str:
    """What a page made from the release alone says on top."""
    return f"<strong>Public.</strong> Contains nothing of the original {of} that is not in the release."


def alarm(document: Mapping[str, object] | Certificate) -> str:
    """A red banner where the release protects nobody, nothing or hardly anything; else nothing."""
    said = thin_protection(document)
    return "".join(f'<p class="banner warning" role="alert">{escape(text)}</p>' for text in said)


def kept_words(kept: Sequence[str]) -> str:
    """Which fields are in the release as they were recorded."""
    return f"Also in the release, exactly as recorded: {', '.join(dropped_words(kept))}." if kept else ""


def numbers(certificate: Certificate) -> list[tuple[str, str]]:
    """The certificate's figures with their names, for those who want them."""
    stated, losses = certificate.stated.numbers, certificate.stated.losses
    rows = [
        ("Mechanism", certificate.mechanism.name),
        ("Points", _figure(certificate.points)),
        ("Radius r", _metres(stated.radius_m)),
        ("μ (Gaussian differential privacy at r)", _figure(stated.mu)),
        (certificate.mechanism.epsilon_words(stated.order), _figure(stated.epsilon)),
        ("δ at that ε", _figure(stated.delta_at_epsilon)),
        ("The promise: odds for where you were, 99 in 100", odds_words(stated.odds_99)),
        ("Follows from it: odds for either of two places", odds_words(stated.odds_99_either_way)),
        ("Odds per point, surely", odds_words(stated.odds_per_point)),
        ("Noise per coordinate (standard deviation)", _metres(certificate.noise_m)),
        ("Worst loss, any times", _per_square_metre(losses.worst_loss)),
        ("Loss at this release's times", _per_square_metre(losses.loss_at_times)),
        ("Loss for stays", _per_square_metre(losses.stay_loss)),
        ("Floor (no mechanism with this noise does better)", _per_square_metre(losses.floor_loss)),
        ("Worst loss over floor", _figure(certificate.loss_over_floor)),
        ("Snapped after the noise to", _metres(certificate.snap_m)),
        ("Randomness", certificate.randomness),
    ]
    return [(name, value) for name, value in rows if value]


def audit_rows(audit: Audit) -> list[tuple[str, str]]:
    """The audit's figures with their names."""
    covered = audit.coverage_68
    rows = [
        ("Error of the release as it is", _metres(audit.rms_error_raw_m)),
        ("Error after the adversary's smoothing", _metres(audit.rms_error_smoothed_m)),
        ("Half-width of their 68% interval", _metres(audit.interval_68_m)),
        ("The truth lies inside it", None if covered is None else f"{100 * covered:.0f}% of the time"),
        ("The certificate promises at least", _metres(audit.floor_m)),
        ("The same with nothing fitted to what is scored", _held_out_words(audit)),
        ("What the adversary assumes", str(audit.prior_used["source"])),
        ("Verdict", audit.verdict),
    ]
    return [(name, value) for name, value in rows if value]


def _held_out_words(audit: Audit) -> str | None:
    """Each half of the track attacked by what fits the other half."""
    if audit.held_out is None:
        return None
    error, width, inside = (audit.held_out[name] for name in ("rms_error_smoothed_m", "interval_68_m", "coverage_68"))
    return (
        f"error {format_length(error)}, half-width {format_length(width)}, truth inside {100 * inside:.0f}% of the "
        "time: each half attacked with what fits the other half, place unknown"
    )


def dropped_words(dropped: Sequence[str]) -> list[str]:
    """Names for people."""
    return [_WORDS.get(name, name) for name in dropped]


def interval_words(certificate: Certificate) -> str:
    """What plus or minus one standard deviation of the noise is called: 68% if Gaussian and everywhere alike."""
    spread = certificate.mechanism.spread_words()
    return "68% interval" if spread.startswith("68") else spread


def _figure(number: float | None) -> str | None:
    if number is None or not math.isfinite(number):
        return None
    return f"{int(number):,}".replace(",", " ") if number == int(number) and abs(number) < 1e15 else f"{number:.4g}"


def _metres(number: float | None) -> str | None:
    return None if number is None else format_length(number)


def _per_square_metre(number: float | None) -> str | None:
    return None if number is None else f"{number:.4g} per m²"
