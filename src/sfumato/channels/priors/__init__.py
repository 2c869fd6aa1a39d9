"""What everybody knows before a report, and sets of such beliefs."""
