"""The attack suite on the command line: ``sfumato audit --attacks`` and ``sfumato audit compare``."""
