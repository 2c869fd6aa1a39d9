"""Hide my home, keep the ride: places found, zones drawn once, everything in them withheld, and what is left tested.

``find`` the places, draw their ``zones`` into a private ``places_file``, ``withhold`` what lies inside, and let
``leak_test`` attack what is left before anybody else does.
"""

from sfumato.tracks.places.find import find_places
from sfumato.tracks.places.places_file import Places, load_places, place_at, save_places
from sfumato.tracks.places.zones import area_left

__all__ = ["Places", "area_left", "find_places", "load_places", "place_at", "save_places"]
