"""The command ``protect``: a track in, a release with its certificate and reports out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import typer

from sfumato.base.errors import InputError, NotCertified
from sfumato.cli.output import print_json
from sfumato.cli.tracks import protect_options as options

if TYPE_CHECKING:
    from sfumato.base.things.traces import Trace
    from sfumato.tracks.people.protection import Protected, ProtectedFleet
    from sfumato.tracks.plan import Plan

# What protect --json prints beside certificate and outputs, all of it from the certificate.
FIELDS = (
    *("points", "people", "epsilon", "order", "radius_m", "mu", "odds_99", "odds_99_either_way", "odds_per_point"),
    *("delta_at_epsilon", "rms_noise_m", "mechanism", "prior_class", "worst_loss", "stay_loss", "stay_odds_99"),
    *("loss_at_times", "floor_loss", "loss_over_floor", "simulation", "warnings", "releases"),
)
_TABLES = ("csv", "parquet", "geoparquet")


def register(app: typer.Typer) -> None:
    """Add ``protect`` to the app."""
    app.command("protect", help="Protect a trace: add noise to it and certify what it still gives away.")(protect)


def protect(
    inputs: list[str] = options.SOURCES,
    output: str = options.OUTPUT,
    radius: str = options.RADIUS,
    odds: float | None = options.ODDS,
    epsilon: float | None = options.EPSILON,
    noise: str | None = options.NOISE,
    level: str | None = options.LEVEL,
    order: float = options.ORDER,
    mechanism: str = options.MECHANISM,
    prior_class: str = options.PRIOR_CLASS,
    prior: str | None = options.PRIOR,
    white_share: float | None = options.WHITE_SHARE,
    constant_share: float | None = options.CONSTANT_SHARE,
    redraws: int = options.REDRAWS,
    secrets: str | None = options.SECRETS,
    state: Path | None = options.STATE,
    passphrase_file: Path | None = options.PASSPHRASE_FILE,
    certificate: Path | None = options.CERTIFICATE,
    sign: Path | None = options.SIGN,
    report: Path | None = options.REPORT,
    public_report: Path | None = options.PUBLIC_REPORT,
    ledger: Path | None = options.LEDGER,
    ledger_person: str | None = options.LEDGER_PERSON,
    cap: float | None = options.CAP,
    keep: list[str] = options.KEEP,
    snap: str = options.SNAP,
    time_zone: str | None = options.TIME_ZONE,
    column: list[str] = options.COLUMN,
    user_column: str | None = options.USER_COLUMN,
    one_person: bool = options.ONE_PERSON,
    format: str | None = options.FORMAT,
    output_format: str | None = options.OUTPUT_FORMAT,
    times: str = options.TIMES,
    accept_odds: bool = options.ACCEPT_ODDS,
    keep_names: bool = options.KEEP_NAMES,
    strict: bool = options.STRICT,
    style: str = options.STYLE,
    report_person: str | None = options.REPORT_PERSON,
    engine: str = options.ENGINE,
    master: str | None = options.MASTER,
    seed: int | None = options.SEED,
    json: bool = options.JSON,
) -> None:
    """Write the release, and the certificate and reports that were asked for: all of them, or none."""
    from sfumato.base.units import length_m
    from sfumato.tracks.io.archive import members
    from sfumato.tracks.io.formats import is_archive, is_dataset
    from sfumato.tracks.plan import Plan

    sources = [Path(one) for one in inputs]
    outputs = {"release": Path(output), "certificate": certificate, "report": report, "public_report": public_report}
    paths = {name: path for name, path in outputs.items() if path is not None}
    _check_paths(sources, paths, state)
    spark = _on_spark(engine, master, inputs, output)
    packed = len(sources) == 1 and sources[0].is_file() and sources[0].suffix.lower() == ".gz"
    archive = spark is not None or (is_archive(sources) and not packed)
    passphrase = _passphrase(passphrase_file, state or (paths["release"] if archive else None))
    column = column if user_column is None else [*column, f"id={user_column}"]
    whole = spark is not None or (archive and is_dataset(sources))
    datasets = import_module("sfumato.cli.tracks.protected_dataset") if whole else None
    people: list[tuple[str | None, Trace]] = []
    if not archive:
        with next(iter(members(sources))).path() if packed else nullcontext(sources[0]) as source:
            named = named_columns(column)
            people = read_people(source, format=format, zone=time_zone, columns=named, keep=keep, one_person=one_person)
    plan = Plan(
        radius_m=length_m(radius),
        odds=odds,
        epsilon=epsilon,
        noise_m=None if noise is None else length_m(noise),
        level=level,
        order=order,
        mechanism=mechanism,
        prior_class=prior_class,
        prior=prior,
        white_share=white_share,
        constant_share=constant_share,
        redraws=redraws,
        secrets=secrets,
        snap_m=length_m(snap),
        keep=[*people[0][1].columns, *people[0][1].texts] if people else (),
        times=times,
    )
    if style != "noisy" and (archive or style != "smooth"):
        words = "An archive is released as it is, noise and all" if archive else f"There is no style '{style}'"
        raise InputError(f"{words}.", "Leave --style out, or protect one track or table with --style smooth.")
    if report_person is not None and (archive or len(people) < 2):
        raise InputError("--report-person is for a table of several people.", "Leave it out.")
    if datasets is not None:
        asked = (named_columns(column), time_zone, one_person, tuple(keep), (keep_names, output_format))
        datasets.run_protect_dataset(
            sources[0],
            paths,
            plan,
            asked,
            (state, passphrase),
            sign and _signer(sign),
            (strict, seed, spark),
            (ledger, ledger_person, cap),
            json=json,
        )
        return
    if archive:
        reading, signer = (format, time_zone, named_columns(column), tuple(keep), one_person), sign and _signer(sign)
        accounted, how = (ledger, ledger_person, cap), (keep_names, strict, output_format)
        import_module("sfumato.cli.tracks.protected_archive").run_protect_archive(
            sources, paths, plan, reading, (state, passphrase), accounted, signer, how, seed, json=json
        )
        return
    if plan.times == "drop" and certificate is not None:
        raise InputError(
            "A certificate is checked against the release's times, and none are released.",
            "Leave the certificate out, or use --times relative or coarse:5min.",
        )
    new_state = state is not None and not state.exists()
    done = _protect(plan, people, ledger_person, state, passphrase, seed)
    _check_odds(done, accepted=accept_odds)
    fleet = None if len(people) < 2 else import_module("sfumato.cli.tracks.protected_fleet")
    together = {} if fleet is None else fleet.companions(done, json=json)
    if ledger is not None:
        _enter(done, ledger, ledger_person, cap)
    shown = (style == "smooth", report_person, json)
    document = _write(done, paths, output_format, (state, new_state), passphrase, sign, shown)
    if json:
        summary = {name: document.get("source", document)[name] for name in FIELDS}
        written = {name: str(path) for name, path in paths.items()}
        counted = {"points_read": done.points_read.to_dict()}
        print_json({**summary, "certificate": document, "outputs": written, **together, **counted})
        return
    _say(document, done, {**paths, **({} if state is None else {"state": state})})


def _on_spark(engine: str, master: str | None, inputs: list[str], output: str) -> tuple[str, str, str | None] | None:
    """The dataset's and the release's address, letter for letter, and the cluster; None for this machine."""
    if engine not in ("local", "spark"):
        raise InputError(f"There is no engine '{engine}'.", "Engines: local, spark.")
    if engine == "spark":
        if len(inputs) != 1:
            raise InputError("Spark protects one dataset at a time.", "Give the folder of its Parquet files.")
        return inputs[0], output, master
    far = [one for one in (*inputs, output) if "://" in one]
    if far or master is not None:
        what = f"{far[0]} is not on this machine" if far else "--master is for Spark"
        raise InputError(f"{what}.", "Add --engine spark, which reads and writes any address that Hadoop knows.")
    return None


def _check_paths(sources: list[Path], paths: dict[str, Path], state: Path | None) -> None:
    named = [*sources, *paths.values(), *([] if state is None else [state])]
    resolved = [path.expanduser().resolve() for path in named]
    if len(set(resolved)) != len(resolved):
        raise InputError("Two of the files named are the same.", "Give every input and output a name of its own.")


def _check_odds(done: Protected | ProtectedFleet, *, accepted: bool) -> None:
    """Noise at chosen times hides no place from somebody who knows how people move: then cutting it out does."""
    from sfumato.base.numbers.odds import AS_PROMISED, reached_words

    secrets = done.body.get("secrets")
    if not isinstance(secrets, dict) or accepted:
        return
    odds = secrets.get("odds_99_over_class")
    if odds is None or odds > AS_PROMISED:
        said = reached_words(odds)
        raise NotCertified(
            f"Over the class of movements the odds for these secrets are {said}, worse than {AS_PROMISED:g} : 1.",
            "To hide places, cut them out: sfumato hide rides/ -o shared/ --places me.places. To release anyway, as "
            "the published mechanisms must, add --accept-odds.",
        )


def _passphrase(file: Path | None, state: Path | None) -> str | None:
    if file is None:
        return None
    if state is None:
        raise InputError("A passphrase is given but no state.", "Use --passphrase-file together with --state.")
    try:
        text = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise InputError(f"Cannot read the passphrase file {file}.", "Put the passphrase on its first line.") from error
    if not text or not text[0]:
        raise InputError("The passphrase file is empty.", "Put the passphrase on its first line.")
    return text[0]


def named_columns(pairs: list[str]) -> dict[str, str] | None:
    """``role=name`` pairs of ``--column`` as a mapping."""
    columns = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    if len(columns) != len(pairs):
        raise InputError("A --column is not of the form role=name.", "For instance --column lat=Y --column time=when.")
    return columns or None


def read_people(
    source: Path,
    *,
    format: str | None,
    zone: str | None,
    columns: dict[str, str] | None,
    keep: Sequence[str] = (),
    one_person: bool,
) -> list[tuple[str | None, Trace]]:
    """One person, or the people of a table with an id column."""
    from sfumato.tracks.io import read_trace, read_traces
    from sfumato.tracks.io.formats import format_named, format_of

    if not source.exists():
        raise InputError(f"There is no file or folder {source}.", "Check its name.")
    chosen = format_named(format) if format else format_of(source)
    if chosen.name in _TABLES:
        from sfumato.tracks.people.people import column_names, columns_by_person

        if not one_person:
            columns = columns_by_person(column_names(source), columns) or None
        people = read_traces(source, format=format, zone=zone, columns=columns, keep=keep, one_person=one_person)
        return [(person or None, trace) for person, trace in people]
    return [(None, read_trace(source, format=format, zone=zone, columns=columns, keep=keep, one_person=one_person))]


def _protect(
    plan: Plan,
    people: list[tuple[str | None, Trace]],
    person: str | None,
    state: Path | None,
    passphrase: str | None,
    seed: int | None,
) -> Protected | ProtectedFleet:
    """One person or a fleet; a new state is not saved here, but with the files of the release."""
    from sfumato.tracks.certificates.state import load_state
    from sfumato.tracks.people.protection import protect_by, protect_fleet

    held = load_state(state, passphrase=passphrase) if state is not None and state.exists() else None
    kept, secret = (state if held is None else held), (passphrase if held is None else None)
    if len(people) > 1:
        named = [(str(identity), trace) for identity, trace in people]
        return protect_fleet(plan, named, state=kept, passphrase=secret, save_state=False, rng=seed)
    identity, trace = people[0]
    if identity is None and held is not None and held.named:
        identity = person  # a file without ids, and a state that knows people by them
    whose = identity if state is not None else None
    return protect_by(plan, trace, state=kept, person=whose, passphrase=secret, save_state=False, rng=seed)


def _enter(done: Protected | ProtectedFleet, ledger: Path, person: str | None, cap: float | None) -> None:
    """Enter the release before it is written: a refused one leaves no file, a failed write only overstates."""
    from sfumato.tracks.people.protection import Protected

    if not isinstance(done, Protected):
        raise InputError("A ledger entry is for one person.", "Name them with --ledger-person, and protect one trace.")
    process = uuid4().hex if done.state is None else done.state.process
    enter(done.body, process, ledger, person, cap)


def enter(body: Mapping[str, Any], process: str, ledger: Path, person: str | None, cap: float | None) -> None:
    """Enter a release of one noise process in a person's ledger; refused where it would pass the cap."""
    from sfumato.accountant.ledger import record
    from sfumato.tracks.trace_entries import entry_from_certificate, total_loss

    if not person:
        raise InputError("A ledger entry is for one person.", "Name them with --ledger-person, and protect one trace.")
    advice = "Continue the person's noise (--state) so that its releases count once, add noise, or stop here."
    record(ledger, person, entry_from_certificate(body, process=process), total_loss, cap=cap, advice=advice)


