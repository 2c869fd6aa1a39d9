# %% [markdown]
# # Where a fleet is, from protected tracks
#
# Sixty made-up vehicles around three centres. Each one's track is protected; the map of all of them is estimated from releases and
# certificate alone, with the blur of the noise taken out, and compared with the truth that only we know here.

# %%
import numpy as np
import pyarrow as pa

import sfumato as sf

rng = np.random.default_rng(4)
centres = np.array([[48.86, 2.33], [48.88, 2.38], [48.84, 2.36]])
tracks = []
for vehicle in range(60):
    home = centres[rng.choice(3, p=[0.5, 0.3, 0.2])] + rng.normal(0, 0.004, 2)
    away = np.cumsum(rng.normal(0, 2e-4, (240, 2)), axis=0)
    tracks.append((home + away - away.mean(axis=0), np.full(240, vehicle)))
places = np.concatenate([track for track, _ in tracks])
table = pa.table({
    "vehicle": np.concatenate([who for _, who in tracks]),
    "time": np.tile(1.78e9 + 30.0 * np.arange(240), 60),
    "lat": places[:, 0], "lon": places[:, 1],
})
table.num_rows

# %%
done = sf.protect(table, person="vehicle", radius_m=200, odds=5, rng=4)
done

# %%
from sfumato.tracks.answers.answer_files import picture

heat = sf.estimate_heatmap([(done.frame, done.certificate)], cell_m=1000)


class Picture:
    """What a notebook shows of a picture."""

    def __init__(self, svg):
        self._repr_svg_ = lambda: svg


Picture(picture(heat))

# %% [markdown]
# How far the map is from the true shares of the same areas (half the sum of differences), against a count of the noisy points. An
# interval for these very people belongs to every share:

# %%
lat, lon = heat.cells.centres_deg()
true = np.bincount(heat.cells.locate(places[:, 0], places[:, 1]), minlength=heat.share.size) / len(places)
print(f"corrected {0.5 * np.abs(heat.share - true).sum():.3f}, naive {0.5 * np.abs(heat.naive - true).sum():.3f}")
for cell in np.argsort(-true)[:3]:
    print(f"{lat[cell]:.3f}, {lon[cell]:.3f}: true {true[cell]:.3f}, "
          f"estimated {heat.share[cell]:.3f} ({heat.low[cell]:.3f} to {heat.high[cell]:.3f})")
