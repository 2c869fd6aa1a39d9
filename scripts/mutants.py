"""A pytest plugin that breaks the code a row of the papers' statements names, and sees whether its named test notices.

``SFUMATO_MUTATE`` holds the rows' keys, one per line. Every row's test is run once per way of breaking its function,
each in a process of its own (forked, so that nothing is imported again): the result scaled, negated, constant, or the
first two arguments swapped. A way that never changed a result is no mutant; one that left the test green survives, and
so does one whose function the test never called. Exits with 1 and names the survivors.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from _pytest.runner import runtestprotocol

from sfumato.papers.statements import Statement, statements

KILLED, SURVIVED, SAME, NEVER = 10, 11, 12, 13
KINDS = ("scaled", "negated", "constant", "swapped")


def changed(value: Any, kind: str) -> Any:
    """The value with every number in it scaled, negated or made constant; a boolean turned over, False or True."""
    if isinstance(value, (bool, np.bool_)):
        return {"scaled": not value, "negated": False, "constant": True}[kind]
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return {"scaled": 2 * value + 1, "negated": -value - 1, "constant": type(value)(3)}[kind]
    if isinstance(value, (float, np.floating)):
        return {"scaled": 1.5 * value + 0.01, "negated": -value, "constant": 0.321}[kind]
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        if kind == "constant":
            return np.full_like(value, 0.321 if value.dtype.kind == "f" else 3)
        return value * (1.5 if value.dtype.kind == "f" else 2) if kind == "scaled" else -value
    if isinstance(value, tuple) and hasattr(value, "_replace"):
        return value._replace(**{name: changed(part, kind) for name, part in value._asdict().items()})
    if isinstance(value, (list, tuple)):
        return type(value)(changed(part, kind) for part in value)
    if isinstance(value, dict):
        return {name: changed(part, kind) for name, part in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        copy = object.__new__(type(value))
        for field in dataclasses.fields(value):
            object.__setattr__(copy, field.name, changed(getattr(value, field.name), kind))
        return copy
    return value


def alike(first: Any, second: Any) -> bool:
    """Whether two results are the same to nine digits, as far as they can be compared."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray) and first.dtype.kind in "fiub":
        same = first.shape == second.shape
        return same and bool(np.allclose(first, second, rtol=1e-9, atol=1e-12, equal_nan=True))
    if isinstance(first, float) and isinstance(second, float):
        return first == second or abs(first - second) <= 1e-9 * max(abs(first), abs(second))
    if dataclasses.is_dataclass(first) and type(first) is type(second):
        return all(alike(getattr(first, f.name), getattr(second, f.name)) for f in dataclasses.fields(first))
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(alike(a, b) for a, b in zip(first, second, strict=True))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(alike(first[name], second[name]) for name in first)
    try:
        return bool(first == second)
    except (TypeError, ValueError):
        return False


class Broken:
    """A function broken one way, and what became of its calls."""

    def __init__(self, original: Callable[..., Any], kind: str) -> None:
        self.original, self.kind, self.calls, self.differed = original, kind, 0, False
        self.yes_or_no = False

    def function(self) -> Callable[..., Any]:
        """What stands in for the original."""

        @wraps(self.original)
        def stand_in(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            right = self.original(*arguments, **named)
            if self.kind == "swapped":
                own = 1 if arguments and "self" in self.original.__code__.co_varnames[:1] else 0
                if len(arguments) < own + 2:
                    return right
                order = [*arguments[:own], arguments[own + 1], arguments[own], *arguments[own + 2 :]]
                wrong = self.original(*order, **named)
            elif hasattr(right, "__next__"):
                self.differed = True
                return (changed(part, self.kind) for part in right)
            else:
                wrong = changed(right, self.kind)
            self.differed |= not alike(right, wrong)
            self.yes_or_no |= isinstance(right, (bool, np.bool_)) and self.kind != "swapped"
            return wrong

        return stand_in


def put_in(row: Statement, kind: str) -> Broken:
    """Replace the row's function wherever a module holds it."""
    module, _, path = row.code.partition(":")
    holder = import_module(f"sfumato.{module}")
    *classes, name = path.split(".")
    for part in classes:
        holder = getattr(holder, part)
    original = getattr(holder, name)
    broken = Broken(original.__wrapped__ if hasattr(original, "cache_info") else original, kind)
    new = broken.function()
    setattr(holder, name, new)
    if not classes:
        for loaded in list(sys.modules.values()):
            for held, value in list(getattr(loaded, "__dict__", {}).items()):
                if value is original:
                    setattr(loaded, held, new)
    return broken


def judged(items: list[pytest.Item], row: Statement, kind: str) -> int:
    """In a process of its own: did any of the test's cases fail under the mutant?"""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = SURVIVED
    try:
        broken = put_in(row, kind)
    except BaseException as error:
        print(f"{row.key}: {row.code} cannot be broken: {error!r}", flush=True)
        os._exit(NEVER)
    try:
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - the process ends here
        failed = any(report.failed for item in items for report in runtestprotocol(item, log=False, nextitem=None))
        if failed:
            code = KILLED
        elif not broken.calls:
            code = NEVER
        elif not broken.differed and not broken.yes_or_no:  # a test that never sees the other answer notices nothing
            code = SAME
    except BaseException:
        code = KILLED
    os._exit(code)


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Every row, every way; replaces the usual run."""
    keys = [key for key in os.environ.get("SFUMATO_MUTATE", "").splitlines() if key]
    survivors, mutants = [], 0
    for key in keys:
        row = statements()[key]
        items = [item for item in session.items if _is(item, row.test)]
        if not items:
            survivors.append(f"{key}: its test {row.test} is not collected")
            continue
        outcomes = {kind: judged(items, row, kind) for kind in KINDS}
        mutants += sum(code in (KILLED, SURVIVED, NEVER) for code in outcomes.values())
        survivors += [f"{key}: {row.code} {kind} survives {row.test}" for kind, c in outcomes.items() if c == SURVIVED]
        if NEVER in outcomes.values():
            survivors.append(f"{key}: {row.test} never calls {row.code}")
        if not any(code == KILLED for code in outcomes.values()):
            survivors.append(f"{key}: no mutant of {row.code} is noticed by {row.test}")
        print(f"{key}: {', '.join(f'{kind} {_WORDS.get(c, c)}' for kind, c in outcomes.items())}", flush=True)
    print(f"\n{len(keys)} rows, {mutants} mutants, {len(survivors)} survive")
    print("\n".join(survivors))
    session.testsfailed = len(survivors)
    return True


_WORDS = {KILLED: "killed", SURVIVED: "SURVIVES", SAME: "the same", NEVER: "NEVER CALLED"}


def _is(item: pytest.Item, test: str) -> bool:
    file, _, name = test.partition("::")
    found = item.nodeid.removeprefix("tests/")
    return found == f"{file}::{name}" or ("[" not in name and found.startswith(f"{file}::{name}["))
