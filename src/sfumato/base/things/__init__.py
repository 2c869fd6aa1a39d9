"""Nouns that two wings share: places, times, tracks, grids, channels, and statements about them."""
