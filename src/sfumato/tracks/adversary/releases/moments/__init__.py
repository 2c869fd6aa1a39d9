"""Where somebody was at a moment: attackers answer with a position for every released time (n, 2), or None."""
