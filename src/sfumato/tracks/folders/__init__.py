"""Whole folders, filled by jobs that may be killed: archives of one person's rides, datasets of many people's rows."""
