"""Commands of the bridge that shares live positions."""
