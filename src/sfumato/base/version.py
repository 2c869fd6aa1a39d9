"""The version, where everything can read it without importing the package's front door."""

from __future__ import annotations

__version__ = "0.3.0"
