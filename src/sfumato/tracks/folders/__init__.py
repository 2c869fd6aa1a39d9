"""Whole folders: archives of rides and datasets of many people."""
