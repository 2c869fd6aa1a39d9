"""A mechanism of one's own in a comparison: a function of epsilon, a channel, or words that say where one is.

Words are a file that ``channel design`` could have written (a channel, compared as it is), or ``module:object`` and
``file.py:object``, where the object is a channel, a matrix or a function. A function takes one number, which may mean
whatever its author likes as long as more of it leaks more, and gives a matrix P(y | x) with one row and one column for
each symbol, or a :class:`~sfumato.base.things.channel.Channel`; it is turned until it leaks just below the target.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError, NotCertified, SfumatoError
from sfumato.base.things.channel import Channel
from sfumato.channels.designs.door import checked_target
from sfumato.channels.designs.limits import largest_rate
from sfumato.channels.designs.task import LeakageTarget, Tuned
from sfumato.channels.files.channel_files import read_channel

Mechanism = Callable[[float], npt.ArrayLike | Channel]
Own = Mechanism | Channel | FloatArray | str
CHANNEL_FILES = (".csv", ".json", ".parquet")


def is_own(given: object) -> bool:
    """Whether this is a mechanism of one's own, and not the name of one of ours."""
    return not isinstance(given, str) or ":" in given or given.lower().endswith(CHANNEL_FILES)


def own_named(given: Own) -> tuple[str, Channel | Mechanism]:
    """A name for the table, and the channel or function that was meant."""
    if isinstance(given, str):
        found = object_named(given) if ":" in given else read_channel(given)
        return Path(given).stem if ":" not in given else given.rsplit(":", 1)[1], _understood(found)
    name = getattr(given, "__name__", "own")
    return ("own" if name == "<lambda>" else name), _understood(given)


def tuned_own(name: str, own: Channel | Mechanism, target: LeakageTarget) -> Tuned:
    """A function turned until it leaks just below the target; a channel as it is."""
    if isinstance(own, Channel):
        return Tuned(_fitting(name, own, target), None)

    def channel_at(knob: float) -> Channel:
        try:
            made = own(knob)
        except SfumatoError:
            raise
        except Exception as error:
            raise InputError(f"{name} failed at {knob:g}: {type(error).__name__}: {error}", "Repair it.") from error
        return _fitting(name, made if isinstance(made, Channel) else Channel(np.asarray(made)), target)

    try:
        knob = largest_rate(
            lambda at: target.leakage_of(channel_at(at)),
            target.epsilon,
            low=0.5 * target.epsilon,
            high=2 * target.epsilon,
            steps=40,
            deadline=target.deadline,
        )
    except NotCertified:
        raise InputError(
            f"{name} leaks more than {target.epsilon:g} whatever it is called with.",
            "It must leak less for smaller numbers; give a channel to have it compared as it is.",
        ) from None
    return checked_target(name, Tuned(channel_at(knob), knob), target)


def _understood(found: object) -> Channel | Mechanism:
    if isinstance(found, Channel) or callable(found):
        return found
    try:
        return Channel(np.asarray(found, dtype=np.float64))
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            "That is neither a function of epsilon, nor a channel, nor a matrix.", "Give one of the three."
        ) from error


def _fitting(name: str, channel: Channel, target: LeakageTarget) -> Channel:
    if channel.shape[0] != target.prior.size:
        raise InputError(
            f"{name} has {channel.shape[0]} rows for {target.prior.size} symbols.", "Give one row for each symbol."
        )
    return channel


def object_named(words: str) -> object:
    """The object that ``module:object`` or ``file.py:object`` names."""
    home, _, name = words.rpartition(":")
    try:
        if home.endswith(".py"):
            spec = spec_from_file_location(Path(home).stem, home)
            if spec is None or spec.loader is None:
                raise ImportError(home)
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = import_module(home)
        found: object = getattr(module, name)
    except (ImportError, OSError, AttributeError) as error:
        raise InputError(
            f"'{words}' was not found: {error}.",
            "Write module:object for what can be imported, or file.py:object for a file.",
        ) from error
    return found
