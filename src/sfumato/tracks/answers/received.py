"""A release as its receiver holds it: released people, and the law of the noise, from the certificate alone.

Every answer begins here. The certificate must be whole (its seal), must belong to this very release (the hash of its
positions and times), and must state a noise whose law is the same for everybody and known: a kernel per coordinate, or
planar Laplace steps. Noise designed for chosen secrets and rounding have no such law, and are refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.build import ReleasedFiles, Terms, released_of
from sfumato.tracks.certificates.document import SEAL, sealed
from sfumato.tracks.certificates.verify import Document, opened, read_certificate, terms_of
from sfumato.tracks.io import read_trace, read_traces
from sfumato.tracks.noise.interface import TraceMechanism
from sfumato.tracks.noise.planar_laplace import LaplaceNoise
from sfumato.tracks.priors.kernels import Kernel, White, kernel_from_dict

Release = str | Path | Trace | Sequence[tuple[str | None, Trace]] | object  # or a table

Pair = tuple[Release, str | Path | Document]  # a release and its certificate


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """The noise of one release, per coordinate, before it was snapped to a public grid of ``snap_m``.

    ``epsilon_per_m`` is set for planar Laplace steps (independent, not Gaussian); ``kernel`` is the covariance.
    """

    kernel: Kernel
    snap_m: float
    epsilon_per_m: float | None = None

    @property
    def variance_m2(self) -> float:
        """Of one released coordinate around the true one: the noise, and s²/12 for the snapping."""
        return self.kernel.variance_m2 + self.snap_m**2 / 12

    @property
    def noise_m(self) -> float:
        """The root of it."""
        return math.sqrt(self.variance_m2)

    def of_variance(self, variance_m2: float) -> NoiseLaw:
        """Noise of another variance (snapping included), independent from moment to moment."""
        return NoiseLaw(White(math.sqrt(variance_m2)), 0.0)

    def correlation(self, lags_s: npt.ArrayLike) -> FloatArray:
        """ρ(d) of the noise of one coordinate at two moments d seconds apart (1 at the same moment)."""
        return np.asarray(self.kernel(lags_s)) / self.kernel.variance_m2


@dataclass(frozen=True, slots=True, eq=False)
class Received:
    """One certified release: (id, trace) of each person, and the law of its noise."""

    people: tuple[tuple[str | None, Trace], ...]
    law: NoiseLaw
    mechanism: str
    continuing: bool
    times: str = "keep"

    @property
    def points(self) -> int:
        """All people's points."""
        return sum(len(trace) for _, trace in self.people)


def receive(
    release: Release,
    certificate: str | Path | Document,
    *,
    format: str | None = None,
) -> Received:
    """The release and the law its certificate states; refused where the two do not belong together.

    A release is a file, a folder (of an archive, or of the parts of one table), a table (pandas, polars, Arrow), a
    trace, or pairs of a person's id and trace.
    """
    document = read_certificate(certificate)
    if isinstance(document.get("files"), list):
        terms, people = _archive(release, document)
    else:
        terms, people = opened(document, _people(release, document), format=format)
    return received_as(people, terms)


def received_as(people: Sequence[tuple[str | None, Trace]], terms: Terms) -> Received:
    """People whose certificate is known to be theirs, with the law of its noise."""
    law = law_of(terms.mechanism, terms.snap_m)
    return Received(tuple(people), law, terms.mechanism.name, terms.mechanism.continuing, terms.times)


def received_all(received: Sequence[Received | Pair]) -> list[Received]:
    """Releases received already, and pairs of a release and its certificate, which are received now."""
    if isinstance(received, Received):
        received = [received]
    return [one if isinstance(one, Received) else receive(*one) for one in received]


def _people(release: Release, document: Document) -> str | Path | Trace | Sequence[tuple[str | None, Trace]]:
    """Tables and folders of their parts read; anything else as it is."""
    if isinstance(release, str | Path):
        parts = sorted(Path(release).glob("**/*.parquet")) if Path(release).is_dir() else []
        if not parts:
            return release
        table: object = pa.concat_tables([pq.ParquetFile(part).read() for part in parts])
    elif isinstance(release, Trace) or (isinstance(release, Sequence) and not hasattr(release, "__arrow_c_stream__")):
        return release
    else:
        table = release
    if document.get("people") == 1:
        return [(None, read_trace(table, one_person=True))]
    return list(read_traces(table))


def _archive(release: Release, document: Document) -> tuple[Terms, list[tuple[str | None, Trace]]]:
    """One person's files in a folder, against the noise that the archive's certificate states for all of them."""
    noise = document.get("noise")
    if not isinstance(release, str | Path) or not Path(release).is_dir():
        raise InputError("The certificate is that of a folder of files.", "Give the folder.")
    if not isinstance(noise, dict):
        raise InputError("The files were cut, not blurred: they have no noise to take out.", "Read them as they are.")
    if document.get(SEAL) != sealed(document)[SEAL]:
        raise VerificationFailed("The certificate's own hash does not fit its content.", "It was changed.")
    kept = tuple(str(name) for name in document.get("kept", ()))
    traces = [
        read_trace(Path(release) / str(file["name"]), keep=kept, keep_if_there=True) for file in document["files"]
    ]
    parts = [released_of([(None, trace)]) for trace in traces]
    if ReleasedFiles(tuple((one.points, one.digest()) for one in parts)).digest() != noise["release"]["content_sha256"]:
        raise VerificationFailed(
            "The certificate is not these files': positions or times differ.", "Give the certificate they came with."
        )
    return terms_of(noise), [(None, trace) for trace in traces]


def law_of(mechanism: TraceMechanism, snap_m: float) -> NoiseLaw:
    """The law of a mechanism's noise; refused where there is none that holds at any time for everybody."""
    described = mechanism.law() or {}
    if isinstance(mechanism, LaplaceNoise):
        return NoiseLaw(mechanism.kernel(), snap_m, mechanism.epsilon_per_m)
    try:
        kernel = kernel_from_dict(described)
    except InputError:
        kernel = None
    if kernel is None or not kernel.variance_m2 > 0 or not mechanism.gaussian:
        raise InputError(
            f"The noise of '{mechanism.name}' has no one law that a receiver could take out.",
            "Answers need multiscale, prior-shaped, mixed, independent or planar-laplace releases.",
        )
    return NoiseLaw(kernel, snap_m)
