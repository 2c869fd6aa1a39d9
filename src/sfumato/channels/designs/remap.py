"""Bayesian remapping: replace every report by the place that is nearest on average to where the person may be.

It uses the prior and the report only, so it is a post-processing: no leakage of any notion grows, and the average
distortion never does either.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.things.channel import Channel, checked_distortion, checked_probabilities
from sfumato.channels.designs.task import ChannelTask, DesignedChannel
from sfumato.channels.measures.discrete import average_distortion


def best_answers(channel: Channel, prior: npt.ArrayLike, distortion: npt.ArrayLike) -> IntArray:
    """For each output y the z that minimises sum_x p(x) Q(y | x) d(x, z)."""
    p = checked_probabilities(prior, channel.shape[0])
    d = checked_distortion(distortion)
    if d.shape[0] != channel.shape[0]:
        raise InputError(f"The distortion has {d.shape[0]} rows for {channel.shape[0]} inputs.", "Give d(x, answer).")
    return np.asarray(np.argmin((p[:, None] * channel.matrix).T @ d, axis=1), dtype=np.int64)


def remap(
    channel: Channel, prior: npt.ArrayLike, distortion: npt.ArrayLike, *, answers: tuple[str, ...] = ()
) -> Channel:
    """The channel followed by the best answer to each output; only answers in use remain."""
    d: FloatArray = checked_distortion(distortion)
    best = best_answers(channel, prior, d)
    used, place = np.unique(best, return_inverse=True)
    names = answers or (channel.inputs if d.shape[1] == channel.shape[0] else tuple(str(z) for z in range(d.shape[1])))
    matrix = channel.post_process(place.astype(np.int64)).matrix
    return Channel(
        matrix,
        inputs=channel.inputs,
        outputs=tuple(names[z] for z in used),
        distortion=d[:, used],
        distortion_name=channel.distortion_name,
        positions_m=channel.positions_m,
    )


def remap_design(made: DesignedChannel, task: ChannelTask) -> DesignedChannel:
    """A design followed by the best answer to each report: cost, gap and promise are measured on what then ships."""
    after = remap(made.channel, task.prior, task.distortion, answers=task.prior.labels)
    channel = made.promise.after(after)
    assert channel.distortion is not None
    cost = average_distortion(channel, task.prior, channel.distortion)
    bound = None if made.lower_bound is None else min(made.lower_bound, cost)
    gap = made.gap if bound is None else (cost - bound) / cost if cost > 0 else 0.0
    return replace(made, channel=channel, gap=gap, average_distortion=cost, lower_bound=bound)
