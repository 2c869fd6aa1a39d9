"""From where to where: trips from releases."""
