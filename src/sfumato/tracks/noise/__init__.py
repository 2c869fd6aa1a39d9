"""The kinds of noise for traces, each one class that carries its meaning, and their registry."""
