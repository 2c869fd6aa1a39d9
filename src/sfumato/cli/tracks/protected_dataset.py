"""``sfumato protect`` of a dataset: rows with noise in a folder that opens as a dataset, and one certificate."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from uuid import uuid4

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.units import count_of
from sfumato.cli.output import print_json
from sfumato.cli.tracks.archive_faces import write_certificate
from sfumato.cli.tracks.dataset_pages import loss_words, public_dataset_page
from sfumato.cli.tracks.protect import enter
from sfumato.tracks.certificates.document import promise_lines
from sfumato.tracks.certificates.state import NoiseState, create_state, load_state
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.rows.dataset import DatasetReading, open_dataset
from sfumato.tracks.folders.rows.parts import DatasetResult
from sfumato.tracks.folders.rows.protect_dataset import protect_dataset
from sfumato.tracks.folders.statement import Sign
from sfumato.tracks.people.protection import choose
from sfumato.tracks.plan import Plan


def run_protect_dataset(
    folder: Path,
    paths: Mapping[str, Path],
    plan: Plan,
    asked: tuple[dict[str, str] | None, str | None, bool, tuple[str, ...], tuple[object, ...]],
    kept: tuple[Path | None, str | None],
    sign: Sign | None,
    how: tuple[bool, int | None, tuple[str, str, str | None] | None],
    accounted: tuple[Path | None, str | None, float | None],
    *,
    json: bool,
) -> None:
    """Fill the output folder, here or on Spark (source, target, master), and say what is promised over all of it."""
    if "report" in paths:
        raise InputError(
            "There is no private report of a dataset: it would attack everybody.",
            "Use --public-report for what may be shared; to look at one person, protect that person's rows.",
        )
    columns, zone, one_person, keep, beside = asked
    if any(beside):
        raise InputError(
            "A dataset takes no --keep-names or --output-format.", "Its parts have names and a format of their own."
        )
    strict, seed, spark = how
    if "public_report" in paths and spark is not None:
        raise InputError("There is no report of a dataset on Spark.", "Leave --public-report out.")
    plan, reading = replace(plan, keep=keep), DatasetReading(columns, zone, one_person)
    _check_ledger(*accounted[:2], one_person and spark is None)
    state = _state(plan, *kept, seed)
    if spark is not None:
        on_spark = import_module("sfumato.cli.tracks.protected_spark").protect_on_spark
        done = on_spark(spark, plan, reading=reading, state=state, strict=strict, sign=sign, rng=seed)
    else:
        with dataset_progress(open_dataset(folder).rows, quiet=json) as step:
            out = paths["release"]
            done = protect_dataset(
                folder,
                out,
                plan,
                reading=reading,
                state=state,
                strict=strict,
                step=step,
                sign=sign,
                priced=lambda body: _enter(body, state, *accounted),
                rng=seed,
            )
    if "public_report" in paths:
        write_text(paths["public_report"], public_dataset_page(paths["release"], done.document))
    write_certificate(paths.get("certificate"), done.document)
    said = {"rows": done.rows, "released": done.released, "people": done.people, "rejected": done.skipped}
    if json:
        print_json({"ok": True, **said, "parts": done.parts, "certificate": done.document})
        return
    _say(done, str(paths["release"]) if spark is None else spark[1], verify=spark is None)


def _check_ledger(ledger: Path | None, person: str | None, one_person: bool) -> None:
    if ledger is not None and not (one_person and person):
        raise InputError(
            "A ledger adds up one person's releases, and a dataset holds many people's.",
            "Use --state: everybody's noise then goes on from release to release, and all of them together cost each "
            "person what _certificate.json says (worst_loss). A dataset of one person takes --one-person and "
            "--ledger-person NAME.",
        )


def _enter(
    body: Document, state: NoiseState | None, ledger: Path | None, person: str | None, cap: float | None
) -> None:
    if ledger is not None:
        enter(body, uuid4().hex if state is None else state.process, ledger, person, cap)


def _state(plan: Plan, path: Path | None, passphrase: str | None, seed: int | None) -> NoiseState | None:
    """The state everybody's noise goes on from; a new one is on the disk before anything is drawn."""
    if path is None:
        return None
    if path.exists():
        return load_state(path, passphrase=passphrase)
    made = choose(plan, [], path, named=True, save_state=False, rng=seed).state
    assert made is not None
    create_state(path, made, passphrase=passphrase)
    return made


def _say(done: DatasetResult, output: str, *, verify: bool) -> None:
    typer.echo(
        f"{done.released} of {done.rows} rows of {done.people} people in {count_of(done.parts, 'part')} in {output}. "
        f"{done.document['times']['meaning']}"
    )
    say_left_out(done, output)
    for line in promise_lines(done.document["noise"]):
        typer.echo(line)
    people = done.document["people"]
    if (spread := people["points_per_person"]) and people["people"] > 1:
        typer.echo(
            f"Points of one person: {spread['0.00']} at least, {spread['0.50']} half of them, {spread['0.95']} 19 of "
            f"20, {spread['1.00']} at most. Nobody's loss is above {people['worst_loss']:.4g} per m2, with any number."
        )
        typer.echo(f"At people's own times: {loss_words(people)}")
    if people["people"] > 1:
        typer.echo(
            "Not looked for here: people who travel together, whose way gives more away the more of them there are "
            "(sfumato cost --companions; a single table is searched for the worst group)."
        )
    check = f"sfumato verify {output}" if verify else "sfumato verify, on a copy of the folder"
    typer.echo(f"Certificate: {output}/_certificate.json; check it with: {check}")


def say_left_out(done: DatasetResult, output: str | Path | None) -> None:
    """Rows that could not be used, by reason; where ``output`` is given, each of them is named there."""
    see = "" if output is None else f", see {output}/_rejects"
    for reason, count in done.skipped.items():
        typer.echo(f"Left out{see}: {reason} ({count}).")


@contextmanager
def dataset_progress(rows: int, *, quiet: bool) -> Iterator[Callable[[str, int], None] | None]:
    """Two bars on the terminal's stderr, with points per second and the time that is left."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = {
            name: bars.add_task(words, total=rows, rate="", start=False)
            for name, words in (("read", "Reading"), ("protect", "Protecting"))
        }

        def step(name: str, count: int) -> None:
            task = bars.tasks[tasks[name]]
            if not task.started:
                bars.start_task(tasks[name])
            bars.advance(tasks[name], count)
            speed = task.completed / max(task.elapsed or 1e-9, 1e-9) / 1e6
            bars.update(tasks[name], rate=f"{speed:.2f} M points/s")

        yield step
