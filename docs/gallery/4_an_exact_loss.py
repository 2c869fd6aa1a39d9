# %% [markdown]
# # What one moment gives away, exactly
#
# Somebody recorded every second for 50 seconds; an adversary who knows how people move wants to know where they were in the middle.
# Independent noise looks like protection and is not: the neighbours of a moment give it away.

# %%
import numpy as np

from sfumato.base.numbers.odds import mu_of, odds_at
from sfumato.tracks.losses.gaussian_loss import loss_matrix
from sfumato.base.numbers.odds import odds_words
from sfumato.tracks.designs.design import design
from sfumato.tracks.priors.kernels import RBF
from sfumato.tracks.secret import basic

times_s = np.arange(50.0)
kernel = RBF(length_scale_s=6.0, sd_m=1.0)
prior = kernel.covariance(times_s) + 1e-6 * np.eye(50)
independent = float(loss_matrix(prior, 0.02 * np.eye(50), [24])[0, 0])
best = design(times_s, [basic(24)], kernel, budget=1.0, method="joint")
print(f"loss: independent noise {independent:.1f}, the best noise of the same size {best.objective:.4f}")

# %% [markdown]
# In odds between two places half a unit apart, 99 times in 100:

# %%
for name, loss in (("independent", independent), ("best", best.objective)):
    print(f"{name:12} {odds_words(odds_at(mu_of(loss, 0.5), 0.01))}")

# %% [markdown]
# Formula, proof and every design: [the exact loss](../derivations/tracks.md), [which design](../designs.md).
