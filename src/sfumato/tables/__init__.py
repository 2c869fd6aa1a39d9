"""Rows in, protected rows out: people told apart by a column, all of them in a few compiled passes."""
