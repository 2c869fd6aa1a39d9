"""The mechanisms for traces by name: the one list that help, docs, laws, certificates, audit and report go by.

To add one: write its file, add its line here, add its docs page (``docs/contributing/add_a_mechanism.md``). A line
names module and class; :mod:`~sfumato.mechanisms.traces.trace_lookup` loads it when its mechanism is asked for, so
one protected track does not load them all.
"""

from __future__ import annotations

MECHANISMS = {
    "multiscale": "sfumato.mechanisms.traces.multiscale.noise:MultiscaleNoise",
    "prior-shaped": "sfumato.mechanisms.traces.prior_shaped:PriorShapedNoise",
    "mixed": "sfumato.mechanisms.traces.mixed:MixedNoise",
    "independent": "sfumato.mechanisms.traces.independent:IndependentNoise",
    "planar-laplace": "sfumato.mechanisms.traces.planar_laplace:LaplaceNoise",
    "secrets": "sfumato.mechanisms.traces.chosen_secrets:SecretNoise",
    "published": "sfumato.mechanisms.traces.published_secrets:PublishedNoise",
}
