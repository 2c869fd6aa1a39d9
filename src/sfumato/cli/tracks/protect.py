"""The command ``protect``: a track, a table, an archive or a dataset in; a release with its certificate out.

Run by spark-submit, which takes this very file, it is ``sfumato protect ... --engine spark``::

    job=$(python -c "import sfumato.cli.tracks.protect as job; print(job.__file__)")
    spark-submit --master yarn --num-executors 8 "$job" hdfs:///rides -o hdfs:///shared --user-column user_id
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import typer

from sfumato.accountant.ledger import record
from sfumato.base.errors import InputError
from sfumato.base.files import Staged, checked_target, remove_leftovers
from sfumato.base.units import format_length, length_m
from sfumato.cli import command_of
from sfumato.cli.output import print_json
from sfumato.cli.tracks.archive_faces import named_columns, passphrase_in, runs_on_spark, say_worst_group
from sfumato.tracks.certificates.build import drowning_warnings
from sfumato.tracks.certificates.document import (
    Certificate,
    certificate_beside,
    certificate_text,
    promise_lines,
    refuse_long_odds,
    smooth_lines,
    with_file,
    with_seal,
)
from sfumato.tracks.certificates.person_ids import list_beside, list_text
from sfumato.tracks.certificates.sign import signer_with
from sfumato.tracks.certificates.state import NoiseState, create_state, load_state
from sfumato.tracks.io import output_format, read_trace, write_trace
from sfumato.tracks.io.archive import members
from sfumato.tracks.io.formats import format_named, format_of, is_archive, is_dataset
from sfumato.tracks.noise.registry import MECHANISMS
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.people.noise import DrawnFrom, Protected, protect_by
from sfumato.tracks.plan import Plan, Wishes
from sfumato.tracks.trace_entries import entry_from_certificate, total_loss

if TYPE_CHECKING:
    from sfumato.tracks.folders.staging import Sign
    from sfumato.tracks.people.results import ProtectedFleet

# What protect --json prints beside certificate and outputs, all of it from the certificate.
FIELDS = (
    *("points", "people", "epsilon", "order", "radius_m", "mu", "odds_99", "odds_99_either_way", "odds_per_point"),
    *("delta_at_epsilon", "rms_noise_m", "mechanism", "prior_class", "worst_loss", "stay_loss", "stay_odds_99"),
    *("loss_at_times", "floor_loss", "loss_over_floor", "simulation", "warnings", "releases"),
)
_LENGTHS = ("radius_m", "noise_m", "snap_m", "round_to_m")
_FOR_ONE = "A ledger entry is for one person."
_wish = partial(typer.Option, rich_help_panel="The wish, said otherwise")
_noise = partial(typer.Option, rich_help_panel="The mechanism and its options")
_read = partial(typer.Option, rich_help_panel="How the input is read")
_shown = partial(typer.Option, rich_help_panel="What is released, and how")
_proof = partial(typer.Option, rich_help_panel="Certificate, pages and ledger")
_where = partial(typer.Option, rich_help_panel="Noise that continues, and where it runs")


@dataclass(frozen=True, slots=True)
class ProtectOptions:
    """What ``sfumato protect`` takes; fields of a plan have the plan's names."""

    inputs: list[str] = typer.Argument(
        ...,
        metavar="INPUT...",
        help="The track: GPX, GeoJSON, CSV, Parquet, KML, TCX, FIT ...; or one person's archive: folders, several "
        "files, patterns, .gz, .zip, exports of Strava, Garmin and Google; or a dataset of many people: a folder that "
        "holds Parquet files only (with --engine spark at any address that Hadoop knows: hdfs://, s3a://, file://).",
    )
    output: str = typer.Option(
        ...,
        "--output",
        "-o",
        metavar="PATH",
        help="The release; its ending names the format. A folder for an archive or a dataset.",
    )
    radius_m: str = typer.Option(
        "200m", "--radius", help="Places up to this far apart stay indistinguishable (m, km, ft, mi)."
    )
    odds: float | None = typer.Option(None, help="Odds between two such places, 99 times in 100. Default 5.")
    noise_m: str | None = typer.Option(
        None, "--noise", help="Instead of odds: the noise per coordinate (m, km); states the rest."
    )
    level: str | None = typer.Option(None, help="Instead of odds: low, medium or high (odds 20, 5, 2).")
    keep: list[str] = typer.Option([], help="Keep this field of the track, e.g. elevation; repeat for more.")
    times: str = typer.Option("keep", help="keep, shift, relative, drop or coarse:5min: which times are released.")
    certificate: Path | None = typer.Option(None, help="Where the certificate goes (JSON); else beside the release.")
    report: Path | None = typer.Option(None, help="Write the private report (HTML, 0600, shows the original) here.")
    state: Path | None = typer.Option(
        None, help="The person's noise state (made if absent, 0600): later releases continue the noise."
    )
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else.")
    epsilon: float | None = _wish(None, help="Instead of odds: the Rényi epsilon of order --order.")
    order: float = _wish(5.0, help="Rényi order, greater than 1.")
    mechanism: str = _noise("multiscale", help=f"One of {', '.join(MECHANISMS)}.")
    prior_class: str = _noise(
        "day",
        "--class",
        help="Length scales covered: day (10 s - 6 h), week or year (for daily sharing). With --secrets nothing is "
        "promised over it: it is what secrets.loss_over_class is computed for.",
    )
    prior: str | None = _noise(
        None, help="For prior-shaped and mixed: a preset's name, 'preset' for the default one, or 'fit'."
    )
    white_share: float | None = _noise(
        None, help="Share of the noise variance that is white (multiscale 0.05, mixed 0.1)."
    )
    constant_share: float | None = _noise(None, help="Share that is constant per person (multiscale about 0.2).")
    redraws: int = _noise(1, help="Without --state: one of this many releases, each with redrawn noise.")
    round_to_m: str | None = _noise(
        None, "--round-to", help="Round to a public grid of this size after the noise (m, km)."
    )
    turning: bool = _noise(
        False, "--turning", help="Promise it to people who tend to turn one way round, too (a third more noise)."
    )
    secrets: str | None = _noise(
        None, help="Protect chosen times only: a GeoJSON of places, windows:10min, stays, or indices."
    )
    accept_odds: bool = _noise(
        False, "--accept-odds", help="With --secrets: release although the odds over the class are worse than 20 : 1."
    )
    format: str | None = _read(None, help="The input's format, where ending and content do not tell.")
    time_zone: str | None = _read(None, help="Time zone of times that name none, e.g. Europe/Paris or UTC.")
    column: list[str] = _read([], help="Name a table's column by role, e.g. lat=Y; repeat for more.")
    user_column: str | None = _read(None, help="The column that says whose each row is (the same as --column id=...).")
    trip_column: str | None = _read(None, help="The column that tells a person's trips apart (--column segment=...).")
    one_person: bool = _read(
        False, "--one-person", help="All rows of a table and all files of a folder are one person's."
    )
    strict: bool = _read(
        False,
        "--strict",
        help="Write nothing if a file of an archive, or a row of a table of people or a dataset, cannot be used.",
    )
    lenient: bool = _read(
        False, "--lenient", help="Exit with 0 although files of an archive could not be used or released."
    )
    snap_m: str = _shown("0.1m", "--snap", help="Grid that released positions are snapped to, after the noise (m).")
    style: str = _shown(
        "noisy",
        help="noisy: the points as the noise left them; smooth: the likeliest track given them, with the same promise, "
        "fit to look at (the noisy points are then not written).",
    )
    ids: str | None = _shown(
        None, help="random: people get new ids, and a private list leads back (the default); keep: as they are."
    )
    output_format: str | None = _shown(None, help="The release's format, where the ending does not tell.")
    keep_names: bool = _shown(False, "--keep-names", help="For an archive: keep the files' names.")
    sign: Path | None = _proof(None, help="Sign the certificate with the Ed25519 key in this PEM file.")
    no_certificate: bool = _proof(False, "--no-certificate", help="Write no certificate: nobody can check the release.")
    public_report: Path | None = _proof(None, help="Write the report without the original here.")
    report_person: str | None = _proof(
        None, help="For a table of people: the reports are about this one person (an id)."
    )
    ledger: Path | None = _proof(
        None, help="Enter the release in this ledger (JSON, 0600) first; refused if it would pass the ledger's cap."
    )
    ledger_person: str | None = _proof(None, help="Whose release this is: for the ledger, and for a state with ids.")
    cap: float | None = _proof(None, help="Start the ledger with this cap: the loss per m² all releases may sum to.")
    passphrase_file: Path | None = _where(None, help="Encrypt or open the state with the passphrase in this file.")
    engine: str = _where("local", help="For a dataset: local (all cores of this machine) or spark.")
    master: str | None = _where(
        None, help="With --engine spark: the cluster, e.g. local[2] or spark://host:7077; spark-submit's by default."
    )
    seed: int | None = _where(None, help="A simulation with this seed: anybody can repeat it, so it protects nothing.")

    @property
    def sources(self) -> list[Path]:
        """The input's files and folders."""
        return [Path(one) for one in self.inputs]

    @property
    def paths(self) -> dict[str, Path]:
        """What is written, by its name."""
        named = ("certificate", self._certificate), ("report", self.report), ("public_report", self.public_report)
        return {"release": Path(self.output), **{name: path for name, path in named if path is not None}}

    @property
    def _certificate(self) -> Path | None:
        """Beside the release unless said otherwise; datasets hold their own, a file without times has none."""
        timeless = self.times == "drop" and not is_archive(self.sources)
        if self.certificate is not None or self.no_certificate or timeless or is_dataset(self.sources):
            return self.certificate
        return None if self.engine == "spark" else certificate_beside(Path(self.output))

    @property
    def packed(self) -> bool:
        """Whether the input is one file, packed."""
        return len(self.inputs) == 1 and self.sources[0].is_file() and self.sources[0].suffix.lower() == ".gz"

    @property
    def reading(self) -> TableReading:
        """How columns are read."""
        named = (("id", self.user_column), ("segment", self.trip_column))
        pairs = [*self.column, *(f"{role}={name}" for role, name in named if name is not None)]
        return TableReading(named_columns(pairs) if pairs else None, self.time_zone, self.one_person)

    def plan(self, keep: Sequence[str]) -> Plan:
        """The plan of its options; lengths are written with their units."""
        wishes = {name: getattr(self, name) for name in Wishes.__annotations__}
        lengths = {name: length_m(wishes[name]) for name in _LENGTHS if wishes[name] is not None}
        return Plan(**{**wishes, **lengths, "keep": keep})

    def signer(self) -> Sign | None:
        """What signs the certificate."""
        return None if self.sign is None else signer_with(self.sign)

    def enter(self, body: Mapping[str, object], process: str | None = None) -> None:
        """Enter a release of one noise process before it is written: a failed write only overstates what was lost."""
        if self.ledger is None:
            return
        if not self.ledger_person:
            raise InputError(_FOR_ONE, "Name them with --ledger-person, and protect one trace.")
        advice = "Continue the person's noise (--state) so that its releases count once, add noise, or stop here."
        entry = entry_from_certificate(body, process=process or uuid4().hex)
        record(self.ledger, self.ledger_person, entry, total_loss, cap=self.cap, advice=advice)


