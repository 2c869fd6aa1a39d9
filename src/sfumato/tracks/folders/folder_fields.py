"""What the certificate of a folder holds, as its JSON: the types that those who read it go by."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from sfumato.tracks.noise.interface import Json


class CertifiedFile(TypedDict):
    """One file of a folder; a dataset's says its points."""

    name: str
    sha256: str
    points: NotRequired[int]


class OwnLosses(TypedDict):
    """Quantiles of what people lose at their own times, from below and from above; or why there are none."""

    people: int
    with_all_moments: int
    at_least: dict[str, float]
    at_most: dict[str, float]
    meaning: str


class Crowd(TypedDict):
    """How points are spread over people, and what they lose."""

    people: int
    points: int
    points_per_person: dict[str, int]
    loss_at_times: NotRequired[OwnLosses]
    worst_loss: NotRequired[float | None]


class FolderDocument(TypedDict):
    """The certificate of a folder as its JSON; a dataset's names columns and people."""

    kind: str
    format: int
    sfumato: str
    withheld: list[str] | None
    not_covered: list[str]
    times: dict[str, str]
    columns: NotRequired[dict[str, str]]
    kept: list[str]
    people: NotRequired[Crowd]
    ids: NotRequired[dict[str, str]]
    meaning: NotRequired[str | None]
    simulation: bool
    noise: Json | None
    files: list[CertifiedFile]
