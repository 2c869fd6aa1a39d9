"""``sfumato design``: noise for chosen secrets under a Gaussian prior, optimal or as published, with its exact loss."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from sfumato.base.arrays import FloatArray, positive
from sfumato.base.errors import InputError
from sfumato.base.files import write_whole
from sfumato.base.numbers.odds import odds_at, renyi_epsilon
from sfumato.cli.output import print_json
from sfumato.cli.tracks.design_multiscale import register_multiscale
from sfumato.papers.cip.theorems import prior_posterior_gap
from sfumato.tracks.designs.design import default_nugget, design
from sfumato.tracks.designs.noise_design import NoiseDesign
from sfumato.tracks.priors.kernels import Kernel, Periodic, kernel_named
from sfumato.tracks.secret import parse

_KERNELS = ("rbf", "matern12", "matern32", "matern52")
_SOLVING = "How it is solved"
_MEANING = "What it means"
_HELP = "Design noise for chosen secrets under a Gaussian prior, optimal or as published, with its exact loss."


def register(app: typer.Typer) -> None:
    """Add ``design`` to the app, and ``design multiscale`` beneath it."""
    design_app = typer.Typer(
        invoke_without_command=True, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]}
    )
    design_app.callback()(design_command)
    register_multiscale(design_app)
    app.add_typer(design_app, name="design")


def design_command(
    context: typer.Context,
    kernel: Annotated[
        str, typer.Option(help="How movement is correlated: rbf, matern12, matern32, matern52 or periodic.")
    ] = "rbf",
    length_scale: Annotated[
        list[float], typer.Option(help="Length scale in sampling steps; repeat for a class of priors.")
    ] = [6.0],  # noqa: B006 - typer copies it
    period: Annotated[float, typer.Option(help="Period of the periodic kernel, in steps.")] = 24.0,
    points: Annotated[int, typer.Option(help="Number of points of the trace.")] = 50,
    secret: Annotated[
        list[str] | None,
        typer.Option(help="A secret: 24, or 24,25 together, or 'all'; repeat for several. Default: the middle point."),
    ] = None,
    mse: Annotated[float | None, typer.Option(help="Noise variance per point (budget = points x mse).")] = None,
    target: Annotated[
        list[float] | None,
        typer.Option(help="The loss allowed (one, or one per secret): finds the least noise, at most --mse if given."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(help="joint, block, published, uniform, concentrated, convex, minimax or prior-shaped."),
    ] = "convex",
    nugget: Annotated[
        float | None,
        typer.Option(
            help="White variance in the prior. Default 0 for closed forms, 1e-6 for convex ones.",
            rich_help_panel=_SOLVING,
        ),
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(
            help="Certified relative gap to reach. Default 1e-6 for convex, 1e-3 for minimax.", rich_help_panel=_SOLVING
        ),
    ] = None,
    radius: Annotated[
        float | None,
        typer.Option(
            help="How far two places may be apart, in units of the prior's sd: adds epsilon, mu, odds.",
            rich_help_panel=_MEANING,
        ),
    ] = None,
    order: Annotated[
        float, typer.Option(help="Order of the Rényi divergence printed with --radius.", rich_help_panel=_MEANING)
    ] = 5.0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the noise covariance (.npy), the jitter in it.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Design noise for chosen secrets under a Gaussian prior with unit variance at regular times.

    `loss` is the largest eigenvalue of the exact loss matrix of the worst secret, `direct` what its own released
    points give away by themselves, `inferential` the rest; `two_sigma` the width of the adversary's 68% interval;
    with --radius, `meaning` gives every secret's (epsilon, order), mu, exact odds and those of Theorem 3.1;
    `gap` how far from the optimum at most (certified); `jitter` and `certified_loss` the white variance that makes an
    ill-conditioned kernel certain in double precision, and the loss with it.
    """
    if context.invoked_subcommand is not None:
        return
    if points < 1 or points > 5000:
        raise InputError(f"points is {points}.", "Give 1 .. 5000; for longer traces see tracks.designs.exact_designs.")
    if output is not None and output.suffix != ".npy":
        raise InputError(f"The noise cannot be written as '{output.name}'.", f"Use {output.stem or 'noise'}.npy.")
    if mse is None and not target:
        mse = 0.02
    names = secret or [str((points - 1) // 2)]
    rules = [parse(name) for name in names]
    kernels = [_kernel(kernel, positive(length, "length scale"), period) for length in length_scale]
    with _progress(not json) as report:
        solved = design(
            np.arange(float(points)),
            rules,
            kernels,
            budget=None if mse is None else points * positive(mse, "mse"),
            targets=target or None,
            method=method,
            nugget=nugget,
            gap=gap,
            progress=report,
        )
    value = solved.value
    certain = value.certify()
    result: dict[str, Any] = {
        **value.summary(),
        "gap": solved.gap,
        "lower_bound": solved.lower_bound,
        "nugget": default_nugget(method) if nugget is None else nugget,
        "jitter": certain.jitter,
        "certified_loss": float(np.max(certain.losses())),
        "seconds": solved.seconds,
        "status": solved.status,
        "steps": solved.steps,
        "method": method,
        "kernel": kernel,
        "length_scales": list(length_scale),
        "points": points,
        "secrets": [s.tolist() for s in value.secrets] if len(value.secrets) <= 100 else len(value.secrets),
        "mse": value.trace / points,
        "notes": _notes(method, len(value.secrets), value.summary()["loss"], certain),
    }
    if radius is not None:
        result["meaning"] = _meaning(value, positive(radius, "radius"), order)
    if output is not None:  # what is certified is what is written
        write_whole(output, lambda path: _write(certain.noise_covariance, path))
        result["written_trace"] = certain.trace
    if json:
        print_json(result)
        return
    _say(result, order)
    if len(rules) and names != ["all"]:
        typer.echo("Whoever knows this noise can tell which times it protects.")


def _say(result: dict[str, Any], order: float) -> None:
    for name in ("loss", "direct", "inferential", "two_sigma", "trace", "gap", "nugget", "jitter", "seconds"):
        shown = result[name]
        typer.echo(f"{name:12s} {'none' if shown is None else format(shown, '.6g')}")
    for row in result.get("meaning", []):
        numbers = {name: format(row[name], ".6g") for name in row if name != "secret"}
        typer.echo(
            f"secret {row['secret']}: loss {numbers['loss']}, epsilon {numbers['epsilon']} at order {order:g}, mu "
            f"{numbers['mu']}, odds {numbers['odds_99']} in 99 of 100 (Theorem 3.1: {numbers['odds_99_theorem_3_1']})"
        )
    for note in result["notes"]:
        typer.echo(note)


def _meaning(value: NoiseDesign, radius: float, order: float) -> list[dict[str, Any]]:
    """What every secret's loss means at a radius: μ² = r²|S|λ_max(J), ε = λμ²/2, and odds of 99 in 100."""
    rows = []
    for secret, loss in zip(value.secrets, value.losses(), strict=True):
        mu = radius * math.sqrt(len(secret) * float(loss))
        finite = math.isfinite(mu)
        epsilon = renyi_epsilon(mu, order) if finite else math.inf
        gap = prior_posterior_gap(epsilon, order=order, delta=0.01) if finite else math.inf
        rows.append(
            {
                "secret": secret.tolist() if len(secret) > 1 else int(secret[0]),
                "loss": float(loss),
                "mu": mu,
                "epsilon": epsilon,
                "odds_99": odds_at(mu, 0.01) if finite and mu < 30 else math.inf,
                "odds_99_theorem_3_1": math.exp(gap) if gap < 700 else math.inf,
            }
        )
    return rows


def _write(covariance: FloatArray, path: Path) -> None:
    """Under exactly this name: given a name and no file, NumPy adds the ending and fills another one."""
    with path.open("wb") as file:
        np.save(file, covariance)


def _notes(method: str, secrets: int, loss: float | None, certain: NoiseDesign) -> list[str]:
    """What the numbers do not say by themselves."""
    notes = []
    if method == "published" and secrets > 1:
        notes.append(
            "Multiple Secrets as published gives every SDP_A the whole budget and exceeds it; here each got as much "
            "less, so that the noise has the trace asked for."
        )
    if loss is None:
        notes.append(
            f"The loss is beyond double precision: more than {float(certain.losses().max()):.6g}, which is what is "
            f"left with a white jitter of {certain.jitter:.3g} added."
        )
    elif certain.jitter > 0:
        notes.append(f"Written and certified_loss hold a white jitter of {certain.jitter:.3g} per point.")
    return notes


def _kernel(name: str, length: float, period: float) -> Kernel:
    if name == "periodic":
        return Periodic(period, length)
    if name not in _KERNELS:
        raise InputError(f"There is no kernel '{name}'.", f"Choose from {', '.join(_KERNELS)} and periodic.")
    return kernel_named(name, length_scale_s=length)


@contextlib.contextmanager
def _progress(wanted: bool) -> Iterator[Callable[[float], None] | None]:
    """Says the certified gap on stderr while a long design runs, on a terminal only."""
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    with Console(stderr=True).status("designing") as status:
        yield lambda gap: status.update(f"designing: certified gap {gap:.2e}")
