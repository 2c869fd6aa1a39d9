"""What version 0.2.0 promised by name keeps working, or says what to use instead."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import sfumato
from sfumato.base.errors import MissingExtra
from sfumato.moved import GONE

LIST = Path(__file__).parent / "public_modules.txt"
NAMES = [line for line in LIST.read_text("utf-8").splitlines() if line and not line.startswith("#")]


def found(name: str) -> object:
    """The module of that name, or the attribute of the longest module that there is."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        module = ".".join(parts[:count])
        try:
            here: object = import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
            continue
        for attribute in parts[count:]:
            here = getattr(here, attribute)
        return here
    raise ModuleNotFoundError(name)


def is_gone(name: str) -> bool:
    return any(f"{name}.".startswith(f"{module}.") for module in GONE)


@pytest.mark.parametrize("name", NAMES)
def test_a_promised_name_is_found_or_says_what_to_use_instead(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        if is_gone(name):
            module = next(module for module in GONE if f"{name}.".startswith(f"{module}."))
            with pytest.raises(ModuleNotFoundError, match="was taken out"):
                import_module(module)
            assert GONE[module].endswith("."), "a sentence that says what to use"
            return
        try:
            assert found(name) is not None
        except MissingExtra:
            assert find_spec("pyspark") is None


def test_the_list_has_every_public_name_once_in_order() -> None:
    assert sorted(set(NAMES)) == NAMES
    assert {f"sfumato.{name}" for name in sfumato.__all__} <= set(NAMES)


def test_a_name_that_was_never_there_is_not_found() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for name in ("sfumato.attic", "sfumato.traces.Trace.fly", "sfumato.priors.kernels.Baroque"):
            with pytest.raises((ModuleNotFoundError, AttributeError)):
                found(name)
