"""The words of the house: names used twice, names that differ by an ending, names of no deed, types that say nothing.

*Inflection.* Two modules differ by inflection only when the words of their base names, one by one, may be inflections
of one word: in the plural, or in -ing, -ed, -er, -or, -ion or -ation, with a final e dropped or a consonant doubled
(``protect protecting protection``, ``plan planning``; not ``plan planes``). Doors and ``__main__`` have no base name.
At caa3b26: 43 pairs.

*Participles.* A function says what it does (``judge``) or what it gives (``verdict``), not what was done (``judged``).
Counted is every public function or method that is no property and whose name is one participle: a word in -ed, or an
irregular one that is not the verb itself, too (``read``, ``split`` and ``run`` are). At caa3b26: 163.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

from house_source import Function, Module, Place

_ENDING = re.compile(r"(\w{3,}?)(?:ing|ed|er|or|(?<=\w\w\w[st])ion|ation)")
_NOT_PARTICIPLES = re.compile("bed|embed|exceed|feed|hundred|indeed|need|proceed|red|seed|shed|speed|succeed")
_IRREGULAR = re.compile(
    "beaten|begun|bent|bitten|blown|born|bought|bred|broken|brought|built|burnt|caught|chosen|crept|dealt|done|drawn|"
    "driven|drunk|dug|eaten|fallen|fed|felt|flown|forgotten|fought|frozen|given|gone|grown|heard|held|hidden|hung|kept|"
    "known|laid|learnt|led|lent|lit|lost|made|meant|met|mistaken|paid|proven|ridden|risen|rung|said|seen|sent|shaken|"
    "shown|shrunk|slept|slid|sold|sought|spent|spoken|spun|sprung|stolen|stood|struck|stuck|sung|sunk|swept|sworn|taken|"
    "taught|thought|thrown|told|torn|trodden|understood|withdrawn|withheld|woken|won|worn|woven|written"
)


def base_names(house: Iterable[Module]) -> dict[str, list[Module]]:
    """The modules by their base names, without doors and ``__main__``."""
    found: dict[str, list[Module]] = defaultdict(list)
    for module in house:
        if module.base_name not in ("__init__", "__main__"):
            found[module.base_name].append(module)
    return found


def thrice(house: Iterable[Module]) -> list[tuple[str, int, str]]:
    """Base names that three or more modules have, with how many and which."""
    return [
        (name, len(here), " ".join(module.file for module in here))
        for name, here in sorted(base_names(house).items())
        if len(here) > 2
    ]


def bases(word: str) -> set[str]:
    """The words that this one may be an inflection of, itself among them.

    >>> sorted(bases("planning") & {"plan", "plane", "planning"}), "plan" in bases("planes"), "file" in bases("filling")
    (['plan', 'planning'], False, False)
    """
    found = {word}
    plural = re.fullmatch(r"(\w+(?:s|x|z|ch|sh))es|(\w{2,}[^s])s", word)
    if plural:
        found.add(plural[1] or plural[2])
    for each in tuple(found):
        ending = _ENDING.fullmatch(each)
        if ending:
            rest = ending[1]
            found |= {rest, rest + "e", re.sub(r"([bdgmnprt])\1$", r"\1", rest)}
        found |= {each[:-3] + "y"} if each.endswith("ies") else set()
    return found


def inflections(house: Iterable[Module]) -> list[tuple[str, str]]:
    """Pairs of base names that differ by an ending only: the words of both may be inflections of one word."""
    names = [(name, [bases(word) for word in name.split("_")]) for name in sorted(base_names(house))]
    pairs = ((one, other) for one, other in combinations(names, 2) if len(one[1]) == len(other[1]))
    return [
        (one, other)
        for (one, words), (other, others) in pairs
        if all(mine & theirs for mine, theirs in zip(words, others, strict=True))
    ]


def flat_folders(house: Iterable[Module], most: int = 15) -> list[Place]:
    """Folders with more than 15 files of Python, doors included, with how many."""
    count = Counter(Path(module.file).parent.as_posix() for module in house)
    return [(f"{folder}/", files) for folder, files in count.most_common() if files > most]


def is_participle(word: str) -> bool:
    """Whether a word is one participle, and not the verb itself."""
    regular = re.fullmatch(r"[a-z]{2,}ed", word) and not _NOT_PARTICIPLES.fullmatch(word)
    return bool(regular or _IRREGULAR.fullmatch(word))


def participles(house: Iterable[Module]) -> list[tuple[str, int, str]]:
    """Public functions and methods whose name is one participle."""
    return [
        (module.file, node.lineno, node.name)
        for module in house
        for node in module.nodes
        if isinstance(node, Function) and is_participle(node.name)
        if not any("property" in ast.unparse(each) for each in node.decorator_list)
    ]


def shared_class_names(house: Iterable[Module]) -> list[Place]:
    """Public classes whose name another file gives to another class."""
    classes = [
        (node.name, module.file, node.lineno)
        for module in house
        for node in module.nodes
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    count = Counter(name for name, _, _ in classes)
    return [(file, line) for name, file, line in classes if count[name] > 1]


def undocumented(house: Iterable[Module]) -> list[Place]:
    """Modules, and public functions and classes at the top of a module, without a docstring."""
    return [
        (module.file, getattr(node, "lineno", 1))
        for module in house
        for node in (module.tree, *module.tree.body)
        if isinstance(node, ast.Module | ast.ClassDef | Function)
        if not getattr(node, "name", "module").startswith("_") and module.text.strip()
        if ast.get_docstring(node) is None and "overload" not in map(ast.unparse, getattr(node, "decorator_list", ()))
    ]


def uses_of_any(house: Sequence[Module]) -> list[Place]:
    """Every ``Any``, and every use of a name that stands for it (``Json = dict[str, Any]``), also imported."""
    aliases: set[str] = set()
    while True:
        found = {
            name
            for module in house
            for node in module.tree.body
            for name in _alias(node)
            if _stands_for_any(node, aliases)
        }
        if found <= aliases:
            break
        aliases |= found
    return [
        (module.file, node.lineno)
        for module in house
        for here in [_known(module, aliases)]
        for node in module.nodes
        if isinstance(node, ast.Name) and node.id in here and isinstance(node.ctx, ast.Load)
    ]


def _alias(node: ast.stmt) -> Iterator[str]:
    """The name that a statement gives to a type: ``Json = ...``, ``Json: TypeAlias = ...`` or ``type Json = ...``."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", getattr(node, "name", None))]
    is_type = isinstance(getattr(node, "value", None), ast.Name | ast.Subscript | ast.BinOp)
    if len(targets) == 1 and isinstance(targets[0], ast.Name) and is_type:
        yield targets[0].id


def _stands_for_any(node: ast.stmt, aliases: set[str]) -> bool:
    """Whether a statement names ``Any``, a container of it, or another name for one of these."""
    value = getattr(node, "value", node)
    named = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
    return "Any" in named or (isinstance(value, ast.Name) and value.id in aliases)


def _known(module: Module, aliases: set[str]) -> set[str]:
    """The names that stand for ``Any`` in this module: defined here, or imported from one of ours."""
    defined = {name for node in module.tree.body for name in _alias(node)}
    imported = {
        alias.asname or alias.name
        for node in module.nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == module.name.split(".")[0]
        for alias in node.names
        if alias.name in aliases
    }
    return {"Any"} | (aliases & defined) | imported
