"""Hide my home, keep the ride: places found, zones drawn once, everything in them withheld, and what is left tested.

``find`` the places, draw their ``zones`` into a private ``file``, ``withhold`` what lies inside, and let ``leak_test``
attack what is left before anybody else does.
"""

from sfumato.tracks.places.areas import Area
from sfumato.tracks.places.find import FoundPlace, find_places
from sfumato.tracks.places.leak_test import LeakTest, PlaceLeak, leak_test, refuse_if_found
from sfumato.tracks.places.places_file import (
    REMOVAL_MEANS,
    Place,
    Places,
    area_from_rings,
    change_places,
    load_places,
    place_as_drawn,
    place_at,
    place_over,
    places_from_geojson,
    save_places,
)
from sfumato.tracks.places.withhold import Withheld, withhold
from sfumato.tracks.places.zones import DEFAULT_RADIUS_M, RADII_M, Zone, area_left, draw_zone

__all__ = [
    "DEFAULT_RADIUS_M",
    "RADII_M",
    "REMOVAL_MEANS",
    "Area",
    "FoundPlace",
    "LeakTest",
    "Place",
    "PlaceLeak",
    "Places",
    "Withheld",
    "Zone",
    "area_from_rings",
    "area_left",
    "change_places",
    "draw_zone",
    "find_places",
    "leak_test",
    "load_places",
    "place_as_drawn",
    "place_at",
    "place_over",
    "places_from_geojson",
    "refuse_if_found",
    "save_places",
    "withhold",
]
