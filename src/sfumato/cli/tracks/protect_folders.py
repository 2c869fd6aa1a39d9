"""What ``sfumato protect`` does with folders: one person's archive, or a dataset of many people, here or on Spark."""

from __future__ import annotations

from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import typer

from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.progress import progress
from sfumato.base.units import count_of
from sfumato.cli.output import print_json
from sfumato.cli.tracks.archive_faces import (
    dataset_progress,
    passphrase_in,
    points_read,
    rows_csv,
    say_left_out,
    say_rows,
    say_worst_group,
    write_certificate,
)
from sfumato.cli.tracks.protect import ProtectOptions
from sfumato.tracks.certificates.document import promise_lines
from sfumato.tracks.certificates.person_ids import list_beside
from sfumato.tracks.certificates.state import NoiseState, create_state, load_state
from sfumato.tracks.folders.rides.protect_archive import protect_archive
from sfumato.tracks.folders.rides.ride_job import ArchiveResult
from sfumato.tracks.folders.rides.sharing import Faces, Sharing
from sfumato.tracks.folders.rows.dataset import DatasetResult, open_dataset
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.folders.rows.people_notes import loss_words
from sfumato.tracks.folders.staging import SUMMARY_NAME
from sfumato.tracks.io import SourceReading
from sfumato.tracks.io.archive import count_members
from sfumato.tracks.people.noise import choose
from sfumato.tracks.plan import Plan


def protect_archive_folder(asked: ProtectOptions) -> None:
    """Fill the output folder with one person's files, one noise over all, and say what is promised over all of it."""
    plan, paths, reading = asked.plan(()), asked.paths, asked.reading
    output = paths["release"]
    if asked.ledger is not None and not asked.ledger_person:
        raise InputError("A ledger entry is for one person.", "Name them with --ledger-person.")
    if "report" in paths and plan.times == "drop":
        raise InputError(
            "The private report reads the shared files again, and without times they are no tracks.",
            "Leave --report out, or use --times relative or coarse:5min.",
        )
    columns = None if reading.columns is None else dict(reading.columns)
    read = SourceReading(asked.format, reading.zone, columns, tuple(asked.keep), reading.one_person)
    with progress("Protecting", count_members(asked.sources), quiet=asked.json) as step:
        faces = Faces(
            step,
            priced=asked.enter,
            sign=asked.signer(),
            certified=lambda document: write_certificate(paths.get("certificate"), document),
        )
        how = Sharing(
            read,
            asked.state,
            passphrase_in(asked.passphrase_file),
            asked.keep_names,
            asked.output_format,
            asked.strict,
            faces,
            asked.seed,
        )
        done = protect_archive(asked.sources, output, plan, how)
    code = int(not asked.lenient and any(row.unreleased for row in done.rows))
    write_text(done.private / SUMMARY_NAME, rows_csv(done.rows), private=True)
    if "report" in paths:
        from sfumato.pages.report.archive_page import audit_page
        from sfumato.tracks.folders.audit_archive import audit_archive

        found = audit_archive(asked.sources, output, done.document, reading=read)
        write_text(paths["report"], audit_page(found, done.document, output), private=True)
    if "public_report" in paths:
        from sfumato.pages.report.archive_page import public_page

        write_text(paths["public_report"], public_page(done, output))
    if asked.json:
        said = {"ok": not code, "private": True, "rows": [asdict(row) for row in done.rows]}
        written = {name: str(path) for name, path in paths.items()}
        counted = points_read(done.rows).to_dict()
        print_json({**said, "points_read": counted, "certificate": done.document, "outputs": written})
        raise typer.Exit(code)
    _say_archive(done, output)
    raise typer.Exit(code)


def _say_archive(done: ArchiveResult, output: Path) -> None:
    say_rows(done.rows)
    typer.echo(
        f"{count_of(done.shared, 'file')} in {output}, one noise over all of them. {done.document['times']['meaning']}"
    )
    if done.document["noise"] is not None:
        for line in promise_lines(done.document["noise"]):
            typer.echo(line)
    typer.echo(f"Private, beside it: {done.private} (noise state, manifest, summary). Keep it for next time.")


