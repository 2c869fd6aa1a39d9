"""Channels that a collector publishes over the cells of a grid, and draws from them."""
