"""Channels P(y | x) over any symbols: designs, closed forms, and mechanisms side by side."""