def register(app: typer.Typer) -> None:
    """Add ``protect`` to the app."""
    described = "Protect a trace: add noise to it and certify what it still gives away."
    app.command("protect", help=described)(command_of(ProtectOptions, protect))


def protect(asked: ProtectOptions) -> None:
    """Write the release, and the certificate and reports that were asked for: all of them, or none."""
    named = [*asked.sources, *asked.paths.values(), *([] if asked.state is None else [asked.state])]
    resolved = [path.expanduser().resolve() for path in named]
    if len(set(resolved)) != len(resolved):
        raise InputError("Two of the files named are the same.", "Give every input and output a name of its own.")
    spark = _on_spark(asked)
    archive = spark or (is_archive(asked.sources) and not asked.packed)
    if asked.passphrase_file is not None and asked.state is None and not archive:
        raise InputError("A passphrase is given but no state.", "Use --passphrase-file together with --state.")
    if asked.style != "noisy" and (archive or asked.style != "smooth"):
        words = "An archive is released as it is, noise and all" if archive else f"There is no style '{asked.style}'"
        raise InputError(f"{words}.", "Leave --style out, or protect one track or table with --style smooth.")
    if asked.report_person is not None and archive:
        raise InputError("--report-person is for a table of several people.", "Leave it out.")
    if asked.times == "drop" and asked.certificate is not None and not archive:
        raise InputError(
            "A certificate is checked against the release's times, and none are released.",
            "Leave the certificate out, or use --times relative or coarse:5min.",
        )
    if spark or (archive and is_dataset(asked.sources)):
        import_module("sfumato.cli.tracks.protect_folders").protect_dataset_folder(asked, spark=spark)
    elif archive:
        import_module("sfumato.cli.tracks.protect_folders").protect_archive_folder(asked)
    else:
        _protect_people(asked)


