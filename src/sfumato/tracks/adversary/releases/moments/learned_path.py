"""A learned reconstruction, in the spirit of RAoPT [Buchholz2022]: a small recurrent network that saw other people's
originals beside their releases, and says where this person was.

It is taught on half of the people and attacks the other half, so it works for any mechanism, also one that states no
law. At each moment it reads the release, what smoothing and what roads guess, and their steps; it says how far to trust
each of the three, and what streets and habits add. Errors beyond the size of the noise count less than squared, so that
one person whom no guess fits is not what everybody's network is made for; every fifth of those it learns from only says
when it is best. Needs PyTorch
(``pip install 'sfumato[learned]'``) and takes a GPU where there is one. The same people give the same network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfumato.base.arrays import FloatArray, evenly
from sfumato.base.errors import MissingExtra
from sfumato.tracks.adversary.releases.moments import roads
from sfumato.tracks.adversary.releases.moments.likely_path import best_fit
from sfumato.tracks.adversary.releases.seen import Knowledge, Lesson, Lessons, SeenTrack

try:
    import torch
    from torch import nn
except ImportError as error:
    raise MissingExtra("torch", "learned") from error

WINDOW, HIDDEN, EPOCHS, BATCH, RATE, FEWEST = 64, 48, 60, 32, 4e-3, 3
MOST_WINDOWS, _JUDGES, _FAR, _TRUST = 800, 5, 20.0, (0.0, 1.0, 2.0)
"""What is learnt from at most; every fifth person says when to stop; units that no aim is farther off; roads are
trusted most before anything is learnt."""


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A recurrent network that reads both ways, what it says of each moment, and the unit of its metres.

    It is handed three guesses, (…, 6), after what it reads, says how far each is trusted, and corrects their mean.
    """

    reads: nn.GRU
    says: nn.Linear
    size_m: float

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """Positions, in units."""
        said = self.says(self.reads(rows[..., :-6])[0])
        paths = rows[..., -6:].unflatten(-1, (3, 2))
        return (said[..., 2:].softmax(-1)[..., None] * paths).sum(-2) + said[..., :2]


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The network's path; None where fewer than three other people can be learnt from."""
    if told.lessons is None or len(told.lessons.taught) < FEWEST or len(seen.times_s) < 3:
        return None
    network = teach(told.lessons)
    read, smooth = _read(seen, told, network.size_m)
    with torch.no_grad():
        off = network(_tensor(read[None]))[0].cpu().numpy()
    return np.asarray(smooth + network.size_m * off.astype(np.float64))


def _read(seen: SeenTrack, told: Knowledge, size_m: float) -> tuple[FloatArray, FloatArray]:
    """What the network is handed of every moment, all counted from the smoothed path."""
    z, smooth, way = seen.path_m, best_fit(seen, told), roads.guess(seen, told)
    smooth = z if smooth is None else smooth
    way = smooth if way is None else way
    step, onward = (np.diff(path, axis=0, prepend=path[:1]) for path in (z, way))
    pause = np.log1p(np.abs(np.diff(seen.times_s, prepend=seen.times_s[:1])))[:, None] / 5.0
    read_m, paths_m = np.hstack([z - way, smooth - way, step, onward]), np.hstack([z, smooth, way]) - np.tile(smooth, 3)
    return np.hstack([np.clip(read_m / size_m, -5.0, 5.0), pause, np.clip(paths_m / size_m, -_FAR, _FAR)]), smooth


@lru_cache(maxsize=2)
def teach(lessons: Lessons) -> Network:
    """Always the same network for the same lessons, whatever else draws random numbers."""
    size_m = max(float(np.median([_off_m(lesson) for lesson in lessons.taught])), 5.0)
    inputs, aims = _batches([one for k, one in enumerate(lessons.taught) if k % _JUDGES], size_m)
    judged = _batches(lessons.taught[::_JUDGES], size_m)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        reads = nn.GRU(inputs.shape[2] - 6, HIDDEN, batch_first=True, bidirectional=True).to(inputs.device)
        network = Network(reads, nn.Linear(2 * HIDDEN, 5).to(inputs.device), size_m)
        nn.init.zeros_(network.says.weight)
        network.says.bias.data = torch.tensor([0.0, 0.0, *_TRUST], device=inputs.device)
        steps = torch.optim.Adam([*network.reads.parameters(), *network.says.parameters()], lr=RATE)
        slower = torch.optim.lr_scheduler.CosineAnnealingLR(steps, EPOCHS)
        best, least = _weights(network), _loss(network, *judged).item()
        for _ in range(EPOCHS):
            for batch in torch.randperm(len(inputs)).split(BATCH):
                loss = _loss(network, inputs[batch], aims[batch])
                steps.zero_grad()
                loss.backward()
                steps.step()
            slower.step()
            with torch.no_grad():
                now = _loss(network, *judged).item()
            if now < least:
                best, least = _weights(network), now
    network.reads.load_state_dict(best[0])
    network.says.load_state_dict(best[1])
    return network


def _loss(network: Network, inputs: torch.Tensor, aims: torch.Tensor) -> torch.Tensor:
    known = ~aims.isnan()
    found: torch.Tensor = nn.functional.smooth_l1_loss(network(inputs)[known], aims[known])
    return found


def _weights(network: Network) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """A copy of them."""
    reads, says = (
        {name: each.clone() for name, each in part.state_dict().items()} for part in (network.reads, network.says)
    )
    return reads, says


def _batches(lessons: Sequence[Lesson], size_m: float) -> tuple[torch.Tensor, torch.Tensor]:
    """What is read and what is true, of so many windows at most."""
    windows = [window for lesson in lessons for window in _windows(lesson, size_m)]
    some = [windows[k] for k in evenly(len(windows), MOST_WINDOWS)]
    inputs, aims = (_tensor(np.stack(each)) for each in zip(*some, strict=True))
    return inputs, aims


def _tensor(values: FloatArray) -> torch.Tensor:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.tensor(values, dtype=torch.float32, device=device)


def _off_m(lesson: Lesson) -> float:
    """How far a release is off, per coordinate."""
    return float(np.sqrt(np.nanmean((lesson.seen.path_m - lesson.truth_m) ** 2)))


def _windows(lesson: Lesson, size_m: float) -> list[tuple[FloatArray, FloatArray]]:
    """Half overlapping windows of 64 moments, padded with moments that do not count."""
    read, smooth = _read(lesson.seen, lesson.told, size_m)
    aim, out = np.clip((lesson.truth_m - smooth) / size_m, -_FAR, _FAR), []
    for start in range(0, max(len(read) - WINDOW // 2, 1), WINDOW // 2):
        wanted = aim[start : start + WINDOW]
        if not np.isnan(wanted).all():
            short = ((0, WINDOW - len(wanted)), (0, 0))
            some = np.pad(read[start : start + WINDOW], short)
            out.append((some, np.pad(wanted, short, constant_values=np.nan)))
    return out
