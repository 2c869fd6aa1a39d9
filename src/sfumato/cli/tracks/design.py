"""``sfumato design``: noise for chosen secrets under a Gaussian prior, optimal or as published, with its exact loss."""

from __future__ import annotations

import json as json_module
import math
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import typer

from sfumato.base.arrays import FloatArray, jsonable, positive
from sfumato.base.errors import InputError
from sfumato.base.files import write_text, write_whole
from sfumato.base.numbers.odds import odds_at, renyi_epsilon
from sfumato.base.units import duration_s
from sfumato.cli.output import AsJson, print_json, print_table, spinner, table_console
from sfumato.papers.cip.theorems import prior_posterior_gap
from sfumato.tracks.designs.design import default_nugget, design
from sfumato.tracks.designs.noise_design import NoiseDesign
from sfumato.tracks.noise.multiscale import price_tables
from sfumato.tracks.priors.classes import DAY, PRIOR_CLASSES, PriorClass
from sfumato.tracks.priors.kernels import Kernel, Periodic, kernel_named
from sfumato.tracks.secret import parse

_KERNELS = ("rbf", "matern12", "matern32", "matern52")
_METHODS = "joint, block, published, uniform, concentrated, convex, minimax or prior-shaped."
_solving = partial(typer.Option, rich_help_panel="How it is solved")
_meant = partial(typer.Option, rich_help_panel="What it means")
_PRICES = {
    "range": "length scales",
    "matern32": "Matérn-3/2",
    "matern32_least_possible": "least possible",
    "three_kernels": "+ 5/2 and RBF",
    "three_kernels_least_possible": "least possible with them",
}
_HELP = "Design noise for chosen secrets under a Gaussian prior, optimal or as published, with its exact loss."


def register(app: typer.Typer) -> None:
    """Add ``design`` to the app, and ``design multiscale`` beneath it."""
    design_app = typer.Typer(
        invoke_without_command=True, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]}
    )
    design_app.callback()(design_command)
    design_app.command("multiscale", help="Solve the multiscale noise: ladders, weights, prices, and their proof.")(
        multiscale
    )
    app.add_typer(design_app, name="design")