def _protect_people(asked: ProtectOptions) -> None:
    """One track or one table: released, measured, entered, written; what cannot be written is refused before."""
    for path in asked.paths.values():
        checked_target(path)
    passphrase = passphrase_in(asked.passphrase_file) if asked.passphrase_file else None
    held = load_state(asked.state, passphrase=passphrase) if asked.state is not None and asked.state.exists() else None
    with next(iter(members(asked.sources))).path() if asked.packed else nullcontext(asked.sources[0]) as source:
        done = _released(asked, source, held)
    if not asked.accept_odds:
        refuse_long_odds(done.body)
    together: dict[str, object] = {}
    if not isinstance(done, Protected):
        if asked.ledger is not None:
            raise InputError(_FOR_ONE, "Name them with --ledger-person, and protect one trace.")
        together = say_worst_group(done.worst_group(), done.body, quiet=asked.json)
    elif asked.report_person is not None:
        raise InputError("--report-person is for a table of several people.", "Leave it out.")
    asked.enter(done.body, None if done.state is None else done.state.process)
    document = _write(asked, done, passphrase)
    if asked.json:
        summary = {name: document.get("source", document)[name] for name in FIELDS}
        written = {name: str(path) for name, path in asked.paths.items()}
        read = done.points_read.to_dict()
        print_json({**summary, "certificate": document, "outputs": written, **together, "points_read": read})
        return
    _say_release(document, done, {**asked.paths, **({} if asked.state is None else {"state": asked.state})})


