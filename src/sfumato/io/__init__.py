"""Trace files in and out: lat/lon and file formats live here and nowhere else."""
