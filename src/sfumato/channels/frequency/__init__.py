"""Frequency oracles: reports made for counting, and the counts behind them."""
