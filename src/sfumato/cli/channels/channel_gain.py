"""``--gain``: what the adversary of g-leakage wants, from words to a gain function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.base.errors import InputError
from sfumato.base.units import length_m

if TYPE_CHECKING:
    from sfumato.base.things.cell_prior import CellPrior
    from sfumato.channels.measures.g_leakage import Gain

_ADVICE = "Write identity, tries:3, within:200m, nearness:500m or the name of a CSV of gains."


def tries_of(text: str) -> int | None:
    """The number of guesses of ``identity`` or ``tries:K`` (None for one guess); others need places."""
    if text == "identity":
        return None
    kind, _, value = text.partition(":")
    if kind == "tries" and value.isdigit() and int(value) > 0:
        return int(value)
    raise InputError(f"--gain {text} is not possible here.", "With --samples: identity or tries:3.")


def gain_of(text: str, prior: CellPrior, unit: str) -> Gain | None:
    """The gain function over the prior's symbols; None is one guess."""
    from sfumato.base.things.cell_files import read_matrix
    from sfumato.channels.measures import g_leakage as gains

    if text == "identity":
        return None
    kind, colon, value = text.partition(":")
    if kind == "tries" and value.isdigit():
        return gains.tries_gain(prior.size, int(value))
    if colon and kind in ("within", "nearness"):
        if prior.positions_m is None:
            raise InputError(f"--gain {text} needs places.", "Add x_m and y_m (or lat, lon) to the prior, or --grid.")
        try:
            radius = float(value) if unit != "m" else length_m(value)
        except ValueError as error:
            raise InputError(f"--gain {text} has no radius.", _ADVICE) from error
        build = gains.within_gain if kind == "within" else gains.distance_gain
        return build(prior.distances_m(), radius)
    if text.lower().endswith((".csv", ".json")):
        found = gains.matrix_gain(read_matrix(text))
        if found.symbols != prior.size:
            raise InputError(
                f"The gains have {found.symbols} columns for {prior.size} symbols.", "Give one column per symbol."
            )
        return found
    raise InputError(f"There is no gain '{text}'.", _ADVICE)
