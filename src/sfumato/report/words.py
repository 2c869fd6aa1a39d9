"""A certificate in plain language. Nothing is computed here; every number is the certificate's or the audit's own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.units import format_length

# Used where a certificate brings no list of its own.
NOT_COVERED = (
    "The odds average over traces that move as assumed; one fixed or unusual trace may fare worse.",
    "An adversary with a menu of known routes, roads or places can learn more.",
    "An adversary who knows where you truly were at a nearby time.",
    "Questions about several moments together (direction, speed, the shape of the path).",
    "The times themselves, the gaps between them and the number of points: they are released as they are.",
    "A place returned to on many days or stayed at for very long, beyond what is stated for stays.",
)
_WORDS = {"heart_rate": "heart rate", "device": "recording device or program"}


def odds_words(odds: Any) -> str | None:
    """``"5 : 1"``, rounded against us; None where no odds are stated."""
    value = _number(odds)
    if value is None:
        return None
    if value >= 1000:
        return f"{math.ceil(value):,} : 1".replace(",", " ")
    places = 10 if value >= 10 else 100
    return f"{math.ceil(value * places - 1e-6) / places:g} : 1"


def headline(certificate: Mapping[str, Any]) -> str:
    """The promise in one sentence."""
    radius = format_length(_number(certificate.get("radius_m")) or 0.0)
    pointwise = certificate.get("mechanism") == "planar-laplace"
    odds = odds_words(certificate.get("odds_per_point" if pointwise else "odds_99"))
    if odds is None:
        return f"At a radius of {radius} this noise is too small for a promise in odds; the numbers are below."
    if pointwise:
        return (
            f"An adversary who sees one released point and nothing else cannot tell apart two places at most {radius} "
            f"apart with odds better than {odds} (per point; nothing is promised for the path)."
        )
    chosen = certificate.get("secrets")
    if chosen:
        every = chosen["points_protected"] == chosen["points"]
        where = "every point" if every else f"the {chosen['points_protected']} protected of {chosen['points']} points"
        rest = "" if every else " The other points are not protected."
        return (
            f"At {where}, an adversary who believes that you move in the one way assumed cannot tell apart two places "
            f"at most {radius} apart with odds better than {odds}, 99 times in 100. {chosen['limits']}{rest}"
        )
    released_only = certificate.get("mechanism") == "independent"
    when = "at the released moments" if released_only else "at any one moment"
    return (
        f"An adversary who knows how you move cannot tell apart two places at most {radius} apart, {when}, "
        f"with odds better than {odds}, 99 times in 100{_stays(certificate)}."
    )


def _stays(certificate: Mapping[str, Any]) -> str:
    """The limit of the promise that belongs into the same sentence: an unknown place is learned faster than a path."""
    stay = odds_words(certificate.get("stay_odds_99"))
    if stay is not None:
        return f"; for a place you stay at or hardly leave, with odds better than {stay}, {_where(certificate)}"
    if certificate.get("mechanism") == "independent":
        return "; a place you stay at or hardly leave is not protected"
    return ""


def explanations(certificate: Mapping[str, Any]) -> list[str]:
    """What the sentence means and where it stops, in a few more."""
    rows = []
    noise = _number(certificate.get("rms_noise_m"))
    chosen = certificate.get("secrets")
    if chosen:
        rows.append(
            f"Positions were moved at random, most around the protected points, by {format_length(noise or 0.0)} per "
            f"coordinate on average. {chosen['statement']}"
        )
    elif noise is not None:
        rows.append(
            f"Every position was moved at random by about {format_length(noise)} east or west and as much north or "
            "south. Nothing about the amount was chosen from the track."
            if not _fitted(certificate)
            else f"Every position was moved at random by about {format_length(noise)} per coordinate. The noise was "
            "shaped by a prior fitted to the track itself, so its shape tells something about the track: the claim "
            "that nothing was chosen from the track does not hold here."
        )
    if certificate.get("mechanism") != "planar-laplace" and odds_words(certificate.get("odds_99")) is not None:
        rows.append(
            "“Odds better than” is relative to what the adversary believed before: if both places seemed equally "
            f"likely, after seeing the whole release one seems at most {odds_words(certificate.get('odds_99'))} "
            "likelier than the other, 99 times in 100."
        )
    if certificate.get("mechanism") == "multiscale":
        rows.append(
            "The noise moves along with the path on many time scales at once, so averaging neighbouring points or "
            "recording more often does not remove it."
        )
    stay = odds_words(certificate.get("stay_odds_99"))
    if stay is not None and certificate.get("mechanism") == "independent":
        rows.append(
            "A place you stay at or hardly leave, and the moments between the released ones, are protected at odds of "
            f"at most {stay} only, and less with every further point."
        )
    elif stay is not None and not chosen:
        rows.append(
            f"A place you stay at or return to, however long or often, is protected too, at odds of at most {stay}, "
            f"{_where(certificate)}. So is a path that hardly leaves a place the adversary does not know."
        )
    if certificate.get("worst_loss") is None and certificate.get("mechanism") != "planar-laplace":
        rows.append(
            "This holds for the moments in this release only. The same path recorded more densely would give more "
            "away with this mechanism."
        )
    meaning = (certificate.get("releases") or {}).get("meaning")
    if meaning:
        rows.append(str(meaning))
    return rows


def cards(certificate: Mapping[str, Any], audit: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    """Big numbers: label, number, one line of meaning."""
    rows: list[tuple[str, str, str]] = []
    radius = format_length(_number(certificate.get("radius_m")) or 0.0)
    pointwise = certificate.get("mechanism") == "planar-laplace"
    odds = odds_words(certificate.get("odds_per_point" if pointwise else "odds_99"))
    stay = odds_words(certificate.get("stay_odds_99"))
    if odds is not None:
        moving = "" if stay is None else f"; for a place you stay at ≤ {stay}"
        often = "" if pointwise else f", 99 times in 100{moving}"
        when = {"planar-laplace": "for one released point", "independent": "at a released moment"}.get(
            str(certificate.get("mechanism")),
            "at a protected point" if certificate.get("secrets") else "at any one moment",
        )
        rows.append((f"Odds {when}", f"≤ {odds}", f"between two places at most {radius} apart{often}"))
    if stay is not None:
        released_only = certificate.get("mechanism") == "independent"
        fine = (
            "with this number of points" if released_only else f"however long or often you stay, {_where(certificate)}"
        )
        if certificate.get("secrets"):
            fine = "not promised: what this release allows if all protected points are one unknown place"
        rows.append(("Odds for a place you stay at", f"≤ {stay}", fine))
    noise = _number(certificate.get("rms_noise_m"))
    if noise is not None:
        rows.append(("Noise", f"± {format_length(noise)}", f"per coordinate, {_often(certificate)}"))
    smoothed = _number((audit or {}).get("rms_error_smoothed_m"))
    if smoothed is not None:
        rows.append(
            ("Left after the best attack", f"± {format_length(smoothed)}",
             "error per coordinate of an adversary who knows how you move and smooths the release")
        )  # fmt: skip
    return rows


def numbers(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The certificate's figures with their names, for those who want them."""
    order = _number(certificate.get("order"))
    rows = [
        ("Mechanism", str(certificate.get("mechanism", "not stated"))),
        ("Points", _figure(certificate.get("points"))),
        ("Radius r", _metres(certificate.get("radius_m"))),
        ("μ (Gaussian differential privacy at r)", _figure(certificate.get("mu"))),
        (_epsilon_name(certificate, order), _figure(certificate.get("epsilon"))),
        ("δ at that ε", _figure(certificate.get("delta_at_epsilon"))),
        ("Odds, 99 times in 100, either way", odds_words(certificate.get("odds_99_either_way")) or "not stated"),
        ("Odds per point, surely", odds_words(certificate.get("odds_per_point")) or "not stated"),
        ("Noise per coordinate (standard deviation)", _metres(certificate.get("rms_noise_m"))),
        ("Worst loss, any times", _per_square_metre(certificate.get("worst_loss"))),
        ("Loss at this release's times", _per_square_metre(certificate.get("loss_at_times"))),
        ("Loss for stays", _per_square_metre(certificate.get("stay_loss"))),
        ("Floor (no mechanism with this noise does better)", _per_square_metre(certificate.get("floor_loss"))),
        ("Worst loss over floor", _figure(certificate.get("loss_over_floor"))),
        ("Snapped after the noise to", _metres(certificate.get("snap_m"))),
        ("Randomness", str(certificate.get("randomness", "not stated"))),
    ]
    return [(name, value) for name, value in rows if value not in ("not stated", "")]


