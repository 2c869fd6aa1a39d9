"""Whatever promises is measured on its way out: a design that lies is refused at every door, in every notion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from channel_command import refused

import sfumato as sf
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.things.channel import Channel
from sfumato.base.things.grid import Grid
from sfumato.channels.designs.design_registry import DESIGNS, ChannelDesign
from sfumato.channels.designs.door import _loaded, design_channel, design_named
from sfumato.channels.designs.promises import (
    DeltaPromise,
    GeoPromise,
    InformationPromise,
    LatentPromise,
    LipPromise,
    Promise,
)
from sfumato.channels.designs.task import ChannelTask, DesignedChannel, LeakageTarget, Tuned
from sfumato.channels.measures.discrete import hamming
from sfumato.channels.priors.prior_sets import EveryPrior, Known, Polytope, TVBall

P = np.array([0.5, 0.25, 0.125, 0.125])
GRID = Grid.plain(2, 2, 100.0, 100.0, unit="m")
FAR = GRID.distance_matrix()
TASK = ChannelTask(CellPrior(P, positions_m=GRID.centres()), hamming(4), 0.002)
TELLS_ALL = Channel(np.eye(4))
TELLS_MORE = Channel(0.05 + 0.8 * np.eye(4))
SMALL = Channel(np.full((4, 4), 0.25) + 1e-5 * (4 * np.eye(4) - 1))

LIES: dict[str, Promise] = {
    "LIP of a known prior": LipPromise(Known(P), 0.002),
    "LDP": LipPromise(EveryPrior(4), 0.002),
    "one side": LipPromise(Known(P), 0.002, float("inf")),
    "geo per metre": GeoPromise(FAR, 0.002),
    "mutual information": InformationPromise(LipPromise(EveryPrior(4), 50.0), P, 0.002),
    "epsilon and delta": DeltaPromise(P, 0.002, 0.01),
}
MADE: list[DesignedChannel | object] = []


def build(task: ChannelTask) -> object:
    return MADE[-1]


def tune(target: LeakageTarget) -> object:
    return Tuned(TELLS_MORE, 1.0)


@pytest.fixture
def liar(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[object], str]]:
    """A registered design whose build gives what it is told to give."""
    row = ChannelDesign("liar", "lies", "per metre", f"{__name__}:build", f"{__name__}:tune", reports_symbols=True)
    monkeypatch.setattr("sfumato.channels.designs.door.DESIGNS", [*DESIGNS, row])

    def tells(made: object) -> str:
        MADE.append(made)
        return "liar"

    yield tells
    MADE.clear()


@pytest.mark.parametrize("notion", LIES)
@pytest.mark.parametrize("channel", [TELLS_ALL, TELLS_MORE], ids=["the identity", "nearly the truth"])
def test_a_channel_that_leaks_more_than_it_promises_does_not_leave(
    liar: Callable[[object], str], notion: str, channel: Channel
) -> None:
    name = liar(DesignedChannel(channel, LIES[notion]))
    with pytest.raises(NotCertified, match=r"liar (does not keep its promise|promises)"):
        design_channel(name, TASK)
    with pytest.raises(NotCertified):
        LIES[notion].state(channel)


@pytest.mark.parametrize("notion", [name for name in LIES if name != "mutual information"])
def test_the_same_promise_is_stated_where_it_is_kept(liar: Callable[[object], str], notion: str) -> None:
    honest = DesignedChannel(SMALL, LIES[notion])
    said = design_channel(liar(honest), TASK).guarantee
    assert 0.002 in said.parameters.values()


def test_a_promise_over_a_set_is_measured_over_the_set(liar: Callable[[object], str]) -> None:
    ball = TVBall(P, 0.3)
    within = 1.05 * LipPromise(Known(P), 1.0).leakage(TELLS_MORE)
    assert LipPromise(Known(P), within).state(TELLS_MORE)
    with pytest.raises(NotCertified):
        LipPromise(ball, within).state(TELLS_MORE)
    task = replace(TASK, epsilon=within, priors=ball)
    set_row = replace(design_named("lip-optimal"), name="liar", build=f"{__name__}:build")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.channels.designs.door.DESIGNS", [set_row])
        for promise in (LipPromise(ball, within), LipPromise(Known(P), within)):
            with pytest.raises(NotCertified):
                design_channel(liar(DesignedChannel(TELLS_MORE, promise)), task)


@pytest.mark.parametrize(
    ("promise", "says"),
    [
        (LipPromise(Known(np.full(4, 0.25)), 0.002), "other priors"),
        (LipPromise(Polytope([P, P[::-1]]), 0.002), "other priors"),  # type: ignore[arg-type]
        (LipPromise(EveryPrior(4), 50.0), "50 where 0.002 was asked for"),
        (GeoPromise(1000 * FAR, 0.002), "other distances"),
        (GeoPromise(FAR, 0.2), "0.2 where 0.002 was asked for"),
        (GeoPromise(FAR, 0.002, "cell"), "another unit"),
        (DeltaPromise(np.full(4, 0.25), 0.002, 0.5), "another prior"),
        (LatentPromise(np.array([0.5, 0.5]), np.full((2, 4), 0.25), 0.002, 0.002), "nothing about the symbols"),
    ],
)
def test_a_promise_about_something_else_is_refused(liar: Callable[[object], str], promise: Promise, says: str) -> None:
    with pytest.raises(NotCertified, match=says):
        design_channel(liar(DesignedChannel(SMALL, promise)), TASK)


def test_only_what_is_measured_here_can_be_promised(liar: Callable[[object], str]) -> None:
    class MyPromise(LipPromise):
        def state(self, channel: Channel) -> object:  # type: ignore[override]
            return "perfectly safe"

    class MyChannel(DesignedChannel):
        guarantee = "perfectly safe"  # type: ignore[assignment]

    lie = MyPromise(EveryPrior(4), 0.002)
    with pytest.raises(NotCertified, match="nothing here measures"):
        design_channel(liar(DesignedChannel(TELLS_ALL, lie)), TASK)
    with pytest.raises(NotCertified, match="no DesignedChannel"):
        design_channel(liar(MyChannel(TELLS_ALL, LIES["LDP"])), TASK)
    with pytest.raises(NotCertified, match="3 rows for 4 symbols"):
        design_channel(liar(DesignedChannel(Channel(np.eye(3)), LipPromise(EveryPrior(3), 0.002))), TASK)


def test_a_guarantee_cannot_be_set(liar: Callable[[object], str]) -> None:
    with pytest.raises((AttributeError, TypeError)):
        DesignedChannel(TELLS_ALL, LIES["LDP"], guarantee="safe")  # type: ignore[call-arg]
    with pytest.raises(NotCertified):
        _ = DesignedChannel(TELLS_ALL, LIES["LDP"]).guarantee


@pytest.mark.parametrize("notion", [name for name in LIES if name != "one side"])
def test_the_command_refuses_before_anything_is_written_or_printed(
    liar: Callable[[object], str], notion: str, tmp_path: Path
) -> None:
    prior, out = tmp_path / "prior.csv", tmp_path / "channel.json"
    rows = "".join(f"{p},{x},{y}\n" for p, (x, y) in zip(P, GRID.centres(), strict=True))
    prior.write_text("value,x_m,y_m\n" + rows)
    words = ("design", "--mechanism", liar(DesignedChannel(TELLS_ALL, LIES[notion])), "--prior", prior)
    for more in ((), ("--remap",)):
        found = refused(*words, "--epsilon", 0.002, "-o", out, *more, says="")
        assert found["kind"] == "NotCertified"
        assert found["error"].startswith("liar ")
        assert not out.exists()


def test_a_comparison_refuses_what_was_not_tuned_to_its_target(liar: Callable[[object], str]) -> None:
    for at, target in (("lip", 0.5), ("ldp", 0.5), ("mi", 0.05), ("geo", 0.001)):
        with pytest.raises(NotCertified, match=f"liar was tuned to {target} .{at}. and leaks"):
            sf.compare(P, hamming(4), [target], distances=FAR, at=at, mechanisms=["exponential", "liar"])


def test_ones_own_function_that_answers_otherwise_the_last_time_is_refused() -> None:
    asked = []

    def two_faced(epsilon: float) -> np.ndarray:
        asked.append(epsilon)
        share = (np.exp(epsilon) - 1) / (np.exp(epsilon) + 3)
        return np.eye(4) if len(asked) > calls else share * np.eye(4) + (1 - share) / 4

    calls = 10_000
    sf.compare(P, hamming(4), [0.5], mechanisms=[two_faced])
    calls = len(asked) - 1
    asked.clear()
    with pytest.raises(NotCertified, match=r"two_faced was tuned to 0\.5"):
        sf.compare(P, hamming(4), [0.5], mechanisms=[two_faced])


def test_what_a_row_names_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for words in ("nowhere:build", "sfumato.channels.designs.tuned:nothing", "math:pi", ""):
        row = ChannelDesign("half", "half a design", "nats", words)
        monkeypatch.setattr("sfumato.channels.designs.door.DESIGNS", [row])
        with pytest.raises(InputError, match="'half' is incomplete"):
            design_channel("half", TASK)
    with pytest.raises(InputError, match=r"There is no mechanism 'none'\. Use one of: half"):
        design_channel("none", TASK)


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_every_row_names_functions_that_are_there(design: ChannelDesign) -> None:
    assert callable(_loaded(design, design.build))
    assert design.tune is None or callable(_loaded(design, design.tune))
    assert design.summary
    assert len(design.summary) < 110
