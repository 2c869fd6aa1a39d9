"""What a certificate says, and nothing else: built in one place, so that it can be rebuilt and compared field by field.

A certificate states the promise and everything needed to recompute it. It never holds the seed, the noise state, a
hash of the input, or anything chosen from the private trace (unless the user asked for that and it says so). Every
number and sentence is the mechanism's own, computed from the losses that the accountant composed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.accountant.compose import Guarantee, composed_losses, together
from sfumato.base.arrays import FloatArray, jsonable
from sfumato.base.errors import InputError, NotCertified, VerificationFailed
from sfumato.base.randomness import stream_words
from sfumato.base.things.frames import frame_for, snap
from sfumato.base.things.frames_loops import beside_nodes
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length, length_option
from sfumato.base.version import __version__
from sfumato.tracks.certificates.person_ids import StatedIds
from sfumato.tracks.noise.interface import Numbers, Plain, Stated, TraceMechanism
from sfumato.tracks.noise.registry import check_registered
from sfumato.tracks.plan import AS_RECORDED, Target, Times
from sfumato.tracks.priors.classes import class_name

FORMAT = 1
KIND = "sfumato trace certificate"
SMOOTHED = "sfumato smoothed track certificate"
SAME_DEG = 1.5e-7  # released degrees have seven decimals
REGION_NOISE_M = 10_000.0
COARSEST_GRID = 0.1  # of the noise per coordinate
NOTHING_DRAWN = "none: nothing was drawn"
BROWSER = "browser CSPRNG (crypto.getRandomValues)"
SOURCES = {  # what randomness may say: (drawn, simulation, continuing)
    "operating system CSPRNG (os.urandom)": (True, False, False),
    BROWSER: (True, False, False),
    "seeded generator (simulation)": (True, True, False),
    "key from the operating system CSPRNG, AES-256": (True, False, True),
    "seeded key (simulation), AES-256": (True, True, True),
    stream_words(simulation=False): (True, False, False),
    stream_words(simulation=True): (True, True, False),
    NOTHING_DRAWN: (False, False, False),
}


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """What verification sees of a release: ids, times and positions of each person, in the file's order."""

    people: tuple[str | None, ...]
    times_s: tuple[FloatArray, ...]
    lat_deg: tuple[FloatArray, ...]
    lon_deg: tuple[FloatArray, ...]

    @property
    def points(self) -> int:
        """All people's points together."""
        return sum(len(times) for times in self.times_s)

    def digest(self) -> str:
        """SHA-256 over ids, milliseconds and 1e-7 degrees: the same for every file format."""
        return content_digest(zip(self.people, self.times_s, self.lat_deg, self.lon_deg, strict=True))