def _write(
    done: Protected | ProtectedFleet,
    paths: dict[str, Path],
    output_format: str | None,
    kept: tuple[Path | None, bool],
    passphrase: str | None,
    sign: Path | None,
    shown: tuple[bool, str | None, bool],
) -> dict[str, Any]:
    """Every file that was asked for, or none; a new state is in place before the release is."""
    from sfumato.base.files import Staged, remove_leftovers
    from sfumato.tracks import io
    from sfumato.tracks.certificates.document import certificate_text, with_file, with_seal
    from sfumato.tracks.certificates.state import create_state
    from sfumato.tracks.people.protection import Protected

    chosen, times = io.output_format(paths["release"], output_format).name, done.terms.times != "drop"
    signer, (smooth, person, quiet) = None if sign is None else _signer(sign), shown
    document: dict[str, Any]
    with Staged() as staged:
        if smooth:
            style = import_module("sfumato.cli.tracks.protected_smooth")
            document, smoothed = style.stage_smooth(done, staged, paths["release"], chosen, signer, quiet=quiet)
        elif isinstance(done, Protected):
            release = done.release
            written = staged.add(
                paths["release"], lambda path: io.write_trace(release, path, format=chosen, times=times)
            )
        else:
            fleet = import_module("sfumato.cli.tracks.protected_fleet")
            written = staged.add(paths["release"], lambda path: fleet.write_fleet(done.releases, path, format=chosen))
        if not smooth:
            document, smoothed = with_seal(with_file(done.body, written), signer), None
        if "certificate" in paths:
            staged.add_text(paths["certificate"], certificate_text(document))
        for name, private in (("report", True), ("public_report", False)):
            if name in paths:
                pages = import_module("sfumato.cli.tracks.protected_pages")
                text = pages.page_of(done, document, smoothed, private=private, person=person)
                staged.add_text(paths[name], text, private=private)
        state, is_new = kept
        if state is not None and is_new and done.state is not None:
            create_state(state, done.state, passphrase=passphrase)
        staged.commit(last=paths["release"])
        remove_leftovers(*([] if state is None else [state]))
    return document


