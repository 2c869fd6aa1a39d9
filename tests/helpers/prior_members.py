"""Random members of a class of priors, for attacks on what is promised over it."""

from __future__ import annotations

import numpy as np

from sfumato.base.randomness import randomness
from sfumato.tracks.priors.classes import PriorClass
from sfumato.tracks.priors.kernels import Constant, Kernel, White, kernel_named


def random_member(members: PriorClass, rng: int | np.random.Generator) -> Kernel:
    """A random member, for attacks: kernel, log length scale, log sd, nugget and offset drawn widely."""
    draw = randomness(rng)
    pick, scale, sd, nugget, offset, with_nugget, with_offset = draw.uniforms(7)
    low, high = members.length_scales_s
    least, most = max(members.sd_m[0], 0.1), min(members.sd_m[1], 1e5)
    sd_m = float(np.exp(np.log(least) + sd * np.log(max(most, least) / least)))
    name = members.kernels[min(int(pick * len(members.kernels)), len(members.kernels) - 1)]
    kernel = kernel_named(name, length_scale_s=float(np.exp(np.log(low) + scale * np.log(high / low))), sd_m=sd_m)
    if with_nugget < 0.7 and members.nugget_share > 0:
        kernel = kernel + White(members.nugget_share * sd_m * (1.0 if with_nugget < 0.3 else float(nugget)))
    if with_offset < 0.6 and members.offset:
        kernel = kernel + Constant(float(np.exp(np.log(1.0) + offset * np.log(1e6))))
    return kernel
