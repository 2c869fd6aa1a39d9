"""Where somebody lives, works or stays: attackers answer with positions (k, 2), the likeliest first, or None."""
