"""How far, how fast, which way: paths from releases."""
