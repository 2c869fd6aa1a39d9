"""How much is given away, as numbers."""
