"""The operator's own streets and outline, by ranges: the same bytes for everybody who looks at a campaign."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from sfumato.collect.service.answers import Refused
from sfumato.collect.service.ground import OUTLINE, TILES
from sfumato.collect.service.routes.common import Responses, ground_of, refusals

router = APIRouter(tags=["pages"])
_KEPT = {"cache-control": "public, max-age=3600"}
_TILES: Responses = {200: {"content": {"application/vnd.pmtiles": {}}, "description": "The file; ranges are answered."}}
_OUTLINE: Responses = {200: {"content": {"application/geo+json": {}}, "description": "The file."}}


@router.get(TILES, response_class=Response, responses={**_TILES, **refusals(404)})
async def tiles(request: Request) -> Response:
    """The operator's PMTiles file, where there is one; ask for ranges."""
    return _sent(ground_of(request).tiles_file, "application/vnd.pmtiles")


@router.get(OUTLINE, response_class=Response, responses={**_OUTLINE, **refusals(404)})
async def outline(request: Request) -> Response:
    """The city's outline as GeoJSON, where there is one."""
    return _sent(ground_of(request).outline_file, "application/geo+json")


def _sent(file: Path | None, media_type: str) -> Response:
    if file is None or not file.is_file():
        raise Refused(404, "This server has no such file.")
    return FileResponse(file, media_type=media_type, headers=_KEPT)