def content_digest(people: Iterable[tuple[str | None, FloatArray, FloatArray, FloatArray]]) -> str:
    """:meth:`Released.digest` of ids, times (s) and degrees, one person after another."""
    digest = hashlib.sha256(b"sfumato release 1\0")
    for person, times, lat, lon in people:
        digest.update(json.dumps([person, len(times)]).encode())
        digest.update(np.rint(np.asarray(times) * 1000.0).astype("<i8").tobytes())
        digest.update(np.rint(np.asarray(lat) * 1e7).astype("<i8").tobytes())
        digest.update(np.rint(np.asarray(lon) * 1e7).astype("<i8").tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedFiles:
    """Files as one release, by points and digest of each: an archive or a dataset need not fit in memory.

    An archive is one person's; of a dataset's people only the number matters here.
    """

    contents: tuple[tuple[int, str], ...]
    people: Sequence[int | None] = (None,)
    times_s: tuple[FloatArray, ...] = ()

    @property
    def points(self) -> int:
        """All files' points together."""
        return sum(points for points, _ in self.contents)

    def digest(self) -> str:
        """SHA-256 over the digests of the files (:meth:`Released.digest`), in their order."""
        digest = hashlib.sha256(b"sfumato released files 1\0")
        for points, content in self.contents:
            digest.update(f"{points} {content}\n".encode())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Everything a certificate is computed from, beside the release itself."""

    mechanism: TraceMechanism
    target: Target
    snap_m: float
    randomness_source: str
    simulation: bool
    kept: tuple[str, ...] = ()
    times: str = "keep"
    several_files: bool = False
    ids: StatedIds | None = None
    columns: tuple[str, ...] = ()

    @property
    def own_times(self) -> bool:
        """Whether the release's times are those of one path, so that losses at them can be computed and recomputed."""
        return not self.several_files and (self.times == "keep" or Times.parse(self.times).same_intervals)


def stated_by(mechanism: TraceMechanism, target: Target, times_s: Sequence[FloatArray]) -> Stated:
    """The losses of all announced releases, and the numbers that follow; refused where the wish is not kept."""
    losses = composed_losses(mechanism.losses(times_s), mechanism.redraws)
    if not mechanism.meets(losses, target):
        raise NotCertified("The noise does not fulfil what was asked for.", "Nothing is released; report this.")
    if not mechanism.is_own(losses, target):
        raise NotCertified("The noise is not the one that was asked for.", "Nothing is released; report this.")
    blocks = mechanism.blocks(target, together(mechanism.redraws))
    return Stated(target, losses, mechanism.numbers(losses, target), blocks)


def certificate_body(terms: Terms, released: Released | ReleasedFiles) -> dict[str, Any]:
    """All that the certificate of one release says, before the code that writes it seals it."""
    mechanism, target = check_registered(terms.mechanism), terms.target
    _check_source(terms)
    _check_grid(terms)
    if isinstance(released, ReleasedFiles) != terms.several_files:
        raise NotCertified("Files are stated as one track, or one track as files.", "Nothing is released; report this.")
    refuse_other_times(terms)
    stated = stated_by(mechanism, target, released.times_s if terms.own_times else ())
    losses, members, prior = stated.losses, mechanism.holds_over(), mechanism.holds_for()
    most = max((_moments(times) for times in released.times_s), default=0)
    gridded = losses.loss_at_times is not None and members is not None
    promise = mechanism.guarantee(stated, snap_m=terms.snap_m, simulation=terms.simulation)
    _check_promise(mechanism, stated, promise)
    body: Plain = {
        "format": FORMAT,
        "sfumato": __version__,
        "kind": KIND,
        "headline": mechanism.headline(_as_read(stated)),
        "points": released.points,
        "people": len(released.people),
        **stated.numbers.to_dict(),
        "rms_noise_m": mechanism.noise_m,
        "mechanism": mechanism.name,
        "prior_class": None if members is None else {"name": class_name(members), **members.to_dict()},
        "prior": None if prior is None else prior.to_dict(),
        "worst_loss": losses.worst_loss,
        "stay_loss": losses.stay_loss,
        "loss_at_times": losses.loss_at_times,
        "loss_at_times_grid": mechanism.grid_words(most) if gridded else None,
        "floor_loss": losses.floor_loss,
        "loss_over_floor": _ratio(losses.worst_loss, losses.floor_loss),
        "epsilon_follows_from": losses.basis_name,
        "if_turning": mechanism.if_turning(stated),
        "simulation": terms.simulation,
        "guarantee": promise.to_dict(),
        "warnings": [*losses.warnings, *_size_and_kept(terms), *_double_positions(terms, released)],
        "noise": mechanism.law(),
        "parameters": mechanism.parameters(),
        "target": target.to_dict(),
        "plan": _plan(terms),
        "releases": mechanism.releases(),
        "randomness": terms.randomness_source,
        "snap_m": terms.snap_m,
        "kept": list(terms.kept),
        "times": {"released": terms.times, "meaning": _times_meaning(terms.times)},
        "several_files": terms.several_files,
        **({"columns": list(terms.columns)} if terms.columns else {}),
        **({} if terms.ids is None else {"ids": terms.ids.to_dict()}),
        "release": {"content_sha256": released.digest()},
        **stated.blocks,
    }
    return dict(jsonable(body))


def refuse_other_times(terms: Terms) -> None:
    """Refuse a promise that holds at a track's own times only, for a release that does not have them."""
    if not terms.own_times and not at_any_times(terms.mechanism):
        raise NotCertified(
            "What this mechanism promises depends on the times, which the release does not show as they were.",
            "Keep the times, or use multiscale noise, whose promise holds at any times.",
        )


def at_any_times(mechanism: TraceMechanism) -> bool:
    """Whether what is promised, for moments and for stays, is the same at whatever times."""
    one, three = (mechanism.losses([np.linspace(0.0, 2000.0, moments)]) for moments in (1, 3))
    same = (one.worst_loss, one.stay_loss) == (three.worst_loss, three.stay_loss)
    return same and one.basis_name == "worst_loss"


def _check_promise(mechanism: TraceMechanism, stated: Stated, promise: Guarantee) -> None:
    """Refuse a promise without a law behind it: who states no covariance promises nothing, and says so."""
    lawless = mechanism.kernel() is None
    if lawless != (mechanism.noise_m is None):
        raise NotCertified(
            f"The mechanism '{mechanism.name}' states a size of noise without its law, or a law without its size.",
            "It must state both, or None for both.",
        )
    if not promise.not_covered or not mechanism.headline(stated):
        raise NotCertified(
            f"The mechanism '{mechanism.name}' does not say what it promises, or what it does not cover.",
            "Its headline and the guarantee's not_covered must be said.",
        )
    numbers, losses = stated.numbers, stated.losses
    plain = Numbers(numbers.radius_m, numbers.order).to_dict() == numbers.to_dict()
    bounded = (losses.worst_loss, losses.stay_loss, losses.loss_at_times, losses.basis, losses.pure_epsilon_per_m)
    if lawless and (promise.covers or not plain or any(loss is not None for loss in bounded)):
        raise NotCertified(
            f"The mechanism '{mechanism.name}' states no law of its noise, and promises all the same.",
            "State the kernel that is drawn, or promise nothing: no number, no loss, and covers nothing.",
        )


def _plan(terms: Terms) -> Plain:
    """The plan that leads to this mechanism, quoted: what it resolved to, never a secret, a file or a key."""
    target, mechanism = terms.target, terms.mechanism
    return {
        **target.to_dict(),
        "radius_m": target.radius_m,
        "order": target.order,
        "mechanism": mechanism.name,
        "redraws": mechanism.redraws,
        **mechanism.options(),
        "snap_m": terms.snap_m,
        "keep": list(terms.kept),
    }


def _ratio(loss: float | None, floor: float | None) -> float | None:
    return None if loss is None or floor is None else loss / floor


def _in_order(times_s: FloatArray) -> bool:
    return bool((times_s[1:] > times_s[:-1]).all())


def _moments(times_s: FloatArray) -> int:
    return len(times_s) if _in_order(times_s) else len(np.unique(times_s))


def _as_read(stated: Stated) -> Stated:
    """The same as whoever reads the certificate sees it: JSON knows no infinity."""
    numbers = Numbers.from_dict(jsonable(stated.numbers.to_dict()))
    return replace(stated, numbers=numbers, blocks=jsonable(stated.blocks))


def _size_and_kept(terms: Terms) -> tuple[str, ...]:
    """Warnings about noise that leaves nothing to look at, and about fields that no noise was added to."""
    said, noise_m = [], terms.mechanism.noise_m
    if noise_m is not None and noise_m >= REGION_NOISE_M:
        said.append(
            f"Noise of {format_length(noise_m)} per coordinate leaves the region, and nothing of the way. A smaller "
            "radius or larger odds need less; to hide places, cut them out (sfumato hide)."
        )
    if terms.kept:
        said.append(
            f"Kept as recorded, without noise: {', '.join(terms.kept)}. The promise does not cover what these fields "
            "tell; a profile of heights or speeds can show which way was taken."
        )
    return tuple(said)


def _double_positions(terms: Terms, released: Released | ReleasedFiles) -> tuple[str, ...]:
    """A warning where one moment has two positions: both get the same noise, so their difference is the true one."""
    if not terms.own_times or isinstance(released, ReleasedFiles):
        return ()
    moments = 0
    for times, lat, lon in zip(released.times_s, released.lat_deg, released.lon_deg, strict=True):
        if _in_order(times):
            continue
        order = np.argsort(times, kind="stable")
        again = np.diff(times[order]) == 0
        apart = (np.abs(np.diff(lat[order])) > SAME_DEG) | (np.abs(np.diff(lon[order])) > SAME_DEG)
        moments += int(np.unique(times[order][1:][again & apart]).size)
    if not moments:
        return ()
    return (
        f"{moments} moment(s) have more than one position. Positions of one moment get the same noise, so the way "
        "from one to the other is released exactly: keep one position for each moment.",
    )


def _check_grid(terms: Terms) -> None:
    """Refuse a grid that is coarse beside the noise: odds "99 times in 100" are for the noise before it is rounded.

    At a tenth of the noise, odds passed once in 100 are passed at most 1.3 times (one point, the grid's worst phase).
    """
    noise_m = terms.mechanism.noise_m
    if noise_m is not None and terms.snap_m > COARSEST_GRID * noise_m * (1 + 1e-9):
        raise InputError(
            f"A snapping grid of {format_length(terms.snap_m)} is coarse beside {format_length(noise_m)} of noise: "
            "odds promised for the noise need not hold after such rounding.",
            f"Use --snap {length_option(COARSEST_GRID * noise_m)} or less; round the release yourself if you like, and "
            "then believe odds_99_after_coarsening instead of odds_99.",
        )


def _check_source(terms: Terms) -> None:
    mechanism = terms.mechanism
    if SOURCES.get(terms.randomness_source) != (mechanism.draws, terms.simulation, mechanism.continuing):
        raise NotCertified(
            "The source of the randomness is not one that is known, or does not fit the release.",
            "Use the operating system's (no rng), or a seed for a simulation.",
        )


def check_grid(released: Released, snap_m: float) -> None:
    """Refuse positions that are not on the public grid."""
    for lat, lon in zip(released.lat_deg, released.lon_deg, strict=True):
        near = np.zeros(len(lat), dtype=np.bool_)
        beside_nodes(lat, lon, snap_m, SAME_DEG - 5e-8, near)
        off = np.flatnonzero(~near)
        if off.size:
            again = snap(lat[off], lon[off], snap_m)
            off = off[np.maximum(np.abs(again[0] - lat[off]), np.abs(again[1] - lon[off])) > SAME_DEG]
            off = off[[not _on_a_neighbours_grid(lat[i], lon[i], snap_m) for i in off]] if off.size else off
        if off.size:
            raise VerificationFailed(
                f"{off.size} released position(s) are not on the stated {snap_m:g} m grid.",
                "The release was changed after the noise.",
            )


def _on_a_neighbours_grid(lat_deg: float, lon_deg: float, snap_m: float) -> bool:
    """A point snapped close to a cell's border may have landed just beyond it, on the grid of the cell it came from."""
    reach_deg = min(0.9, 2.0 * snap_m / 111_000.0 / max(np.cos(np.radians(lat_deg)), 0.02))
    for north in (-reach_deg, 0.0, reach_deg):
        for east in (-reach_deg, 0.0, reach_deg):
            frame = frame_for(float(np.clip(lat_deg + north, -90.0, 90.0)), lon_deg + east)
            steps = frame.to_metres([lat_deg], [lon_deg])[0] / snap_m
            if np.abs(steps - np.rint(steps)).max() * snap_m < 0.02:  # released degrees have seven decimals
                return True
    return False


def released_of(people: Sequence[tuple[str | None, Trace]]) -> Released:
    """The released view of (id, Trace) pairs."""
    return Released(
        people=tuple(person for person, _ in people),
        times_s=tuple(milliseconds_as_s(trace.times_s) for _, trace in people),
        lat_deg=tuple(trace.lat_deg for _, trace in people),
        lon_deg=tuple(trace.lon_deg for _, trace in people),
    )


def milliseconds_as_s(times_s: FloatArray) -> FloatArray:
    """Times as they are released: whole milliseconds."""
    return np.asarray(np.rint(np.asarray(times_s, dtype=np.float64) * 1000.0) / 1000.0)


def rounded_times(trace: Trace) -> Trace:
    """The same trace at whole milliseconds, which is how times are released."""
    times = milliseconds_as_s(trace.times_s)
    return trace if np.array_equal(times, trace.times_s) else replace(trace, times_s=times)


def _times_meaning(times: str) -> str:
    return AS_RECORDED if times == "keep" else Times.parse(times).sentence()


def drowning_warnings(noise_m: float | None, sizes: Sequence[float]) -> list[str]:
    """A warning where the noise is larger than a whole track; private, since ``sizes`` (m) are of the originals."""
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
