"""Can I still be found? Every attacker on a release, with the original at hand: before, after, by luck, as certified.

Attackers are rows of :mod:`sfumato.tracks.adversary.attackers` and see what was released; truths are here.
"""