def audit_rows(audit: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The audit's figures with their names."""
    covered = _number(audit.get("coverage_68"))
    prior = audit.get("prior_used")
    source = prior.get("source") if isinstance(prior, Mapping) else prior
    rows = [
        ("Error of the release as it is", _metres(audit.get("rms_error_raw_m"))),
        ("Error after the adversary's smoothing", _metres(audit.get("rms_error_smoothed_m"))),
        ("Half-width of their 68% interval", _metres(audit.get("interval_68_m"))),
        ("The truth lies inside it", "" if covered is None else f"{100 * covered:.0f}% of the time"),
        ("The certificate promises at least", _metres(audit.get("floor_m"))),
        ("What the adversary assumes", "" if source is None else str(source)),
        ("Verdict", str(audit.get("verdict") or "")),
    ]
    return [(name, value) for name, value in rows if value not in ("not stated", "")]


def not_covered(certificate: Mapping[str, Any]) -> Sequence[str]:
    """The certificate's own list, in its words."""
    listed = (certificate.get("guarantee") or {}).get("not_covered")
    return [str(item) for item in listed] if listed else NOT_COVERED


def dropped_words(dropped: Sequence[str]) -> list[str]:
    """Names for people."""
    return [_WORDS.get(name, name) for name in dropped]


def _where(certificate: Mapping[str, Any]) -> str:
    """How far a promise about stays reaches: noise that continues covers all releases, redrawn noise this one."""
    if (certificate.get("releases") or {}).get("mode") == "continuing":
        return "over all releases made with the same noise state"
    return "in this release"


def interval_words(certificate: Mapping[str, Any]) -> str:
    """What plus or minus one standard deviation of the noise is called: 68% if Gaussian and everywhere alike."""
    return "68% interval" if _often(certificate).startswith("68") else "root mean square"


def _often(certificate: Mapping[str, Any]) -> str:
    uneven = certificate.get("mechanism") == "planar-laplace" or certificate.get("secrets")
    return "root mean square" if uneven else "68 times in 100"


def _epsilon_name(certificate: Mapping[str, Any], order: float | None) -> str:
    """Which ε it is: pure and per report for planar Laplace noise, Rényi for Gaussian noise."""
    if certificate.get("mechanism") == "planar-laplace":
        return "ε of one point at r (geo-indistinguishability)"
    return f"ε (Rényi, order {order:g})" if order is not None else "ε"


def _fitted(certificate: Mapping[str, Any]) -> bool:
    return bool((certificate.get("parameters") or {}).get("fitted"))


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _figure(value: Any) -> str:
    number = _number(value)
    if number is None:
        return "not stated"
    return f"{int(number):,}".replace(",", " ") if number == int(number) and abs(number) < 1e15 else f"{number:.4g}"


def _metres(value: Any) -> str:
    number = _number(value)
    return "not stated" if number is None else format_length(number)


def _per_square_metre(value: Any) -> str:
    number = _number(value)
    return "not stated" if number is None else f"{number:.4g} per m²"
