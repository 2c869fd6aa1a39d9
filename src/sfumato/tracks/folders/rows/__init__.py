"""Datasets larger than memory: Parquet folders in, the same rows with noise out, killed and restarted at will."""
