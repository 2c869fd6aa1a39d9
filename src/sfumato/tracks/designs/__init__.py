"""Noise covariances designed for chosen secrets, with certified gaps."""
