"""The ground floor: tools, nouns and numbers that more than one wing needs."""
