"""Every option of `sfumato channel *` and `sfumato design` with extreme values: an answer, or our words."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from sfumato.base.errors import SfumatoError
from sfumato.cli import app

VALUES = ("0", "-1", "1e-300", "1e300", "nan", "inf", "nothing", "")
ORDINARY = {
    "design": ["--prior", "PRIOR", "--epsilon", "1"],
    "measure": ["Q", "--prior", "PRIOR"],
    "compare": ["--prior", "PRIOR", "--distortion", "hamming", "--epsilon", "1", "--mechanism", "lip-optimal"],
    "refine": ["Q", "Q"],
    "convert": ["1", "--from", "ldp", "--to", "lip", "--prior", "PRIOR"],
    "compose": ["--prior", "PRIOR", "--epsilon", "0.5", "--epsilon", "0.5"],
    "mismatch": ["--designed-for", "PRIOR", "--truth", "PRIOR", "--epsilon", "1"],
    "rate-distortion": ["--prior", "PRIOR", "--distortion", "hamming", "--beta", "1"],
    "binary": ["0.3", "--epsilon", "1"],
    "latent": ["--given", "Q", "--secret-prior", "PRIOR", "--epsilon", "1"],
    "most-information": ["--prior", "PRIOR", "--epsilon", "1"],
    "resample": ["--prior", "PRIOR", "--epsilon", "1", "--delta", "0.01"],
}
DESIGN = ["--points", "5", "--secret", "2", "--kernel", "rbf", "--length-scale", "2", "--mse", "1"]
ROOT = typer.main.get_command(app)
CHANNEL = ROOT.commands["channel"]  # type: ignore[attr-defined]
COMMANDS: dict[str, Any] = {f"channel {name}": command for name, command in CHANNEL.commands.items()}
COMMANDS["design"] = ROOT.commands["design"]  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_takes_extreme_values_or_refuses_them_in_words(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prior, matrix = tmp_path / "prior.csv", tmp_path / "q.csv"
    prior.write_text("0.5\n0.3\n0.2\n")
    matrix.write_text(".7,.2,.1\n.1,.8,.1\n.25,.25,.5\n")
    base = {"PRIOR": str(prior), "Q": str(matrix)}
    own = DESIGN if name == "design" else ORDINARY[name.removeprefix("channel ")]
    usual = [base.get(word, word) for word in own]
    runner = CliRunner()
    assert runner.invoke(app, [*name.split(), *usual]).exit_code == 0
    wrong, asked = [], 0
    for option in COMMANDS[name].params:
        if option.param_type_name != "option" or option.name in ("help", "output", "picture"):
            continue
        for value in VALUES:
            asked += 1
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                result = runner.invoke(app, [*name.split(), *usual, f"{option.opts[0]}={value}"])
            error = result.exception
            if error is not None and not isinstance(error, SystemExit | SfumatoError):
                wrong.append(f"{option.opts[0]}={value}: {type(error).__name__}: {error}")
            if re.search(r"Traceback|RuntimeWarning", result.output):
                wrong.append(f"{option.opts[0]}={value}: a traceback or a raw warning")
    assert asked
    assert not wrong, "\n".join(wrong)
