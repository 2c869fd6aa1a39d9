"""PRIVIC as printed [Biswas2023]."""
