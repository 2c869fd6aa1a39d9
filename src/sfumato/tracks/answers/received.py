"""A release as its receiver holds it: whose it is, the law of its noise from the certificate alone, who is left out.

Every answer begins here. The certificate must be whole (its seal), must belong to this very release (the hash of its
positions and times), and must state a noise whose law is the same for everybody and known: a kernel per coordinate, or
planar Laplace steps. Noise designed for chosen secrets and rounding have no such law, and are refused.

*What is left out in turn, and why.* To judge a map of the people who were released, one day of each person is left out,
and the map made without it is asked how likely that day's points are. (Leaving out people would judge a map of people
like these: where everybody keeps to places of their own it is nearly flat, and worse than counting.) The noise of
different days must differ for that, so its constant part must have been found and taken out
(:mod:`~sfumato.tracks.answers.maps.heatmap`). Where it was not, where nobody has two days, or where there is less than
a week of one person, people are left out instead. For intervals, which are over people, people are always left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.base.arrays import BoolArray, FloatArray, IntArray, jsonable
from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.things.estimated_map import LEAST_PEOPLE
from sfumato.base.things.traces import Trace
from sfumato.base.units import count_of
from sfumato.tracks.certificates.build import ReleasedFiles, Terms, released_of
from sfumato.tracks.certificates.document import SEAL, file_facts, find_certificate, with_seal
from sfumato.tracks.certificates.verify import open_release, read_certificate, terms_of
from sfumato.tracks.io import read_trace, read_traces
from sfumato.tracks.io.tables.columns import columns_by_person
from sfumato.tracks.io.tables.kinds import as_arrow
from sfumato.tracks.noise.interface import TraceMechanism
from sfumato.tracks.noise.planar_laplace import LaplaceNoise
from sfumato.tracks.priors.kernels import Kernel, KernelTerms, White, kernel_from_dict

Release = str | Path | Trace | Sequence[tuple[str | None, Trace]] | object  # or a table

Pair = tuple[Release, str | Path | Mapping[str, object]]  # a release and its certificate


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

    def between_m(self, lags_s: npt.ArrayLike) -> FloatArray:
        """How far noise and snapping move two points so many seconds apart against one another, per coordinate."""
        apart = 2.0 * self.kernel.variance_m2 * (1.0 - self.correlation(lags_s)) + self.snap_m**2 / 6
        return np.asarray(np.sqrt(np.maximum(apart, 0.0)))


@dataclass(frozen=True, slots=True, eq=False)
class Received:
    """One certified release: (id, trace) of each person, and the law of its noise."""

    people: tuple[tuple[str | None, Trace], ...]
    law: NoiseLaw
    mechanism: str
    continuing: bool
    times: str = "keep"
    simulation: bool = False

    @property
    def points(self) -> int:
        """All people's points."""
        return sum(len(trace) for _, trace in self.people)


def receive(
    release: Release,
    certificate: str | Path | Mapping[str, object],
    *,
    format: str | None = None,
    zone: str | None = None,
    trip: str | None = None,
) -> Received:
    """The release and the law its certificate states; refused where the two do not belong together.

    A release is a file, a folder (of an archive, a dataset, or the parts of one table), a table (pandas, polars,
    Arrow), a trace, or pairs of a person's id and trace. ``zone`` is that of a table's times without one, as it was
    released; ``trip`` is a table's column of trips, where its name does not say so.
    """
    document = read_certificate(certificate)
    if isinstance(document.get("files"), list):
        of_rows = isinstance(document.get("columns"), dict)
        terms, people = _dataset(release, document, zone) if of_rows else _archive(release, document)
    else:
        terms, people = open_release(document, _people(release, document, zone, trip), format=format)
    return received_as(people, terms, simulation=bool(document.get("simulation")))


def received_as(people: Sequence[tuple[str | None, Trace]], terms: Terms, *, simulation: bool = False) -> Received:
    """People whose certificate is known to be theirs, with the law of its noise."""
    law = law_of(terms.mechanism, terms.snap_m)
    return Received(tuple(people), law, terms.mechanism.name, terms.mechanism.continuing, terms.times, simulation)


