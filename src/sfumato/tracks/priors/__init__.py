"""What an adversary believes before seeing anything."""
