"""Commands that answer from releases: estimate, smooth, preview and utility."""