def receive_each(releases: Sequence[Path], certificates: Sequence[Path]) -> list[Received]:
    """Every release with its own certificate, none twice; where none is given, with those that lie beside them."""
    certificates = certificates or [one for one in map(find_certificate, releases) if one is not None]
    if len(releases) != len(certificates):
        raise InputError(
            f"{count_of(len(releases), 'release')} and {count_of(len(certificates), 'certificate')}.",
            "Give --certificate once for each release, in the same order, or leave each beside its release: without "
            "it the noise has no known law.",
        )
    documents = [read_certificate(one) for one in certificates]
    if len({str(one.get(SEAL)) for one in documents}) < len(documents):
        raise InputError("A release was given twice.", "Give each one once: its people would count twice.")
    return [receive(release, one) for release, one in zip(releases, documents, strict=True)]


def received_all(received: Sequence[Received | Pair]) -> list[Received]:
    """Releases received already, and pairs of a release and its certificate, which are received now."""
    if isinstance(received, Received):
        received = [received]
    return [one if isinstance(one, Received) else receive(*one) for one in received]


def check_confidence(confidence: float) -> None:
    """Refuse what is no probability."""
    if not 0 < confidence < 1:
        raise InputError(f"The confidence is {confidence:g}.", "Give a number between 0 and 1, such as 0.9.")


def laws_of(received: Sequence[Received]) -> list[NoiseLaw]:
    """The laws of their noise, each once."""
    if not received:
        raise InputError("There is no release.", "Give at least one, with its certificate.")
    return list(dict.fromkeys(one.law for one in received))


def _people(
    release: Release, document: Mapping[str, object], zone: str | None, trip: str | None
) -> str | Path | Trace | Sequence[tuple[str | None, Trace]]:
    """Tables and folders of their parts read; anything else as it is."""
    if isinstance(release, str | Path):
        parts = sorted(Path(release).glob("**/*.parquet")) if Path(release).is_dir() else []
        if not parts:
            return release
        table: object = pa.concat_tables([pq.ParquetFile(part).read() for part in parts])
    elif isinstance(release, Trace) or (isinstance(release, Sequence) and not hasattr(release, "__arrow_c_stream__")):
        return release
    else:
        table = as_arrow(release)
    alone = document.get("people") == 1
    named = {} if trip is None else {"segment": trip}
    columns = columns_by_person(names_of(table), named, one_person=alone)  # their trips, too
    if alone:
        return [(None, read_trace(table, columns=columns, zone=zone, one_person=True))]
    return list(read_traces(table, columns=columns, zone=zone))


def names_of(table: object) -> list[str]:
    """What a table's columns are called, Arrow's or another library's."""
    named: Iterable[object] = getattr(table, "column_names" if hasattr(table, "column_names") else "columns", ())
    return [str(name) for name in named]


def _sealed(release: Release, document: Mapping[str, object], whose: str) -> tuple[Path, list[dict[str, object]]]:
    """The folder, and what its certificate lists."""
    files = document["files"]
    if not isinstance(release, str | Path) or not Path(release).is_dir():
        raise InputError(f"The certificate is that of a {whose}.", "Give the folder.")
    if document.get(SEAL) != with_seal(document)[SEAL]:
        raise VerificationFailed("The certificate's own hash does not fit its content.", "It was changed.")
    return Path(release), files if isinstance(files, list) else []


