"""What a reader may demand of a release beyond the verdict: ``odds=5,radius=200m,class=day,no-kept,signed``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.base.errors import InputError
from sfumato.base.units import length_m
from sfumato.tracks.certificates.document import SIGNATURE
from sfumato.tracks.priors.classes import PRIOR_CLASSES

_VALUED, _PLAIN = ("odds", "radius", "class"), ("no-kept", "signed", "releases")
_ADVICE = "For instance --require odds=5,radius=200m,class=day,no-kept,signed,releases."


def parse_requirements(text: str) -> dict[str, str]:
    """The demands by name; an unknown one is refused, so that a slip of the pen never passes for a check."""
    asked: dict[str, str] = {}
    for part in (piece.strip() for piece in text.split(",")):
        name, equals, value = part.partition("=")
        if name in asked or (name not in _VALUED if equals else name not in _PLAIN) or (equals and not value):
            raise InputError(f"'{part}' cannot be required.", _ADVICE)
        asked[name] = value
    if "class" in asked and asked["class"] not in PRIOR_CLASSES:
        raise InputError(f"There is no class '{asked['class']}'.", f"Classes: {', '.join(PRIOR_CLASSES)}.")
    if "odds" in asked:
        try:
            if not float(asked["odds"]) > 1:
                raise ValueError
        except ValueError:
            raise InputError("The odds required are not a number above 1.", _ADVICE) from None
    return asked


def unmet(text: str, document: Mapping[str, Any], *, worst: Callable[[float | None], float | None]) -> tuple[str, ...]:
    """Which demands the certificate does not meet; ``worst`` gives its worst odds at a radius."""
    asked = parse_requirements(text)
    out: list[str] = []
    radius_m = length_m(asked["radius"]) if "radius" in asked else None
    if radius_m is not None and "odds" not in asked and float(document["radius_m"]) < radius_m * (1 - 1e-9):
        out.append(f"radius={asked['radius']}: it promises {document['radius_m']:g} m")
    if "odds" in asked:
        odds = worst(radius_m)
        if odds is None or not odds <= float(asked["odds"]) * (1 + 1e-6):
            at = "" if radius_m is None else f" at {asked['radius']}"
            out.append(f"odds={asked['odds']}{at}: it states {'none' if odds is None else f'{odds:.4g}'}")
    if "class" in asked:
        members = document.get("prior_class") or {}
        order = list(PRIOR_CLASSES)
        name = members.get("name")
        if name not in order or order.index(name) < order.index(asked["class"]):
            out.append(f"class={asked['class']}: it holds over {name or 'no class'}")
    if "no-kept" in asked and document["kept"]:
        out.append(f"no-kept: it holds {', '.join(document['kept'])}")
    if "signed" in asked and not document.get(SIGNATURE):
        out.append("signed: nobody signed it")
    mode = document["releases"]
    if "releases" in asked and mode["mode"] == "redrawn" and int(mode.get("redraws", 1)) < 2:
        out.append("releases: of how many releases this is one, nobody knows")
    return tuple(out)
