"""The only place with SQL: campaigns, cycles, tallies and the public log."""
