"""How much a channel tells, as numbers."""
