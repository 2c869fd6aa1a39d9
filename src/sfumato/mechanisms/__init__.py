"""Ways to add noise, each with its release and its guarantee."""
