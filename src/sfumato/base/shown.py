"""What a notebook shows of a value: who draws is asked by name when a notebook asks, so values know nothing of it."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING

from sfumato.base.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plain_fields(record: object) -> dict[str, object]:
    """The fields of a record by name, for ``--json``: those that describe themselves by what they say."""
    return {field.name: _plain(getattr(record, field.name)) for field in fields(record)}  # type: ignore[arg-type]


def _plain(value: object) -> object:
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


class Shown:
    """A value with a card in notebooks and a plot: a map or picture, and the promise."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """One self-contained card, which asks nothing of any host."""
        text: str = import_module("sfumato.pages.notebook.card").card(self)
        return text

    def plot(self, *, original: bool = False, ax: Axes | None = None) -> Axes:
        """The card's picture by matplotlib; ``original`` draws the original beside a release (then it is private).

        Returns the axes (an array of them where there are several).
        """
        try:
            drawn: Axes = import_module("sfumato.pages.notebook.figure").plot(self, original=original, ax=ax)
        except ImportError as error:
            raise InputError("Plots need matplotlib.", "Install it: pip install 'sfumato[plot]'.") from error
        return drawn
