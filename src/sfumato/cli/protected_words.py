"""What every ``protect`` says at the end: the promise in the mechanism's words, and what to take care of."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sfumato.certificates.build import REGION_NOISE_M
from sfumato.certificates.document import Certificate, thin_protection
from sfumato.frames import unroll
from sfumato.mechanisms.traces.interface import Json
from sfumato.traces import Trace
from sfumato.units import format_length


def promise_lines(document: Json, *, advice: bool = False) -> list[str]:
    """Headline, figures and warnings of one certificate (of the noise, where it is an archive's or a dataset's)."""
    said = Certificate.of(document)
    return [
        said.headline,
        *said.mechanism.figures(said.stated),
        *(said.mechanism.advice(said.stated, simulation=said.simulation) if advice else ()),
        *(f"Warning: {warning}" for warning in said.warnings),
        *thin_protection(document),
    ]


def drowned(noise_m: float | None, originals: Iterable[Trace]) -> list[str]:
    """A warning where the noise is larger than a whole track; private, since it is about the original."""
    sizes = [float(np.hypot(*np.ptp(unroll(trace.lat_deg, trace.lon_deg), axis=0))) for trace in originals]
    small = [size for size in sizes if noise_m is not None and size < noise_m]
    if noise_m is None or noise_m >= REGION_NOISE_M or not small:  # the certificate warns of still larger noise
        return []
    whose = f"the whole track ({format_length(small[0])} across)"
    if len(sizes) > 1:
        whose = f"the whole track of {len(small)} of {len(sizes)} people"
    return [
        f"Warning: the noise ({format_length(noise_m)}) is larger than {whose}: nothing of the way is left. Ask "
        "for a smaller --radius or larger --odds; to hide places only, cut them out with sfumato hide."
    ]


def smooth_lines(document: Json) -> list[str]:
    """How a smooth release was made, and that nobody can tell unless it is signed."""
    if "derived" not in document:
        return []
    how, meaning = (document["derived"][name] for name in ("how", "meaning"))
    unsigned = "Nobody can tell from it that it was made so: sign it (--sign), or publish the noisy release as well."
    return [f"Smooth: {how}. {meaning}", *([] if "signature" in document else [unsigned])]
