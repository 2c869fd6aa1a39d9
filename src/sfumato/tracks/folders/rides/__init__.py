"""Archives of one person's rides: every ride once, resumable, next week's added; places hidden or noise added."""
