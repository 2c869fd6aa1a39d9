"""What a notebook shows of a value: who draws is asked by name when a notebook asks, so values know nothing of it."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from sfumato.base.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


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
        text: str = _notebook("card").card(self)
        return text

    def plot(self, *, original: bool = False, ax: Axes | None = None) -> Axes:
        """The card's picture by matplotlib; ``original`` draws the original beside a release (then it is private).

        Returns the axes (an array of them where there are several).
        """
        try:
            drawn: Axes = _notebook("figure").plot(self, original=original, ax=ax)
        except ImportError as error:
            raise InputError("Plots need matplotlib.", "Install it: pip install 'sfumato[plot]'.") from error
        return drawn


_LINE = 160


class ShownAnswer(Shown):
    """What was found, with :meth:`to_dict`: shown and plotted, one line where it is printed, and a data frame."""

    __slots__ = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know: on the card, in every file, in ``to_frame().attrs``."""
        return ()

    def to_dict(self) -> dict[str, object]:
        """What was found, or how it was made, as plain values."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Its kind and first numbers in one line; ``to_frame()`` has all of them."""
        parts = {name: _brief(value) for name, value in self.to_dict().items()}
        said = [f"{name}={text}" for name, text in parts.items() if text]
        line = ""
        for text in said:
            if len(line) + len(text) > _LINE:
                line += ", ..."
                break
            line += f", {text}" if line else text
        if self.notes:
            line += f", notes={len(self.notes)}"
        return f"{type(self).__name__}({line})"

    def to_frame(self, *, geometry: bool = False) -> DataFrame:
        """All numbers as a data frame of pandas, or of GeoPandas with the cells, flows or points (extra ``geo``)."""
        found: DataFrame = _notebook("data_frame").frame(self, geometry=geometry)
        return found


def _notebook(part: str) -> ModuleType:
    return import_module(f"sfumato.pages.notebook.{part}")


def _brief(value: object) -> str:
    """A number, a short text, or a number with its interval; nothing for what takes more than a line."""
    if isinstance(value, str):
        return value if len(value) <= 40 else f"{value[:37]}..."
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list) and all(isinstance(one, dict) and "value" in one for one in value):
        return " / ".join(_brief(one["value"]) for one in value)
    if not isinstance(value, dict) or "value" not in value:
        return ""
    ends = f" ({_brief(value['low'])} to {_brief(value['high'])})" if value.get("low") == value.get("low") else ""
    return f"{_brief(value['value'])}{ends}"
