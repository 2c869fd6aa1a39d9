"""Commands for tracks."""
