"""What a release is good for, measured by whoever holds the original: before they choose, and after they released.

Everything here looks at the original, so everything here is private.
"""
