"""A live trace: noise added to each position as it arrives."""
