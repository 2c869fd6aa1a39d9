"""Conditional inferential privacy as printed [Meehan2020, Meehan2021]."""
