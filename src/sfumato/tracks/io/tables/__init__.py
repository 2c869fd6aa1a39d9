"""Formats that are tables."""
