"""Formats of their own."""
