"""What can still be learned from a release."""
