"""A learned reconstruction, in the spirit of RAoPT [Buchholz2022]: a small recurrent network that saw other people's
originals beside their releases, and says where this person was.

It is taught on half of the people and attacks the other half, so it works for any mechanism, also one that states no
law. At each moment it reads the steps of the release and what smoothing and roads guess; it learns how far to trust
each, and what streets and habits add. Needs PyTorch (``pip install 'sfumato[learned]'``) and takes a GPU where there is
one. The same people give the same network.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfumato.base.arrays import FloatArray
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


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A recurrent network that reads both ways, what it says of each moment, and the unit of its metres."""

    reads: nn.GRU
    says: nn.Linear
    size_m: float

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """Corrections, in units."""
        return self.says(self.reads(rows)[0])


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The network's path; None where fewer than three other people can be learnt from."""
    if told.lessons is None or len(told.lessons.taught) < FEWEST or len(seen.times_s) < 3:
        return None
    network = teach(told.lessons)
    read, first = _read(seen, told, network.size_m)
    with torch.no_grad():
        off = network(_tensor(read[None]))[0].cpu().numpy()
    return np.asarray(first + network.size_m * off.astype(np.float64))


def _read(seen: SeenTrack, told: Knowledge, size_m: float) -> tuple[FloatArray, FloatArray]:
    """What the network reads of every moment, and the guess that it corrects (roads, else smoothing)."""
    z, smooth, way = seen.path_m, best_fit(seen, told), roads.guess(seen, told)
    smooth = z if smooth is None else smooth
    first = smooth if way is None else way
    step, onward = (np.diff(path, axis=0, prepend=path[:1]) for path in (z, first))
    pause = np.log1p(np.abs(np.diff(seen.times_s, prepend=seen.times_s[:1])))[:, None]
    read_m = np.hstack([z - first, smooth - first, step, onward])
    return np.hstack([np.clip(read_m / size_m, -5.0, 5.0), pause / 5.0]), first


@lru_cache(maxsize=2)
def teach(lessons: Lessons) -> Network:
    """Always the same network for the same lessons, whatever else draws random numbers."""
    size_m = max(float(np.median([_off_m(lesson) for lesson in lessons.taught])), 5.0)
    windows = [window for lesson in lessons.taught for window in _windows(lesson, size_m)]
    inputs, aims = (_tensor(np.stack(each)) for each in zip(*windows, strict=True))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        reads = nn.GRU(inputs.shape[2], HIDDEN, batch_first=True, bidirectional=True).to(inputs.device)
        network = Network(reads, nn.Linear(2 * HIDDEN, 2).to(inputs.device), size_m)
        nn.init.zeros_(network.says.weight)
        nn.init.zeros_(network.says.bias)
        steps = torch.optim.Adam([*network.reads.parameters(), *network.says.parameters()], lr=RATE)
        slower = torch.optim.lr_scheduler.CosineAnnealingLR(steps, EPOCHS)
        for _ in range(EPOCHS):
            for batch in torch.randperm(len(inputs)).split(BATCH):
                known = ~aims[batch].isnan()
                loss = ((network(inputs[batch])[known] - aims[batch][known]) ** 2).mean()
                steps.zero_grad()
                loss.backward()
                steps.step()
            slower.step()
    return network


def _tensor(values: FloatArray) -> torch.Tensor:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.tensor(values, dtype=torch.float32, device=device)


def _off_m(lesson: Lesson) -> float:
    """How far a release is off, per coordinate."""
    return float(np.sqrt(np.nanmean((lesson.seen.path_m - lesson.truth_m) ** 2)))


def _windows(lesson: Lesson, size_m: float) -> list[tuple[FloatArray, FloatArray]]:
    """Half overlapping windows of 64 moments, padded with moments that do not count."""
    read, first = _read(lesson.seen, lesson.told, size_m)
    aim, out = (lesson.truth_m - first) / size_m, []
    for start in range(0, max(len(read) - WINDOW // 2, 1), WINDOW // 2):
        wanted = aim[start : start + WINDOW]
        if not np.isnan(wanted).all():
            short = ((0, WINDOW - len(wanted)), (0, 0))
            some = np.pad(read[start : start + WINDOW], short)
            out.append((some, np.pad(wanted, short, constant_values=np.nan)))
    return out
