"""Channels that are geo-indistinguishable."""
