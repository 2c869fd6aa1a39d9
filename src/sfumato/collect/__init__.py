"""Collect heat maps: each device obfuscates, the collector estimates and improves the channel."""
