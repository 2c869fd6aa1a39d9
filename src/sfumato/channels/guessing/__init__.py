"""Adversaries who want something: gains, guesses, and mechanisms known by samples alone."""
