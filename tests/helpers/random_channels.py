"""Random channels and priors for the laws of leakage."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


def random_channel(rng: np.random.Generator, inputs: int, outputs: int, *, zeros: bool = False) -> np.ndarray:
    """Rows from a Dirichlet law; ``zeros`` sets some entries to 0."""
    q = rng.dirichlet(np.full(outputs, rng.uniform(0.2, 2.0)), inputs)
    if zeros:
        q = np.where(rng.random(q.shape) < 0.25, 0.0, q)
        q[q.sum(axis=1) == 0, 0] = 1.0
    else:
        q = np.maximum(q, 1e-9)
    return q / q.sum(axis=1, keepdims=True)


@st.composite
def channels_with_priors(draw: st.DrawFn, *, zeros: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """A channel of 2 to 6 inputs and 1 to 6 outputs, and a prior (some entries 0 when ``zeros``)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m = draw(st.integers(2, 6)), draw(st.integers(1, 6))
    prior = rng.dirichlet(np.full(n, rng.uniform(0.3, 3.0)))
    if zeros:
        prior = np.where(rng.random(n) < 0.3, 0.0, prior)
    prior = prior / prior.sum() if prior.sum() > 0 else np.eye(n)[0]
    return random_channel(rng, n, m, zeros=zeros), prior
