"""Numbers and steps that two wings compute."""
