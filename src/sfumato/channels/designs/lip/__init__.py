"""Channels of local information privacy."""
