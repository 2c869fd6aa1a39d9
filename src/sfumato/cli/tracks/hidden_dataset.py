"""``sfumato hide`` of a dataset: everybody's zones cut out of their rows, in a folder that opens as a dataset."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import typer

from sfumato.base.errors import InputError, NotCertified
from sfumato.base.units import count_of, length_m
from sfumato.cli.output import print_json
from sfumato.cli.tracks.archive_faces import write_certificate
from sfumato.cli.tracks.protected_dataset import dataset_progress, say_left_out
from sfumato.tracks.certificates.sign import signer_with
from sfumato.tracks.folders.rows.dataset import DatasetReading, open_dataset
from sfumato.tracks.folders.rows.hide_dataset import DatasetLeaks, hide_dataset, places_in
from sfumato.tracks.places import Places, load_places
from sfumato.tracks.times_released import Times

_NEAR_M = 150.0


def run_hide_dataset(
    folder: Path,
    output: Path,
    places: Path,
    columns: dict[str, str] | None,
    *,
    zone: str | None,
    times: str,
    keep: list[str],
    sign: Path | None,
    refuse_within: str | None,
    certificate: Path | None,
    passphrase: str | None,
    strict: bool,
    time_zone: str | None,
    one_person: bool,
    unused: dict[str, object],
    json: bool,
) -> None:
    """Fill the output folder; what attackers find over all people is said before anything is in place."""
    given = [f"--{name}" for name, value in unused.items() if value]
    if given:
        raise InputError(
            f"A dataset that is hidden takes no {', '.join(given)}.",
            "For noise on what is left: sfumato protect of the hidden folder. To look at one person, hide that "
            "person's rows as a track.",
        )
    mine: dict[str, Places] | Places
    mine = load_places(places, passphrase=passphrase) if one_person else places_in(places, passphrase=passphrase)
    _check_zones([mine] if isinstance(mine, Places) else list(mine.values()), zone)
    limit_m, heard = None if refuse_within is None else length_m(refuse_within), list[DatasetLeaks]()

    def tested(leaks: DatasetLeaks) -> None:
        heard.append(leaks)
        if not json:
            _say_leaks(leaks)
        if limit_m is not None and leaks.nearest_m and leaks.nearest_m[0] < limit_m:
            near = sum(value < limit_m for value in leaks.nearest_m)
            raise NotCertified(
                f"An attacker comes nearer than {limit_m:g} m to {near} of {leaks.places} places.",
                "Nothing was written. Leave those people's rides out; do not draw a zone again, two zones of one "
                "place intersect.",
            )

    with dataset_progress(open_dataset(folder).rows, quiet=json) as step:
        done = hide_dataset(
            folder,
            output,
            mine,
            times=Times.parse(times),
            keep=keep,
            reading=DatasetReading(columns, time_zone, one_person),
            strict=strict,
            step=step,
            sign=None if sign is None else signer_with(sign),
            tested=tested,
        )
    write_certificate(certificate, done.document)
    if json:
        leaks = [{name: getattr(leak, name) for name in leak.__slots__} for leak in heard]
        said = {"rows": done.rows, "released": done.released, "people": done.people, "rejected": done.skipped}
        print_json({"ok": True, "private": True, **said, "leaks": leaks, "certificate": done.document})
        return
    typer.echo(f"{done.released} rows of {done.people} people in {count_of(done.parts, 'part')} in {output}.")
    typer.echo(f"{done.document['times']['meaning']} {done.rows - done.released} of {done.rows} rows are left out.")
    say_left_out(done, None)
    typer.echo(f"Certificate: {output}/_certificate.json; check it with: sfumato verify {output}")


def _check_zones(every: list[Places], zone: str | None) -> None:
    asked = None if zone is None else length_m(zone)
    other = sum(place.zone is not None and place.zone.radius_m != asked for places in every for place in places.active)
    if asked is not None and other:
        raise InputError(
            f"{other} zones were drawn with another radius than {asked:g} m.",
            "A place has one zone for ever: a second would intersect it. Choose the radius with `places add --zone`.",
        )


def _say_leaks(leaks: DatasetLeaks) -> None:
    typer.echo("Can people still be found? (private)")
    if leaks.left_out:
        typer.echo(f"  {leaks.left_out} people have no places file and are left out.")
    typer.echo(f"  {leaks.places} places of {leaks.people} people; nothing points to {leaks.unvisited} of them.")
    if leaks.nearest_m:
        lower, middle = np.quantile(leaks.nearest_m, (0.05, 0.5))
        typer.echo(
            f"  The best attacker misses the others by {middle:.0f} m (median), {lower:.0f} m (one in twenty), "
            f"{leaks.nearest_m[0]:.0f} m (nearest); {sum(m < _NEAR_M for m in leaks.nearest_m)} are found to "
            f"{_NEAR_M:g} m."
        )
