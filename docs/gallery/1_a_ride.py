# %% [markdown]
# # A ride, before and after
#
# The ride that ships with sfumato, protected with a seed so that this page is the same each time it is built. A seed makes it a
# *simulation*: real releases draw their noise from the operating system.

# %%
from importlib.resources import as_file, files

import sfumato as sf

with as_file(files("sfumato").joinpath("data", "sample_ride.gpx")) as path:
    ride = sf.read_trace(path)
protected = sf.protect(ride, radius_m=200, odds=5, rng=1)
protected.release

# %% [markdown]
# What is promised, and what is not:

# %%
guarantee = protected.certificate["guarantee"]
print(protected.certificate["headline"])
for line in guarantee["not_covered"]:
    print("- not covered:", line.split(". ")[0].split(": ")[0])

# %% [markdown]
# What an adversary makes of it. They know the class of movements and the noise's law, and smooth as well as anyone can:

# %%
protected.audit()

# %% [markdown]
# A receiver who only wants to look at it smooths it too, and loses nothing of the promise:

# %%
((_, smooth),) = sf.smooth(protected.release, protected.certificate).people
smooth
