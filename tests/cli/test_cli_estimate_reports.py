"""``estimate heatmap`` of a collection's reports: the signed channel takes the certificate's place."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from typer.testing import CliRunner

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.things.estimated_map import GridAreas
from sfumato.base.things.grid import Grid
from sfumato.cli import app
from sfumato.collect.client.wire import canonical_json, channel_version, to_base64url
from sfumato.collect.estimation.tally import tally_reports
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.grids.tight import tight_channel
from sfumato.collect.loop.reported import estimate_reports
from sfumato.tracks.answers.answer_files import read_answer

GRID = Grid.from_bounds(48.82, 2.27, 48.88, 2.38, cell_size_m=1000)
TRUTH = np.where(np.arange(GRID.cells) % 9 == 4, 1.0, 0.05)
TRUTH /= TRUTH.sum()


def drawn(channel: GridChannel, people: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = np.array([channel.row(cell) for cell in range(GRID.cells)])
    places = rng.choice(GRID.cells, size=people, p=TRUTH)
    return np.array([rng.choice(GRID.cells, p=rows[place] / rows[place].sum()) for place in places])


def offered(channel: GridChannel, cycle: int = 1) -> dict[str, object]:
    """What the collector answers at …/channel."""
    wire = {name: getattr(GRID, name) for name in ("rows", "columns", "cell_height", "cell_width", "unit", "north_deg")}
    wire |= {name: getattr(GRID, name) for name in ("west_deg", "cell_height_deg", "cell_width_deg")}
    text = canonical_json(
        {
            "campaign": "town",
            "cycle": cycle,
            "grid": wire,
            "beta_per_m": channel.beta,
            "output_weights": channel.output_weights.tolist(),
            "floor": 0.001,
            "reporting": "once",
        }
    )
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    public = to_base64url(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))
    signature = to_base64url(key.sign(text))
    return {
        "payload": text.decode(),
        "version": channel_version(text),
        "signature": signature,
        "public_key": public,
    }


def channels() -> list[GridChannel]:
    return [tight_channel(GRID, epsilon=epsilon).value for epsilon in (2e-3, 1e-3)]


def test_reports_of_two_channels_each_keep_their_own_law_and_come_with_intervals(tmp_path: Path) -> None:
    two = channels()
    reports = [drawn(channel, 3000, seed) for seed, channel in enumerate(two)]
    for number, (channel, cells) in enumerate(zip(two, reports, strict=True)):
        (tmp_path / f"channel{number}.json").write_text(json.dumps(offered(channel, number + 1)))
        (tmp_path / f"reports{number}.csv").write_text("report\n" + "\n".join(map(str, cells)))
    counts = np.bincount(reports[0], minlength=GRID.cells)
    exported = "cell,reports\n" + "\n".join(f"{cell},{count}" for cell, count in enumerate(counts))
    (tmp_path / "exported.csv").write_text(exported)
    run = CliRunner().invoke
    asked = ["estimate", "heatmap", str(tmp_path / "exported.csv"), str(tmp_path / "reports1.csv")]
    asked += ["--channel", str(tmp_path / "channel0.json"), "--channel", str(tmp_path / "channel1.json")]
    done = run(app, [*asked, "-o", str(tmp_path / "heat.csv"), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["people"] == 6000
    table = read_answer(tmp_path / "heat.csv")
    tallies = [tally_reports(channel, one) for channel, one in zip(two, reports, strict=True)]
    found = estimate_reports(tallies)
    assert isinstance(found.cells, GridAreas)
    assert table["share"].to_pylist() == pytest.approx(found.share.tolist())
    ours, counted = (0.5 * float(abs(share - TRUTH).sum()) for share in (found.picture, found.counted))
    assert ours < 0.6 * counted
    truth = found.cells.sums(TRUTH)
    assert np.mean((found.low_alike <= truth) & (truth <= found.high_alike)) > 0.7
    assert (found.high - found.low < found.high_alike - found.low_alike + 1e-12).all()
    told = run(app, asked)
    assert "6000 reports of 6000 people" in told.output
    few = estimate_reports([tally_reports(two[0], reports[0][:3])])
    assert np.isnan(few.low).all()


def test_what_does_not_belong_together_is_refused_in_words(tmp_path: Path) -> None:
    channel = channels()[0]
    offer, reports = tmp_path / "channel.json", tmp_path / "reports.csv"
    offer.write_text(json.dumps(offered(channel)))
    reports.write_text("report\n" + "\n".join(map(str, drawn(channel, 50, 1))))
    run = CliRunner().invoke

    def refusal(*more: str, file: Path = reports) -> str:
        said = run(app, ["estimate", "heatmap", str(file), *more])
        assert said.exit_code != 0
        assert isinstance(said.exception, InputError | VerificationFailed)
        return str(said.exception)

    assert "0 certificates" in refusal()
    assert "own cells" in refusal("--channel", str(offer), "--cell", "500m")
    assert "1 files of reports and 2 channels" in refusal("--channel", str(offer), "--channel", str(offer))
    assert "Certificates and channels" in refusal("--channel", str(offer), "--certificate", str(offer))
    (tmp_path / "bare.json").write_text(str(offered(channel)["payload"]))
    assert "no signed channel" in refusal("--channel", str(tmp_path / "bare.json"))
    forged = offered(channel)
    forged["payload"] = str(forged["payload"]).replace('"cycle":1', '"cycle":2')
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    assert "not the hash" in refusal("--channel", str(tmp_path / "forged.json"))
    odd = {
        "report\n99999\n": "outside 0",
        "report\n1\nnan\n": "rows without",
        "report\n1.5\n": "whole numbers",
        "where\n3\n": "no column",
        "cell,reports\n1,2\n1,3\n": "twice",
        "cell,reports\n1,0\n": "No cycle has a report",
    }
    for text, words in odd.items():
        (tmp_path / "odd.csv").write_text(text)
        assert words in refusal("--channel", str(offer), file=tmp_path / "odd.csv")


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_a_confidence_that_is_none_is_refused(confidence: float) -> None:
    channel = channels()[0]
    with pytest.raises(InputError, match="between 0 and 1"):
        estimate_reports([tally_reports(channel, drawn(channel, 10, 1))], confidence=confidence)
