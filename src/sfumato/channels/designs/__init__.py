"""P(y | x) over any symbols: every design by name, what it promises, and the door it leaves through."""