def _released(asked: ProtectOptions, source: Path, held: NoiseState | None) -> Protected | ProtectedFleet:
    """The people of a file, protected; a new state is not saved here, but with the files of the release."""
    reading, drawn = asked.reading, DrawnFrom(state=held or asked.state, rng=asked.seed, save_state=False)
    person = asked.ledger_person if held is not None and held.named else None  # of a file without ids
    if not source.exists():
        raise InputError(f"There is no file or folder {source}.", "Check its name.")
    if (format_named(asked.format) if asked.format else format_of(source)).people:
        door = import_module("sfumato.tracks.people.door")
        people = door.PeopleRead.of(source, reading, format=asked.format, keep=asked.keep)
        plan = asked.plan(people.kept)
        done: Protected | ProtectedFleet = people.protect(plan, person=person, strict=asked.strict, **drawn)
        return done
    how = {"zone": reading.zone, "columns": reading.columns, "one_person": reading.one_person}
    trace = read_trace(source, format=asked.format, keep=asked.keep, **how)  # type: ignore[arg-type]
    plan = asked.plan((*trace.columns, *trace.texts))
    return protect_by(plan, trace, person=person, **drawn)


def _say_release(document: Mapping[str, object], done: Protected | ProtectedFleet, paths: dict[str, Path]) -> None:
    """What was promised, in a few sentences of the mechanism's; everything else is in the certificate."""
    inner = document.get("source", document)
    assert isinstance(inner, dict)
    said = Certificate.of(inner)
    crowd = "" if said.people == 1 else f" of {said.people} people (each with noise of their own)"
    size = "" if said.noise_m is None else f" noise of {format_length(said.noise_m)} per coordinate"
    typer.echo(f"Protected {said.points} points{crowd} with {said.mechanism.name}{size}.")
    for line in (
        *promise_lines(inner, advice=True),
        *drowning_warnings(said.noise_m, done.spans_m()),
        *smooth_lines(document),
        *([inner["ids"]["meaning"]] if "ids" in inner else []),
    ):
        typer.echo(line)
    if words := done.points_read.sentence():
        typer.echo(words)
    counted = {f"{reason} ({count})" for reason, count in done.points_read.why.items()}
    if others := [name for name in done.dropped if name not in counted]:
        typer.echo(f"Left out: {', '.join(others)}.")
    new_ids = {"ids": list_beside(paths["release"])} if inner.get("ids", {}).get("released") == "random" else {}
    if hasattr(done, "chain_words") and (words := done.chain_words()):  # of several people
        typer.echo(words)
    if said.times == "drop":
        typer.echo("No certificate: without times nobody could check it. --times relative or coarse:5min has one.")
    typer.echo("Written:")
    for name, path in (paths | new_ids).items():
        private = "  (private: keep it to yourself)" if name in ("report", "state", "ids") else ""
        typer.echo(f"  {name.replace('_', ' '):<15}{path}{private}")


