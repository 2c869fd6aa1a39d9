"""What people use today to protect tracks, as mechanisms to compare: they promise nothing, and are said to.

Each is a function of everybody's originals, a size in metres and a generator, and gives what would be released of
each (None: nothing). They are for comparison, drawn from a seed, and are no releases: nothing here is certified.
"""
