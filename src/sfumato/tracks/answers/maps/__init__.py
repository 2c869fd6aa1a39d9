"""Where people are: maps from releases."""
