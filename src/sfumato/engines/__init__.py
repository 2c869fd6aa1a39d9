"""The same table-to-table function, run at scale."""
