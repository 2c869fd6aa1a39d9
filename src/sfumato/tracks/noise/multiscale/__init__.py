"""Multiscale noise: the ladder, its universal bound, its solver, and the process that is drawn."""
