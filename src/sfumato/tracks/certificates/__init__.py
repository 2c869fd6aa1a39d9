"""Certificates: built, worded, sealed, signed and verified; and the state that continues a release."""
