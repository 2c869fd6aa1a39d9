"""``sfumato channel refine``: does one channel never leak more than another, whatever the adversary wants?"""

from __future__ import annotations

from pathlib import Path

import typer

from sfumato.channels.files.channel_files import read_channel, read_fractions
from sfumato.channels.measures.exact_fractions import ExactChannel, exact_refined_by
from sfumato.channels.measures.refinement import refined_by
from sfumato.cli.channels.channel_inputs import JSON_HELP
from sfumato.cli.output import print_json

_VERDICTS = {
    (True, True): "equivalent: the same for every adversary",
    (True, False): "the second never leaks more than the first",
    (False, True): "the first never leaks more than the second",
    (False, False): "incomparable: each serves some adversary better",
}


def refine(
    first: Path = typer.Argument(..., help="A saved channel, or a CSV of fractions with --exact."),
    second: Path = typer.Argument(..., help="Another about the same inputs."),
    tolerance: float = typer.Option(1e-9, help="Largest error per entry of the product that proves it."),
    exact: bool = typer.Option(False, "--exact", help="Both files are CSV of fractions: decide without rounding."),
    json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Compare two channels for every adversary at once (the Blackwell order), with a proof either way.

    The second never leaks more than the first exactly if it is the first followed by some channel R; otherwise some
    gain function is served better by the second. Both directions are decided; R or the gain function is printed in the
    JSON. Exit code 0 in every case: this is a question, not a check.
    """
    answers: list[dict[str, object]] = []
    if exact:
        a, b = (ExactChannel.of(read_fractions(path)) for path in (first, second))
        for before, after in ((a, b), (b, a)):
            r, gain = exact_refined_by(before, after)
            made = None if r is None else [[str(v) for v in row] for row in r.rows]
            shown = None if gain is None else [[str(v) for v in row] for row in gain]
            answers.append(_answer(r is not None, made, shown, None if r is None else 0.0, None))
    else:
        p, q = read_channel(first), read_channel(second)
        for left, right in ((p, q), (q, p)):
            found = refined_by(left, right, tolerance=tolerance)
            matrix = None if found.post_processing is None else found.post_processing.matrix
            answers.append(_answer(found.holds, matrix, found.gain, found.residual, found.advantage))
    verdict = _VERDICTS[bool(answers[0]["holds"]), bool(answers[1]["holds"])]
    if json:
        names = ("second_never_leaks_more", "first_never_leaks_more")
        print_json({"ok": True, "verdict": verdict, **dict(zip(names, answers, strict=True))})
        return
    typer.echo(verdict[0].upper() + verdict[1:] + ".")
    for (one, two), answer in zip((("first", "second"), ("second", "first")), answers, strict=True):
        if answer["holds"]:
            typer.echo(f"  {two} = {one} R, checked (largest error {answer['residual']:.2g})")
        elif answer["advantage"] is not None:
            typer.echo(f"  a gain function gives {answer['advantage']:.3g} more with the {two} than with the {one}")
        else:
            typer.echo(f"  a gain function of fractions gives more with the {two} than with the {one}")


def _answer(holds: bool, *found: object) -> dict[str, object]:
    return dict(zip(("holds", "post_processing", "gain", "residual", "advantage"), (holds, *found), strict=True))
