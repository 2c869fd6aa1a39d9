"""The mechanisms for traces by name: the one list that help, docs, laws, certificates, audit and report go by.

To add one: write its file, add its line here, add its docs page (``docs/contributing/add_a_mechanism.md``). A line
names module and class; :mod:`~sfumato.tracks.noise.lookup` loads it when its mechanism is asked for, so
one protected track does not load them all.
"""

from __future__ import annotations

MECHANISMS = {
    "multiscale": "sfumato.tracks.noise.multiscale.noise:MultiscaleNoise",
    "prior-shaped": "sfumato.tracks.noise.prior_shaped:PriorShapedNoise",
    "mixed": "sfumato.tracks.noise.mixed:MixedNoise",
    "independent": "sfumato.tracks.noise.independent:IndependentNoise",
    "planar-laplace": "sfumato.tracks.noise.planar_laplace:LaplaceNoise",
    "secrets": "sfumato.tracks.noise.chosen_secrets:SecretNoise",
    "published": "sfumato.tracks.noise.published_secrets:PublishedNoise",
}
