"""Whose release is it: attackers score every release by what they know of one person, (people,), or None."""
