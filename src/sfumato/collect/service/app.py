"""The application: ``create_app`` puts the collector behind its routes and the guard in front."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from sfumato.base.errors import SfumatoError
from sfumato.base.version import __version__
from sfumato.collect.service.door import answers
from sfumato.collect.service.door.answers import HotReports
from sfumato.collect.service.door.guard import Guard, TrustedProxies
from sfumato.collect.service.door.looks import Looks, PackedFiles
from sfumato.collect.service.operating.gazetteer import read_soon
from sfumato.collect.service.operating.lifecycle import watch_ends
from sfumato.collect.service.pages.svg_maps import Ground
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.routes import html, operate, public
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store.engine import UNREACHABLE
from sfumato.collect.service.store.faults import fault

_ABOUT = "Incremental collection of obfuscated locations. The server never receives, stores or logs a true location."


_KNOWN: tuple[type[Exception], ...] = (SfumatoError, *UNREACHABLE)


def _explain(error: Exception) -> None:
    """Say in two lines why the server cannot start, instead of a traceback."""
    told = error if isinstance(error, SfumatoError) else fault(error)
    print(f"Error: {told.what}\n       {told.advice}", file=sys.stderr, flush=True)
    logging.getLogger("uvicorn.error").addFilter(lambda record: "Traceback" not in record.getMessage())


def create_app(settings: Settings | None = None, *, collector: Collector | None = None) -> FastAPI:
    """The service with these settings (by default those of the environment)."""
    chosen = settings or Settings.from_environment()
    running = collector or Collector(chosen)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        try:
            await running.start()
        except _KNOWN as error:
            _explain(error)
            raise
        if not app.state.ground.tiles and await running.store.campaigns():
            read_soon()
        watching = asyncio.get_running_loop().create_task(watch_ends(running))
        try:
            yield
        finally:
            watching.cancel()
            await running.stop()

    app = FastAPI(
        title="sfumato collector",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.collector = running
    app.state.ground = Ground.of(chosen)
    app.state.looks = Looks(lambda: running.writer.counting)
    answers.install(app, html.missing)
    for router in (public.devices, operate.router, public.readers, html.router):
        app.include_router(router)
    static = Path(str(files("sfumato.collect.service") / "static"))
    if static.is_dir():
        app.mount("/static", PackedFiles(directory=static), name="static")
    app.add_middleware(HotReports, collector=running)  # inside what is added after it
    origins = [origin.strip() for origin in chosen.text("cors_origins").split(",") if origin.strip()]
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
            allow_credentials=False,
        )
    app.add_middleware(
        Guard,
        per_minute=chosen.whole("requests_per_minute_per_address"),
        body_limit=chosen.whole("body_limit_bytes"),
        report_body_limit=chosen.whole("report_body_limit_bytes"),
        proxies=TrustedProxies.of(chosen.text("trusted_proxies"), chosen.text("forwarded_header")),
    )
    return app
