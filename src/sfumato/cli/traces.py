"""The commands of a trace's journey: ``protect``, ``audit`` and ``verify``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.cli.output import fail, print_json
from sfumato.errors import InputError, VerificationFailed

if TYPE_CHECKING:
    from sfumato.protection import Protected, ProtectedFleet
    from sfumato.traces import Trace

# What protect --json prints beside certificate and outputs, all of it from the certificate.
FIELDS = (
    "points", "people", "epsilon", "order", "radius_m", "mu", "odds_99", "odds_99_either_way", "odds_per_point",
    "delta_at_epsilon", "rms_noise_m", "mechanism", "prior_class", "worst_loss", "stay_loss", "stay_odds_99",
    "loss_at_times", "floor_loss", "loss_over_floor", "simulation", "warnings", "releases",
)  # fmt: skip
_TABLES = ("csv", "parquet", "geoparquet")


def register(app: typer.Typer) -> None:
    """Add ``protect``, ``audit`` and ``verify`` to the app."""
    app.command("protect", help="Protect a trace: add noise to it and certify what it still gives away.")(protect)
    app.command("audit", help="Measure what an adversary still learns, from original and release.")(audit)
    app.command("verify", help="Recompute a certificate from its release; exit 1 if anything disagrees.")(verify)


def protect(
    source: Path = typer.Argument(
        ..., metavar="INPUT", help="The track: GPX, GeoJSON, CSV, Parquet, KML, TCX, FIT ..."
    ),
    output: Path = typer.Option(..., "--output", "-o", help="The release; its ending names the format."),
    radius: str = typer.Option("200m", help="Places up to this far apart stay indistinguishable (m, km, ft, mi)."),
    odds: float | None = typer.Option(None, help="Odds between two such places, 99 times in 100. Default 5."),
    epsilon: float | None = typer.Option(None, help="Instead of odds: the Rényi epsilon of order --order."),
    noise: str | None = typer.Option(None, help="Instead of odds: the noise per coordinate (m, km); states the rest."),
    level: str | None = typer.Option(None, help="Instead of odds: low, medium or high (odds 20, 5, 2)."),
    order: float = typer.Option(5.0, help="Rényi order, greater than 1."),
    mechanism: str = typer.Option("multiscale", help="multiscale, prior-shaped, mixed, independent or planar-laplace."),
    prior_class: str = typer.Option(
        "day",
        "--class",
        help="Length scales covered: day (10 s - 6 h), week or year (for daily sharing). With --secrets nothing is "
        "promised over it: it is what secrets.loss_over_class is computed for.",
    ),
    prior: str | None = typer.Option(
        None, help="For prior-shaped and mixed: a preset's name, 'preset' for the default one, or 'fit'."
    ),
    white_share: float | None = typer.Option(
        None, help="Share of the noise variance that is white (multiscale 0.05, mixed 0.1)."
    ),
    constant_share: float | None = typer.Option(None, help="Share that is constant per person (multiscale 0.1)."),
    redraws: int = typer.Option(1, help="Without --state: this is one of so many releases with redrawn noise."),
    secrets: str | None = typer.Option(
        None, help="Protect chosen times only: a GeoJSON of places, windows:10min, stays, or indices."
    ),
    state: Path | None = typer.Option(
        None, help="The person's noise state (made if absent, 0600): later releases continue the noise, free of cost."
    ),
    passphrase_file: Path | None = typer.Option(
        None, help="Encrypt or open the state with the passphrase in this file."
    ),
    certificate: Path | None = typer.Option(None, help="Write the certificate (JSON) here."),
    sign: Path | None = typer.Option(None, help="Sign the certificate with the Ed25519 key in this PEM file."),
    report: Path | None = typer.Option(None, help="Write the private report (HTML, 0600, shows the original) here."),
    public_report: Path | None = typer.Option(None, help="Write the report without the original here."),
    ledger: Path | None = typer.Option(
        None, help="Enter the release in this ledger (JSON, 0600) first; refused if it would pass the ledger's cap."
    ),
    person: str | None = typer.Option(None, help="Whose release this is, for the ledger."),
    cap: float | None = typer.Option(
        None, help="Start the ledger with this cap: the loss per m² all releases may sum to."
    ),
    keep: list[str] = typer.Option([], help="Keep this field of the track, e.g. elevation; repeat for more."),
    snap: str = typer.Option("0.1m", help="Grid that released positions are snapped to, after the noise (m)."),
    zone: str | None = typer.Option(None, help="Time zone of times that name none, e.g. Europe/Paris or UTC."),
    column: list[str] = typer.Option([], help="Name a table's column by role, e.g. lat=Y; repeat for more."),
    format: str | None = typer.Option(None, help="The input's format, where ending and content do not tell."),
    output_format: str | None = typer.Option(None, help="The release's format, where the ending does not tell."),
    seed: int | None = typer.Option(None, help="A simulation with this seed: reproducible, and worth nothing."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Write the release, and the certificate and reports that were asked for: all of them, or none."""
    from sfumato.units import length_m

    outputs = {"release": output, "certificate": certificate, "report": report, "public_report": public_report}
    paths = {name: path for name, path in outputs.items() if path is not None}
    _check_paths(source, paths, state)
    passphrase = _passphrase(passphrase_file, state)
    options: dict[str, Any] = {
        "radius_m": length_m(radius), "odds": odds, "epsilon": epsilon, "level": level, "order": order,
        "noise_m": None if noise is None else length_m(noise), "mechanism": mechanism, "prior_class": prior_class,
        "prior": prior, "white_share": white_share, "constant_share": constant_share, "redraws": redraws,
        "snap_m": length_m(snap), "state": state, "passphrase": passphrase, "save_state": False,
        "secrets": secrets, "rng": seed,
    }  # fmt: skip
    people = _read(source, format=format, zone=zone, columns=_columns(column), keep=keep)
    new_state = state is not None and not state.exists()
    done = _protect(people, options)
    if ledger is not None:
        _enter(done, ledger, person, cap)
    document = _write(done, paths, output_format, state if new_state else None, passphrase, sign)
    summary = {name: document[name] for name in FIELDS}
    if json:
        print_json({**summary, "certificate": document, "outputs": {k: str(v) for k, v in paths.items()}})
        return
    _say(document, done.dropped, {**paths, **({} if state is None else {"state": state})})