def _signer(key_file: Path) -> Callable[[Mapping[str, Any]], Mapping[str, str]]:
    from sfumato.tracks.certificates.sign import signer_with

    return signer_with(key_file)


def _say(document: dict[str, Any], done: Protected | ProtectedFleet, paths: dict[str, Path]) -> None:
    """What was promised, in a few sentences of the mechanism's; everything else is in the certificate."""
    from sfumato.base.units import format_length
    from sfumato.tracks.certificates.build import drowning_warnings
    from sfumato.tracks.certificates.document import Certificate, promise_lines, smooth_lines
    from sfumato.tracks.people.protection import Protected

    said = Certificate.of(document.get("source", document))
    crowd = "" if said.people == 1 else f" of {said.people} people (each with noise of their own)"
    size = "" if said.noise_m is None else f" noise of {format_length(said.noise_m)} per coordinate"
    typer.echo(f"Protected {said.points} points{crowd} with {said.mechanism.name}{size}.")
    originals = [done.original] if isinstance(done, Protected) else [trace for _, trace in done.originals]
    for line in (
        *promise_lines(document.get("source", document), advice=True),
        *drowning_warnings(said.noise_m, originals),
        *smooth_lines(document),
    ):
        typer.echo(line)
    if words := done.points_read.sentence():
        typer.echo(words)
    counted = {f"{reason} ({count})" for reason, count in done.points_read.why.items()}
    if others := [name for name in done.dropped if name not in counted]:
        typer.echo(f"Left out: {', '.join(others)}.")
    typer.echo("Written:")
    for name, path in paths.items():
        private = "  (private: keep it to yourself)" if name in ("report", "state") else ""
        typer.echo(f"  {name.replace('_', ' '):<15}{path}{private}")
