# %% [markdown]
# # A city's map from reports that lie
#
# Check-ins of Paris (Gowalla, 500 m cells). Everybody reports one cell, drawn at random near the true one with exactly ε = 2 per km;
# the map is estimated from the reports alone. How far it is from the truth is how far, on average, people would have to be moved.

# %%
from sfumato.collect.loop.simulation import Protocol, simulate
from sfumato.collect.cities import city

paris = city("paris")
grid, people = paris.grid, paris.counts
print(grid.rows, "x", grid.columns, "cells,", int(people.sum()), "check-ins")

# %%
protocol = Protocol(beta=0.001, cycles=1, promise="epsilon")
(campaign,) = simulate(people, grid, protocol, rounds=1, seed=0)
for cycle in campaign:
    print(f"cycle {cycle.cycle}: {cycle.emd / 1000:.3f} km from the truth; each report spent {1000 * cycle.epsilon:.3f} per km")

# %% [markdown]
# Cycle 0 is what is known before anybody reports: the same share for every cell.
