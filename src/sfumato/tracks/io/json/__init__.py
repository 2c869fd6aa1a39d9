"""Formats written in JSON."""
