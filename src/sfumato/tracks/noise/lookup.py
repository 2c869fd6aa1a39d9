"""Find a mechanism by its name, a plan or its description; what is unknown, incomplete or unregistered is refused."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import isabstract
from typing import Any

from sfumato.base.errors import InputError
from sfumato.tracks.noise.interface import TraceMechanism
from sfumato.tracks.noise.registry import MECHANISMS
from sfumato.tracks.plan import Plan

OPTIONS = ("prior_class", "prior", "white_share", "constant_share", "redraws", "secrets", "state")


def mechanism_named(name: str) -> type[TraceMechanism]:
    """The class registered under a name; an unknown name and an incomplete class are refused."""
    if name not in MECHANISMS:
        raise InputError(f"There is no mechanism '{name}'.", f"Choose from {', '.join(MECHANISMS)}.")
    module, _, class_name = MECHANISMS[name].partition(":")
    found = getattr(import_module(module), class_name, None)
    if not (isinstance(found, type) and issubclass(found, TraceMechanism)) or isabstract(found):
        raise InputError(f"The mechanism '{name}' is incomplete.", "Its class must answer all of TraceMechanism.")
    stated = [getattr(found, part, None) for part in ("name", "summary", "takes")]
    if stated[0] != name or not stated[1] or stated[2] is None or not found.needs <= found.takes <= set(OPTIONS):
        raise InputError(f"The mechanism '{name}' is incomplete.", "It must state its name, summary, takes and needs.")
    return found


def all_mechanisms() -> dict[str, type[TraceMechanism]]:
    """Every registered mechanism, loaded: for help, docs and laws."""
    return {name: mechanism_named(name) for name in MECHANISMS}


def taking(option: str) -> list[str]:
    """The names of the mechanisms to which an option of a plan means something."""
    return [name for name, mechanism in all_mechanisms().items() if option in mechanism.takes]


def registered(mechanism: TraceMechanism) -> TraceMechanism:
    """The mechanism itself, if it is exactly what its name stands for; nothing else is certified."""
    if type(mechanism) is not mechanism_named(getattr(mechanism, "name", type(mechanism).__name__)):
        raise InputError(
            f"{type(mechanism).__name__} is not the registered mechanism '{mechanism.name}'.",
            "Give it a name and a line of its own in trace_registry.",
        )
    return mechanism


def mechanism_from_dict(values: Mapping[str, Any]) -> TraceMechanism:
    """The mechanism that ``parameters()`` described, without any key: good for recomputing, not for drawing."""
    try:
        return mechanism_named(str(values["name"])).from_dict(values)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError("The mechanism is described wrongly.", "A field is missing or has the wrong type.") from error


def mechanism_for(plan: Plan, *, continuing: bool = False) -> type[TraceMechanism]:
    """The class a plan asks for, after checking that every option given means something to it."""
    chosen = mechanism_named(plan.mechanism)
    name, takes, needs = chosen.name, chosen.takes, chosen.needs
    if "prior" in needs and plan.prior is None:
        raise InputError(f"The mechanism {name} is shaped by a prior.", "Give --prior with a preset, or 'fit'.")
    if "prior" not in takes and plan.prior is not None:
        raise InputError(f"The mechanism {name} takes no prior.", f"A prior shapes {' and '.join(taking('prior'))}.")
    if "secrets" in needs and plan.secrets is None:
        raise InputError(f"The mechanism {name} protects chosen times.", "Name them with --secrets.")
    if "secrets" not in takes and plan.secrets is not None:
        raise InputError(f"The mechanism {name} does not take secrets.", "Leave --mechanism out.")
    for option, words in (("white_share", "white share"), ("constant_share", "constant share")):
        if option not in takes and getattr(plan, option) is not None:
            raise InputError(f"The mechanism {name} has no {words}.", "Leave the option out.")
    if "redraws" not in takes and plan.redraws != 1:
        raise InputError(f"The mechanism {name} counts no redraws.", "Leave the option out.")
    if continuing and "state" not in takes:
        able = " and ".join(taking("state"))
        raise InputError(f"Only {able} noise continues over releases.", f"Leave --state out, or use {able}.")
    if continuing and plan.redraws != 1:
        raise InputError("Continuing noise is never redrawn.", "Leave out --redraws or --state.")
    return chosen
