"""The estimate of a cycle in a process of its own: the server goes on answering, and its memory goes back when it ends.

The child gets a snapshot on its standard input and answers on its standard output; both are this program's own, so
pickled values may pass. Small campaigns are estimated in a thread: starting a process would take longer.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.base.arrays import FloatArray
from sfumato.collect.service.estimating import CycleResult, estimate_cycle
from sfumato.collect.service.models.kept import Specification
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store.records import CellCounts

_IN_A_THREAD_UP_TO = 1_000
"""Cells times cycles."""
_CHILD = "from sfumato.collect.service.estimate_process import child; child()"
_NICER = 5


@dataclass(frozen=True, slots=True, eq=False)
class EstimateTask:
    """A snapshot of what :func:`~sfumato.collect.service.estimating.estimate_cycle` needs."""

    specification: Specification
    counts: tuple[CellCounts, ...]
    previous: FloatArray | None
    settings: Settings
    spent_before_per_km: float | None
    suspicious: tuple[int, ...] = ()
    """Cycles that raised the alarm when they were closed."""
    excluded: tuple[int, ...] = ()
    """Earlier cycles that the operator left out: none of ``counts``."""

    def run(self) -> CycleResult:
        """The estimate, here and now."""
        return estimate_cycle(
            self.specification,
            self.counts,
            previous=self.previous,
            settings=self.settings,
            spent_before_per_km=self.spent_before_per_km,
            suspicious=self.suspicious,
            excluded=self.excluded,
        )


async def estimated(task: EstimateTask) -> CycleResult:
    """The estimate, off the event loop: in a thread if it is small, else in another process."""
    if task.specification.cell_count * len(task.counts) <= _IN_A_THREAD_UP_TO:
        return await in_daemon_thread(task.run)
    return await in_child(task)


async def in_child(task: EstimateTask) -> CycleResult:
    """The estimate in a process of its own, killed if nobody waits for it any more."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-c",
        _CHILD,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, **one_thread},
    )
    try:
        answer, _ = await process.communicate(pickle.dumps(task))
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
    if process.returncode != 0:
        # The child names the type of its error only: a message could quote data.
        name = answer.decode("ascii", "replace")[:80] or f"exit code {process.returncode}"
        raise RuntimeError(f"The process that estimates ended with {name}.")
    found = pickle.loads(answer)
    assert isinstance(found, CycleResult)
    return found


def child() -> None:
    """The other process: read a task, estimate, write the result."""
    if hasattr(os, "nice"):
        os.nice(_NICER)
    try:
        task = pickle.load(sys.stdin.buffer)
        assert isinstance(task, EstimateTask)
        answer = pickle.dumps(task.run())
    except BaseException as error:
        sys.stdout.write(type(error).__name__)
        sys.stdout.flush()
        raise SystemExit(1) from None
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


async def in_daemon_thread(work: Callable[[], CycleResult]) -> CycleResult:
    """Run ``work`` in a thread that does not keep the process alive: a stop never waits for an estimate."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[CycleResult] = loop.create_future()

    def settle(value: CycleResult | None, error: BaseException | None) -> None:
        if not future.done():
            future.set_exception(error) if error is not None else future.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        try:
            value, error = work(), None
        except BaseException as caught:
            value, error = None, caught
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="estimate", daemon=True).start()
    return await future
