"""A trusted holder's own tables: counts of everybody, with user-level differential privacy by OpenDP."""