def design_command(
    context: typer.Context,
    kernel: str = typer.Option(
        "rbf", help="How movement is correlated: rbf, matern12, matern32, matern52 or periodic."
    ),
    length_scale: list[float] = typer.Option([6.0], help="In sampling steps; repeat for a class of priors."),
    period: float = typer.Option(24.0, help="Period of the periodic kernel, in steps."),
    points: int = typer.Option(50, help="Number of points of the trace."),
    secret: list[str] = typer.Option(
        [], help="A secret: 24, or 24,25 together, or 'all'; repeat for several. Default: the middle point."
    ),
    mse: float | None = typer.Option(None, help="Noise variance per point (budget = points x mse)."),
    target: list[float] = typer.Option(
        [], help="The loss allowed (one, or one per secret): finds the least noise, at most --mse if given."
    ),
    method: str = typer.Option("convex", help=_METHODS),
    nugget: float | None = _solving(None, help="White variance in the prior. Default 0 for closed forms, else 1e-6."),
    gap: float | None = _solving(None, help="Certified relative gap. Default 1e-6 for convex, 1e-3 for minimax."),
    radius: float | None = _meant(
        None, help="How far two places may be apart, in units of the prior's sd: adds epsilon, mu, odds."
    ),
    order: float = _meant(5.0, help="Order of the Rényi divergence printed with --radius."),
    output: Path | None = typer.Option(
        None, "-o", "--output", help="Write the noise covariance (.npy), with its jitter."
    ),
    json: AsJson = False,
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
    with spinner("designing") if not json else nullcontext() as said:
        solved = design(
            np.arange(float(points)),
            rules,
            kernels,
            budget=None if mse is None else points * positive(mse, "mse"),
            targets=target or None,
            method=method,
            nugget=nugget,
            gap=gap,
            progress=None if said is None else lambda gap: said(f"certified gap {gap:.2e}"),
        )
    value = solved.value
    certain = value.certify()
    notes = _notes(method, len(value.secrets), value.summary()["loss"], certain)
    result: dict[str, object] = {
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
        "notes": notes,
    }
    meaning = [] if radius is None else _meaning(value, positive(radius, "radius"), order)
    if radius is not None:
        result["meaning"] = meaning
    if output is not None:  # what is certified is what is written
        write_whole(output, lambda path: _write(certain.noise_covariance, path))
        result["written_trace"] = certain.trace
    if json:
        print_json(result)
        return
    for name in ("loss", "direct", "inferential", "two_sigma", "trace", "gap", "nugget", "jitter", "seconds"):
        shown = result[name]
        typer.echo(f"{name:12s} {'none' if shown is None else format(shown, '.6g')}")
    for row in meaning:
        numbers = {name: format(row[name], ".6g") for name in row if name != "secret"}
        typer.echo(
            f"secret {row['secret']}: loss {numbers['loss']}, epsilon {numbers['epsilon']} at order {order:g}, mu "
            f"{numbers['mu']}, odds {numbers['odds_99']} in 99 of 100 (Theorem 3.1: {numbers['odds_99_theorem_3_1']})"
        )
    for note in notes:
        typer.echo(note)
    if names != ["all"]:
        typer.echo("Whoever knows this noise can tell which times it protects.")


def _meaning(value: NoiseDesign, radius: float, order: float) -> list[dict[str, object]]:
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


def multiscale(
    shortest: str | None = typer.Option(None, help="Solve one class of your own: its shortest length scale (10s)."),
    longest: str | None = typer.Option(None, help="Its longest length scale (6h, 1week, 1year)."),
    kernel: list[str] = typer.Option([], help="Its kernels: matern32, matern52, rbf; repeat. Default all three."),
    tables: bool = typer.Option(True, help="Also print the price table and the tables behind the two shares."),
    write: Path | None = typer.Option(None, help="Write the shipped data file (multiscale.json) here."),
    json: AsJson = False,
) -> None:
    """Losses are times the noise variance per coordinate, so 1 is the floor. Certified over continuous ranges."""
    ladders = [_ladder(name, members) for name, members in _classes(shortest, longest, kernel).items()]
    priced = price_tables.price_table() if tables else []
    shares = {}
    if tables:
        shares = {
            "white_share_table": price_tables.white_share_table(),
            "constant_share_table": price_tables.constant_share_table(),
        }
    if write is not None:
        text = json_module.dumps(jsonable(price_tables.shipped_classes()), indent=1, allow_nan=False) + "\n"
        write_text(write, text)
    if json:
        told = {"price_table": priced, **shares} if tables else {}
        print_json({"ladders": ladders, **told, **({} if write is None else {"written": str(write)})})
        return
    for row in ladders:
        _say_ladder(row)
    if tables:
        shown = [{words: row[name] for name, words in _PRICES.items()} for row in priced]
        print_table("Price: worst loss x noise variance, any sd, any timestamps, multiscale share alone", shown)
        print_table("Why a white share of 0.05 (class day)", shares["white_share_table"])
        why = "Why this constant share (class day): path and place lose alike"
        print_table(why, shares["constant_share_table"])
    if write is not None:
        typer.echo(f"Written: {write}")


def _classes(shortest: str | None, longest: str | None, kernels: list[str]) -> dict[str, PriorClass]:
    """The classes that are shipped, or the one that was asked for."""
    if not (shortest or longest or kernels):
        return dict(PRIOR_CLASSES)
    low, high = DAY.length_scales_s
    low, high = (duration_s(shortest) if shortest else low), (duration_s(longest) if longest else high)
    if not low < high:
        raise InputError(f"The class runs from {low:g} s to {high:g} s.", "Give two increasing length scales.")
    return {"custom": PriorClass(tuple(kernels) or DAY.kernels, (low, high))}


def _ladder(name: str, members: PriorClass) -> dict[str, object]:
    solved, ladder, bound = price_tables.solve(members)
    return {
        "class": name,
        "prior_class": members.to_dict(),
        **ladder.to_dict(),
        "path_loss": bound.path_loss * ladder.moving_share,
        "path_loss_least_possible": solved.lower_bound,
        "gap": solved.gap,
        "worst_loss": bound.worst_loss,
        "stay_loss": bound.stay_loss,
        "worst_kernel": bound.worst_kernel,
        "worst_length_scale_s": bound.worst_length_scale_s,
        "margin": bound.margin,
        "free_nugget_share": bound.free_nugget_share,
        "free_offset_share": bound.free_offset_share,
        "steps": solved.steps,
        "seconds": solved.seconds,
    }


def _say_ladder(row: dict[str, object]) -> None:
    members, scales, weights = (row[name] for name in ("prior_class", "length_scales_s", "weights"))
    assert isinstance(members, dict)
    assert isinstance(scales, list | tuple)
    assert isinstance(weights, list | tuple)
    low, high = members["length_scales_s"]
    rungs = [{"length scale (s)": f"{a:,.10g}", "weight": f"{b:.6f}"} for a, b in zip(scales, weights, strict=True)]
    print_table(f"class {row['class']}: {low:,.0f} s - {high:,.0f} s, {', '.join(members['kernels'])}", rungs)
    table_console().print(
        "multiscale share alone {path_loss:.4f} x floor (no mixture of Matérn-3/2 scales below "
        "{path_loss_least_possible:.4f}, gap {gap:.3%}); with white {white_share:g} and constant {constant_share:g}: "
        "worst loss {worst_loss:.4f}, stay loss {stay_loss:.4f}; a nugget up to {free_nugget_share:.2f} of the sd is "
        "free.\n".format_map(row)
    )