def audit(
    original: Path = typer.Argument(..., help="The original track (stays on this machine)."),
    release: Path = typer.Argument(..., help="The release that was made from it."),
    certificate: Path = typer.Option(..., help="The release's certificate."),
    prior: str = typer.Option("fit", help="What the adversary believes: 'fit', 'preset' or a preset's name."),
    zone: str | None = typer.Option(None, help="Time zone of the original's times that name none."),
    column: list[str] = typer.Option([], help="Name a table's column by role, e.g. lat=Y; repeat for more."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Errors and intervals are per coordinate, in metres."""
    from sfumato.adversary.audit import audit as measure
    from sfumato.certificates.verify import check_belongs, read_certificate
    from sfumato.io import read_trace
    from sfumato.protection import rounded_times

    first = rounded_times(read_trace(original, zone=zone, columns=_columns(column)))
    second, document = read_trace(release), read_certificate(certificate)
    try:
        check_belongs(document, second)
    except VerificationFailed as error:
        fail(error, json=json, code=1)
    found = measure(first, second, document, prior=prior).to_dict()
    if json:
        print_json(found)
        return
    typer.echo(f"Points compared           {found['points']}")
    typer.echo(f"Adversary's prior         {_prior_words(found['prior_used'])}")
    for name, label in (
        ("rms_error_raw_m", "Error, release as it is"),
        ("rms_error_smoothed_m", "Error after smoothing"),
        ("interval_68_m", "68% interval, half-width"),
    ):
        value = found[name]
        typer.echo(f"{label:<26}{'-' if value is None else f'{value:.1f} m per coordinate'}")
    if found["coverage_68"] is not None:
        typer.echo(f"Truth inside it           {100 * found['coverage_68']:.0f}% of the time")


def _prior_words(prior: Any) -> str:
    """Which prior the adversary used, in a few words."""
    if not isinstance(prior, dict):
        return str(prior)
    kernel = prior.get("kernel") or {}
    parts = kernel.get("parts", [kernel])
    words = [
        f"{part['kernel']} {part['length_scale_s']:.3g} s, sd {part['sd_m']:.3g} m"
        if "length_scale_s" in part
        else f"{part['kernel']} {part['sd_m']:.3g} m"
        for part in parts
        if "kernel" in part and "sd_m" in part
    ]
    return f"{prior.get('source', '')}: {' + '.join(words)}" if words else str(prior.get("source", ""))


def verify(
    certificate: Path = typer.Argument(..., help="The certificate (JSON)."),
    release: Path = typer.Option(..., help="The release it speaks about."),
    signer: str | None = typer.Option(None, help="Demand a signature by this public key (PEM file or base64)."),
    ignore_wording: bool = typer.Option(
        False, "--ignore-wording", help="Check the numbers only: for a certificate that another version worded."
    ),
    format: str | None = typer.Option(None, help="The release's format, where ending and content do not tell."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Everything is recomputed from these two files; a hash finds changes but is no signature."""
    from sfumato.certificates.verify import verify as check

    try:
        found = check(certificate, release=release, format=format, signer=signer, ignore_wording=ignore_wording)
    except VerificationFailed as error:
        fail(error, json=json, code=1)
    if json:
        print_json(found.to_dict())
        return
    if found.wording_checked:
        typer.echo("The certificate holds. Recomputed and found equal:")
    else:
        typer.echo("The numbers hold; the wording was not checked. Recomputed and found equal:")
    for line in found.checks:
        typer.echo(f"  - {line}")
    for line in found.notes:
        typer.echo(f"  note: {line}")


def _check_paths(source: Path, paths: dict[str, Path], state: Path | None) -> None:
    named = [source, *paths.values(), *([] if state is None else [state])]
    resolved = [path.expanduser().resolve() for path in named]
    if len(set(resolved)) != len(resolved):
        raise InputError("Two of the files named are the same.", "Give every input and output a name of its own.")


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


def _columns(pairs: list[str]) -> dict[str, str] | None:
    columns = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    if len(columns) != len(pairs):
        raise InputError("A --column is not of the form role=name.", "For instance --column lat=Y --column time=when.")
    return columns or None


def _read(
    source: Path, *, format: str | None, zone: str | None, columns: dict[str, str] | None, keep: list[str]
) -> list[tuple[str | None, Trace]]:
    """One person, or the people of a table with an id column."""
    from sfumato.engines.people import column_names, columns_by_person
    from sfumato.io import read_trace, read_traces
    from sfumato.io.formats import format_named, format_of

    if not source.exists():
        raise InputError(f"There is no file {source}.", "Check its name.")
    chosen = format_named(format) if format else format_of(source)
    if chosen.name in _TABLES:
        columns = columns_by_person(column_names(source), columns) or None
        people = read_traces(source, format=format, zone=zone, columns=columns, keep=keep)
        if len(people) > 1:
            return [(person, trace) for person, trace in people]
        return [(None, people[0][1])]
    return [(None, read_trace(source, format=format, zone=zone, columns=columns, keep=keep))]


def _protect(people: list[tuple[str | None, Trace]], options: dict[str, Any]) -> Protected | ProtectedFleet:
    from sfumato.protection import protect as protect_one
    from sfumato.protection import protect_fleet

    first = people[0][1]
    kept = [*first.columns, *first.texts]
    if people[0][0] is None:
        return protect_one(first, keep=kept, **options)
    return protect_fleet([(str(person), trace) for person, trace in people], keep=kept, **options)


def _enter(done: Protected | ProtectedFleet, ledger: Path, person: str | None, cap: float | None) -> None:
    """Enter the release before it is written: a refused one leaves no file, a failed write only overstates."""
    import hashlib
    import uuid

    from sfumato.accountant.ledger import record
    from sfumato.accountant.trace_losses import entry_from_certificate, total_loss
    from sfumato.protection import Protected

    if not isinstance(done, Protected) or not person:
        raise InputError("A ledger entry is for one person.", "Name them with --person, and protect one trace.")
    # Releases of one state are one noise process; the name must not help to find the key.
    process = uuid.uuid4().hex
    if done.state is not None:
        process = hashlib.sha256(b"sfumato noise process\0" + done.state.key).hexdigest()[:32]
    record(ledger, person, entry_from_certificate(done.certificate, process=process), total_loss, cap=cap)


def _write(
    done: Protected | ProtectedFleet,
    paths: dict[str, Path],
    output_format: str | None,
    new_state: Path | None,
    passphrase: str | None,
    sign: Path | None,
) -> dict[str, Any]:
    """Every file that was asked for, or none; a new state is in place before the release is."""
    from sfumato.certificates.build import sealed
    from sfumato.certificates.sign import signed
    from sfumato.certificates.state import create_state
    from sfumato.certificates.verify import certificate_text, file_facts
    from sfumato.engines.local import write_fleet
    from sfumato.files import Staged
    from sfumato.io import output_format as named_format
    from sfumato.io import write_trace
    from sfumato.protection import Protected

    chosen = named_format(paths["release"], output_format).name
    with Staged() as staged:
        if isinstance(done, Protected):
            release = done.release
            written = staged.add(paths["release"], lambda path: write_trace(release, path, format=chosen))
        else:
            fleet = done.releases
            written = staged.add(paths["release"], lambda path: write_fleet(fleet, path, format=chosen))
        body = dict(done.certificate)
        document = sealed({**body, "release": {**body["release"], **file_facts(written)}})
        if sign is not None:
            document = signed(document, sign)
        if "certificate" in paths:
            staged.add_text(paths["certificate"], certificate_text(document))
        for name, private in (("report", True), ("public_report", False)):
            if name in paths:
                staged.add_text(paths[name], _page(done, document, private=private), private=private)
        if new_state is not None and done.state is not None:
            create_state(new_state, done.state, passphrase=passphrase)
        staged.commit()
    return document


def _page(done: Protected | ProtectedFleet, document: dict[str, Any], *, private: bool) -> str:
    from sfumato.protection import Protected
    from sfumato.report import render

    if not isinstance(done, Protected):
        raise InputError("A report shows one person.", "Leave the reports out for a table of several people.")
    audited = done.audit().to_dict() if private else None
    return render(
        release=done.release,
        certificate=document,
        original=done.original if private else None,
        audit=audited,
        dropped=done.dropped if private else (),
    )


def _less_noise(document: dict[str, Any]) -> str | None:
    """How to be moved less, with the numbers: for noise that was chosen by odds or epsilon, and can still be chosen."""
    from sfumato.mechanisms.traces.calibration import LEVELS, Target, calibrated_noise_m
    from sfumato.units import format_length

    chosen = document["target"]["noise_m"] is None and document["releases"]["mode"] == "redrawn"
    if document["mechanism"] != "multiscale" or not chosen:
        return None
    noise_m = float(document["rms_noise_m"])
    low = Target(radius_m=document["radius_m"], odds=LEVELS["low"])
    needed_m = calibrated_noise_m(low, document["worst_loss"] * noise_m**2)
    half = f"half the radius needs {format_length(noise_m / 2)}"
    if needed_m >= noise_m:
        return f"For less noise: {half}, at the same odds."
    return (
        f"For less noise: --level low (odds of {LEVELS['low']:g} : 1) needs {format_length(needed_m)}; {half}, at the "
        "same odds."
    )


def _say(summary: dict[str, Any], dropped: tuple[str, ...], paths: dict[str, Path]) -> None:
    """What was promised, in a few sentences; everything else is in the certificate."""
    from sfumato.report.words import headline
    from sfumato.units import format_length

    crowd = "" if summary["people"] == 1 else f" of {summary['people']} people (each with noise of their own)"
    typer.echo(f"Protected {summary['points']} points{crowd} with {summary['mechanism']} noise of "
               f"{format_length(summary['rms_noise_m'])} per coordinate.")  # fmt: skip
    typer.echo(headline(summary))
    if summary["mechanism"] == "planar-laplace":
        typer.echo(f"epsilon {summary['epsilon']:.4g} per point at {format_length(summary['radius_m'])} "
                   f"({summary['geo_indistinguishability_per_m']:.4g} per metre).")  # fmt: skip
    else:
        typer.echo(f"epsilon {summary['epsilon']:.4g} (Rényi order {summary['order']:g}), "
                   f"delta {summary['delta_at_epsilon']:.2g} at that epsilon.")  # fmt: skip
    if summary["loss_over_floor"] is not None:
        typer.echo(f"Worst loss over the class of priors: {summary['loss_over_floor']:.3f} x the floor.")
    advice = _less_noise(summary)
    if advice:
        typer.echo(advice)
    for warning in summary["warnings"]:
        typer.echo(f"Warning: {warning}")
    if summary["simulation"]:
        typer.echo("SIMULATION: a seed was given, so this release protects nothing.")
    elif summary["releases"]["mode"] == "redrawn" and summary["mechanism"] == "multiscale":
        typer.echo("Noise drawn for this release alone; share again with --state so that losses do not add up.")
    if dropped:
        typer.echo(f"Left out: {', '.join(dropped)}.")
    typer.echo("Written:")
    for name, path in paths.items():
        private = "  (private: keep it to yourself)" if name in ("report", "state") else ""
        typer.echo(f"  {name.replace('_', ' '):<15}{path}{private}")
