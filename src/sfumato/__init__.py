"""Sfumato: use and share location data without giving anyone away, with guarantees exact, stated and checkable."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public names and the modules they live in, imported on first use so that ``import sfumato`` stays fast.
_HOMES = {
    "Trace": "sfumato.traces",
    "read_trace": "sfumato.io",
    "read_traces": "sfumato.io",
    "write_trace": "sfumato.io",
    "protect": "sfumato.protection",
    "verify": "sfumato.certificates.verify",
    "Grid": "sfumato.grid",
    "Channel": "sfumato.channel",
    "Guarantee": "sfumato.guarantees",
}

__all__ = [*sorted(_HOMES), "__version__"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sfumato' has no attribute '{name}'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
