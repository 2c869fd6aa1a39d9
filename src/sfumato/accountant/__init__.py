"""The ledger: what was released, and what all of it together costs, one composition rule per notion."""
