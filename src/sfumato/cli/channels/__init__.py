"""Commands for channels."""