def _on_spark(asked: ProtectOptions) -> bool:
    spark = runs_on_spark(asked.engine, asked.master, [*asked.inputs, asked.output])
    if spark and len(asked.inputs) != 1:
        raise InputError("Spark protects one dataset at a time.", "Give the folder of its Parquet files.")
    return spark


def _write(asked: ProtectOptions, done: Protected | ProtectedFleet, passphrase: str | None) -> dict[str, Any]:
    """Every file that was asked for, or none; a new state is in place before the release is."""
    paths, signer = asked.paths, asked.signer()
    chosen, times = output_format(paths["release"], asked.output_format).name, done.terms.times != "drop"
    document: dict[str, Any]
    smoothed, pairs = None, [] if isinstance(done, Protected) else done.done.id_pairs
    whose = asked.report_person and dict(pairs).get(asked.report_person, asked.report_person)
    with Staged() as staged:
        if asked.style == "smooth":
            command = import_module("sfumato.cli.tracks.answers.smooth")
            smoothed = command.smooth_release(done, with_seal(done.body, signer), quiet=asked.json)
            written = staged.add(paths["release"], partial(smoothed.write, format=chosen))
            ways = import_module("sfumato.tracks.answers.ways.smooth_tracks")
            document = ways.smoothed_certificate(smoothed, written, signer)
        else:
            written = staged.add(paths["release"], lambda path: _write_release(done, path, chosen, times=times))
            document = with_seal(with_file(done.body, written), signer)
        if "certificate" in paths:
            staged.add_text(paths["certificate"], certificate_text(document))
        for name, private in (("report", True), ("public_report", False)):
            if name in paths:
                pages = import_module("sfumato.pages.report.fleet_page")
                text = pages.page_of(done, document, smoothed, private=private, person=whose)
                staged.add_text(paths[name], text, private=private)
        if pairs:
            staged.add_text(list_beside(paths["release"]), list_text(pairs), private=True)
        if asked.state is not None and not asked.state.exists() and done.state is not None:
            create_state(asked.state, done.state, passphrase=passphrase)
        staged.commit(last=paths["release"])
        remove_leftovers(*([] if asked.state is None else [asked.state]))
    return document


def _write_release(done: Protected | ProtectedFleet, path: Path, format: str, *, times: bool) -> None:
    if isinstance(done, Protected):
        return write_trace(done.release, path, format=format, times=times)
    import_module("sfumato.tracks.io.tables.point_table").write_fleet_table(done.done.table, path, format=format)


if __name__ == "__main__":  # by spark-submit
    sys.argv[1:] = ["protect", *sys.argv[1:], "--engine", "spark"]
    import_module("sfumato.cli").main()
