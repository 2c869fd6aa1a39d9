"""From one notion of privacy to another, and how they compose."""