def protect_dataset_folder(asked: ProtectOptions, *, spark: bool) -> None:
    """Fill the output folder with everybody's rows, here or on Spark, and say what is promised over all of it."""
    _check_dataset(asked, spark=spark)
    plan, paths = asked.plan(asked.keep), asked.paths
    state = _state(plan, asked)
    how = {"reading": asked.reading, "state": state, "strict": asked.strict, "sign": asked.signer(), "rng": asked.seed}
    if spark:
        job = import_module("sfumato.tracks.folders.spark.spark_job")
        with job.session_on(asked.master) as session:
            done = job.protect_dataset_on_spark(session, asked.inputs[0], asked.output, plan, **how)
    else:
        folder = asked.sources[0]
        with dataset_progress(open_dataset(folder).rows, quiet=asked.json) as step:
            done = protect_dataset(
                folder,
                paths["release"],
                plan,
                step=step,
                priced=lambda body: asked.enter(body, None if state is None else state.process),
                **how,  # type: ignore[arg-type]
            )
    if "public_report" in paths:
        from sfumato.pages.report.dataset_page import public_dataset_page

        write_text(paths["public_report"], public_dataset_page(paths["release"], done.document))
    write_certificate(paths.get("certificate"), done.document)
    together = {}
    if done.companions is not None and done.people > 1:
        together = say_worst_group(done.companions, done.document["noise"], quiet=asked.json)
    said = {"rows": done.rows, "released": done.released, "people": done.people, "rejected": done.skipped}
    if asked.json:
        print_json({"ok": True, **said, "parts": done.parts, "certificate": done.document, **together})
        return
    _say_dataset(done, asked.output, spark=spark)


def _check_dataset(asked: ProtectOptions, *, spark: bool) -> None:
    if asked.report is not None:
        raise InputError(
            "There is no private report of a dataset: it would attack everybody.",
            "Use --public-report for what may be shared; to look at one person, protect that person's rows.",
        )
    if asked.keep_names or asked.output_format:
        raise InputError(
            "A dataset takes no --keep-names or --output-format.", "Its parts have names and a format of their own."
        )
    if asked.public_report is not None and spark:
        raise InputError("There is no report of a dataset on Spark.", "Leave --public-report out.")
    if asked.ledger is not None and not (asked.one_person and asked.ledger_person and not spark):
        raise InputError(
            "A ledger adds up one person's releases, and a dataset holds many people's.",
            "Use --state: everybody's noise then goes on from release to release, and all of them together cost each "
            "person what _certificate.json says (worst_loss). A dataset of one person takes --one-person and "
            "--ledger-person NAME.",
        )


def _state(plan: Plan, asked: ProtectOptions) -> NoiseState | None:
    """The state everybody's noise goes on from; a new one is on the disk before anything is drawn."""
    path, passphrase = asked.state, passphrase_in(asked.passphrase_file)
    if path is None:
        return None
    if path.exists():
        return load_state(path, passphrase=passphrase)
    made = choose(plan, [], state=path, named=True, save_state=False, rng=asked.seed).state
    assert made is not None
    create_state(path, made, passphrase=passphrase)
    return made


def _say_dataset(done: DatasetResult, output: str, *, spark: bool) -> None:
    typer.echo(
        f"{done.released} of {done.rows} rows of {done.people} people in {count_of(done.parts, 'part')} in {output}. "
        f"{done.document['times']['meaning']}"
    )
    say_left_out(done.skipped, output)
    for line in promise_lines(done.document["noise"] or {}):
        typer.echo(line)
    if "ids" in done.document:
        typer.echo(done.document["ids"]["meaning"])
    if done.document.get("ids", {}).get("released") == "random":
        listed = f"{output.rstrip('/')}.ids" if spark else list_beside(Path(output))
        typer.echo(f"The private list that leads them back: {listed} (keep it to yourself)")
    people = done.document["people"]
    if (spread := people["points_per_person"]) and people["people"] > 1:
        typer.echo(
            f"Points of one person: {spread['0.00']} at least, {spread['0.50']} half of them, {spread['0.95']} 19 of "
            f"20, {spread['1.00']} at most. Nobody's loss is above {people['worst_loss']:.4g} per m2, with any number."
        )
        typer.echo(f"At people's own times: {loss_words(people)}")
    if people["people"] > 1 and done.companions is None:
        typer.echo(
            "Not looked for here: people who travel together, whose way gives more away the more of them there are "
            "(sfumato cost --companions; without Spark they are searched for)."
        )
    check = "sfumato verify, on a copy of the folder" if spark else f"sfumato verify {output}"
    typer.echo(f"Certificate: {output}/_certificate.json; check it with: {check}")
