"""The door: who may come in, how fast and how large, and the form of every answer."""