def _dataset(
    release: Release, document: Mapping[str, object], zone: str | None
) -> tuple[Terms, list[tuple[str | None, Trace]]]:
    """The people of a dataset's parts, each part the file that was certified, columns as the certificate names them."""
    folder, files = _sealed(release, document, "dataset")
    noise, named = document.get("noise"), document["columns"]
    if not isinstance(noise, dict) or not isinstance(named, dict):
        raise InputError("The rows were cut, not blurred: they have no noise to take out.", "Read them as they are.")
    for file in files:
        path = folder / str(file["name"])
        if not path.is_file() or file_facts(path)["file_sha256"] != file["sha256"]:
            raise VerificationFailed(f"{file['name']} is missing or not the file that was certified.", "Get it again.")
    table = pa.concat_tables([pq.ParquetFile(folder / str(file["name"])).read() for file in files])
    columns = {str(role): str(name) for role, name in named.items()}
    if "id" in columns:
        return terms_of(noise), list(read_traces(table, columns=columns, zone=zone))
    return terms_of(noise), [(None, read_trace(table, columns=columns, zone=zone, one_person=True))]


def _archive(release: Release, document: Mapping[str, object]) -> tuple[Terms, list[tuple[str | None, Trace]]]:
    """One person's files in a folder, against the noise that the archive's certificate states for all of them."""
    folder, files = _sealed(release, document, "folder of files")
    noise, kept = document.get("noise"), document.get("kept")
    if not isinstance(noise, dict):
        raise InputError("The files were cut, not blurred: they have no noise to take out.", "Read them as they are.")
    fields = tuple(map(str, kept)) if isinstance(kept, list) else ()
    traces = [read_trace(folder / str(file["name"]), keep=fields, keep_if_there=True) for file in files]
    parts = [released_of([(None, trace)]) for trace in traces]
    if ReleasedFiles(tuple((one.points, one.digest()) for one in parts)).digest() != noise["release"]["content_sha256"]:
        raise VerificationFailed(
            "The certificate is not these files': positions or times differ.", "Give the certificate they came with."
        )
    return terms_of(noise), [(None, trace) for trace in traces]


def law_of(mechanism: TraceMechanism, snap_m: float) -> NoiseLaw:
    """The law of a mechanism's noise; refused where there is none that holds at any time for everybody."""
    described: KernelTerms = jsonable(mechanism.law() or {})
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


LONGEST_GAP_S = 600.0


@dataclass(frozen=True, slots=True, eq=False)
class Person:
    """One person's releases, each with its law."""

    releases: tuple[tuple[NoiseLaw, Trace], ...]


def people_of(received: Sequence[Received], *, each_release_a_person: bool = False) -> list[Person]:
    """People by id. Releases of one track without an id are one person's, unless each is said to be another's:
    taking one person for many would make intervals too short.
    """
    found: dict[object, list[tuple[NoiseLaw, Trace]]] = {}
    for place, one in enumerate(received):
        for identity, trace in one.people:
            key = identity if identity is not None else (place if each_release_a_person else None)
            found.setdefault(key, []).append((one.law, trace))
    return [Person(tuple(releases)) for releases in found.values()]


def is_recorded(gaps_s: FloatArray) -> BoolArray:
    """Which steps were recorded: not those across a pause (longer than ten minutes, and than three usual steps)."""
    usual = float(np.median(gaps_s)) if gaps_s.size else 0.0
    return np.asarray(gaps_s <= max(LONGEST_GAP_S, 3 * usual))


def time_weights(trace: Trace) -> FloatArray:
    """Seconds that each point stands for: half the way to its neighbours in time within its segment.

    A pause of more than ten minutes counts as ten: what happened in between is not known.
    """
    order = np.lexsort((trace.times_s, trace.segment))
    gap = np.minimum(np.diff(trace.times_s[order]), LONGEST_GAP_S)
    gap = np.where(np.diff(trace.segment[order]) == 0, gap, 0.0)
    seconds = np.zeros(len(order))
    seconds[:-1] += gap / 2
    seconds[1:] += gap / 2
    out: FloatArray = np.empty(len(order))
    out[order] = seconds
    return out


GROUPS = 20
DAY_GROUPS = 8  # enough to judge by; intervals need more
LEAST_DAYS = 7  # of one person alone
DAY_S = 86_400.0
_ALIKE = 0.01  # of the variance


def groups_of(count: int, groups: int = GROUPS) -> IntArray:
    """The group of each person (or day), 0 .. min(count, groups) - 1: the same at every run (no secret is drawn)."""
    order = np.random.default_rng(0).permutation(count)
    group: IntArray = np.empty(count, dtype=np.int64)
    group[order] = np.arange(count) % min(count, groups)
    return group


