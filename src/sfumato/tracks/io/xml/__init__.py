"""Formats written in XML."""
