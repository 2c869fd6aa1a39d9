"""The yardstick of bench_service: a FastAPI application whose POST validates a report and does nothing with it."""

from __future__ import annotations

from fastapi import FastAPI

from sfumato.collect.service.models.bodies import ReportRequest
from sfumato.collect.service.models.replies import ReportAnswer

app = FastAPI()


@app.post("/reports")
async def report(body: ReportRequest) -> ReportAnswer:
    """Validate and answer."""
    return ReportAnswer(duplicate=False)


@app.get("/ready")
async def ready() -> dict[str, bool]:
    """The process is up."""
    return {"ok": True}
