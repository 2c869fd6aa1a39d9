"""Measure leakage: what a channel tells, how notions relate, and the best channel for a prior."""
