"""Attackers of what is published of somebody, one file each: where at a moment, where they live, who they are.

They are rows of :mod:`sfumato.tracks.adversary.attackers` and are given a
:class:`~sfumato.tracks.adversary.releases.seen.SeenTrack`, never an original.
"""