def days_of(person: IntArray, times_s: FloatArray) -> IntArray:
    """Each point's day, numbered over all people: points of one person on one day have the same number."""
    if not len(person):
        return np.zeros(0, dtype=np.int64)
    day = np.floor(times_s / DAY_S).astype(np.int64)
    day -= day.min()
    numbered: IntArray = np.unique(person * (int(day.max()) + 1) + day, return_inverse=True)[1]
    return numbered


def split(values: IntArray, parts: Sequence[int]) -> list[IntArray]:
    """Consecutive pieces of these lengths."""
    return np.split(values, np.cumsum(parts)[:-1])


def other_by_day(laws: Sequence[NoiseLaw]) -> bool:
    """Whether the noise of the next day says nothing about today's."""
    return all(float(np.asarray(law.kernel(DAY_S))) < _ALIKE * law.variance_m2 for law in laws)


def day_groups(days: IntArray, people: int) -> IntArray:
    """The group of each point by its day; one group where one of the ``people`` is all there are, for a few days."""
    count = int(days.max(initial=-1)) + 1
    if people == 1 and count < LEAST_DAYS:
        return np.zeros_like(days)
    return groups_of(count, DAY_GROUPS)[days]


def largest_share(person: Sequence[int] | IntArray, mass: Sequence[float] | None = None) -> float:
    """What the person with most points (or trips, or seconds) has of all."""
    each = np.bincount(np.asarray(person, dtype=np.int64), weights=mass)
    return float(each.max(initial=0) / max(each.sum(), 1e-300))


SEEDED = "A simulation: a release was drawn from a seed, so whoever knows it can take the noise out altogether."
TRIPS_TOLD = (
    "A trip is one segment of a track; a table tells trips apart by a column called segment, trip_id, ride ..., or one "
    "that is named (protect --trip-column NAME, sf.protect(.., trip=NAME), sf.receive(.., trip=NAME))."
)
ONE_TRIP = f"Everybody is one trip, from their first point to their last. {TRIPS_TOLD}"
MOSTLY_ONE = 0.3  # of the points
PAUSE_S = 3600.0


def release_notes(received: Sequence[Received], *, trips: bool = False) -> list[str]:
    """Of the releases: whether one was drawn from a seed, and where trips are asked for, whether they are trips."""
    return [*(pause_notes(received) if trips else []), *([SEEDED] if any(one.simulation for one in received) else [])]


def crowd_notes(people: int, largest: float, things: str, outside: int) -> list[str]:
    """Of the people on a map: too few for intervals, one who has most of the map, what lies outside."""
    said = []
    if people < LEAST_PEOPLE:
        said.append("No intervals: they are over people, and there are too few here.")
    if people > 1 and largest > MOSTLY_ONE:
        said.append(f"One person has {100 * largest:.0f} % of the {things}: the map is mostly of that person.")
    if outside:
        said.append(f"{count_of(outside, things[:-1])} outside the rectangle left out.")
    return said


def pause_notes(received: Sequence[Received]) -> list[str]:
    """A line where trips have long pauses in them, or everybody is one: no column told trips apart."""
    counts = [count_pauses(trace) for one in received for _, trace in one.people]
    with_pauses, trips = (sum(one[part] for one in counts) for part in (0, 1))
    if with_pauses:
        return [f"{with_pauses} of {trips} trips have a pause of more than an hour in them. {TRIPS_TOLD}"]
    return [ONE_TRIP] if trips == len(counts) else []


def count_pauses(trace: Trace) -> tuple[int, int]:
    """How many segments have a pause of more than an hour in them, of how many: those are hardly one trip each."""
    order = np.lexsort((trace.times_s, trace.segment))
    long = (np.diff(trace.times_s[order]) > PAUSE_S) & (np.diff(trace.segment[order]) == 0)
    return len(np.unique(trace.segment[order][1:][long])), trace.segments
