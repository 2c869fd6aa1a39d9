"""Priors, costs, channels and samples in files."""
