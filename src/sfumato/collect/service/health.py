"""Whether a report sent now would be kept: found out by writing, said once when it changes.

``/ready`` asks :meth:`Health.ready`, which writes a small row on the very connection that writes reports (at most once
in ``remembered_s``) and needs room for a group of reports beside the database. The writer tells what became of its
commits. Either way a new kind of trouble is logged once, with advice, and its end once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from sfumato.collect.service.store.faults import Fault, fault

_log = logging.getLogger("sfumato.collect.service")


class Health:
    """What is known about the store's willingness to keep a report."""

    def __init__(
        self, probe: Callable[[], Awaitable[None]], *, remembered_s: float = 1.0, patience_s: float = 3.0
    ) -> None:
        self._probe = probe
        self._remembered_s = remembered_s
        self._patience_s = patience_s
        self._known_until_s = 0.0
        self._asking = asyncio.Lock()
        self.trouble: Fault | None = None

    def failed(self, error: BaseException) -> Fault:
        """A write failed; logged if this is news."""
        found = fault(TimeoutError() if isinstance(error, asyncio.TimeoutError) else error)
        if self.trouble is None or self.trouble.kind != found.kind:
            _log.error("%s %s (%s)", found.what, found.advice, type(error).__name__)
        self.trouble = found
        # Whoever asks next finds out again: an answer from before this failure says nothing.
        self._known_until_s = 0.0
        return found

    def succeeded(self) -> None:
        """A write is on disk; logged if there was trouble."""
        if self.trouble is not None:
            _log.warning("The database takes reports again.")
        self.trouble = None

    async def ready(self) -> bool:
        """Whether a report would be kept, as of at most ``remembered_s`` ago."""
        async with self._asking:
            if time.monotonic() < self._known_until_s:
                return self.trouble is None
            try:
                await asyncio.wait_for(self._probe(), self._patience_s)
            except Exception as error:  # whatever it is, a report would not be kept
                self.failed(error)
            else:
                self.succeeded()
            self._known_until_s = time.monotonic() + self._remembered_s
            return self.trouble is None
