"""What no user reaches: modules that no command, route or public name leads to, and names that nothing uses.

A user is a command (the console script), a route of the service (the command ``serve`` leads there), a public name
(``sfumato.__all__`` and the modules that scripts/house.toml calls public) or a module run by ``python -m``. Tests,
docs, benchmarks and scripts are none.

*Modules.* One module leads to another by an import that runs (not one under ``TYPE_CHECKING``), in a function or not; a
package's door leads only to what is asked of it, not to all that it hands on. Strings lead, too: the name of a module,
``module:Class``, an f-string such as ``f"sfumato.io.{name}"`` or ``f"{home}.{name}"`` together with the strings of the
same file that complete it, and ``package:folder``, which leads to every file of the folder (migrations). What only the
papers lead to belongs into the papers' wing: elsewhere it is not reached.

*Names.* A function, method or class is used when its name stands in a module of the package outside its own body, as a
name, an attribute, an argument or a word of a string; a door that only hands it on does not use it. What only unused
names use is unused. Commands and routes (registered by a decorator), methods that a foreign class calls, public names
and the methods of public classes are used.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from house_source import PACKAGE, ROOT, Function, Module, documentation


@dataclass(frozen=True)
class Reach:
    """The house as a graph of what leads to what; ``papers`` and ``silent`` are names of folders and modules."""

    house: tuple[Module, ...]
    papers: tuple[str, ...] = ("papers", "reproductions")
    silent: tuple[str, ...] = ()

    @cached_property
    def by_name(self) -> dict[str, Module]:
        """The modules by their dotted names."""
        return {module.name: module for module in self.house}

    @cached_property
    def handed_on(self) -> dict[str, dict[str, tuple[str, str]]]:
        """What each door hands on: name there, module and name where it comes from."""
        return {
            module.name: {
                alias.asname or alias.name: (node.module, alias.name)
                for node in module.tree.body
                if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(PACKAGE)
                for alias in node.names
            }
            for module in self.house
            if module.is_door
        }

    def home(self, module: str, name: str) -> str:
        """The module that ``from module import name`` is after, through the doors that hand it on."""
        seen = set()
        while (module, name) not in seen:
            seen.add((module, name))
            if f"{module}.{name}" in self.by_name:
                return f"{module}.{name}"
            module, name = self.handed_on.get(module, {}).get(name, (module, name))
        return module

    def leads_to(self, module: Module) -> Iterator[str]:
        """The modules that this one leads to."""
        yield from _parents(module.name)
        used = {node.id for node in module.running if isinstance(node, ast.Name)}
        packages: dict[str, str] = {}
        for node in module.running:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
                packages |= {alias.asname: alias.name for alias in node.names if alias.asname}
            elif isinstance(node, ast.ImportFrom) and node.module in self.by_name:
                at_top = module.is_door and node in module.tree.body
                for alias in node.names:
                    if not at_top or (alias.asname or alias.name) in used:
                        yield self.home(node.module, alias.name)
                        packages[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        for node in module.running:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in packages:
                yield self.home(packages[node.value.id], node.attr)
        if module.name not in self.silent:
            yield from self._said(module)

    def _said(self, module: Module) -> Iterator[str]:
        """The modules that strings lead to."""
        prose = documentation(module)
        constants = (node for node in module.running if isinstance(node, ast.Constant) and id(node) not in prose)
        words = {node.value for node in constants if isinstance(node.value, str)}
        for word in words:
            name, _, inner = word.partition(":")
            if name in self.by_name:
                yield name
                yield from (each for each in self.by_name if inner and each.startswith(f"{name}.{inner}."))
            elif name.startswith("."):  # f"{AT}.room.module:function", with AT a package that the file names
                yield from (f"{home}{name}" for home in words if f"{home}{name}" in self.by_name)
        heads = {word.partition(":")[0] for word in words}
        starts = tuple({start for node in module.running for start in self._starts(node, module, heads)})
        for name in self.by_name if starts else ():
            if name.startswith(starts) and (name.rpartition(".")[2] in heads or _tails(name, starts) & heads):
                yield name

    def _starts(self, node: ast.AST, module: Module, words: set[str]) -> Iterator[str]:
        """What an f-string that names modules begins with: a package, this one, or any that the file has a word for."""
        if isinstance(node, ast.JoinedStr) and node.values:
            first = node.values[0]
            if isinstance(first, ast.Constant) and str(first.value).rstrip(".") in self.by_name:
                yield str(first.value)
            elif isinstance(first, ast.FormattedValue) and ast.unparse(first.value) == "__name__":
                yield f"{module.name}."
            elif isinstance(first, ast.FormattedValue) and "." in [getattr(each, "value", "") for each in node.values]:
                yield from (f"{word}." for word in words if word in self.by_name)

    def reached(self, roots: Iterable[str], *, through_papers: bool = True) -> set[str]:
        """Every module that one of the roots leads to."""
        seen: set[str] = set()
        ahead = [name for name in roots if name in self.by_name]
        while ahead:
            name = ahead.pop()
            if name not in seen:
                seen.add(name)
                if through_papers or not self.is_paper(self.by_name[name]):
                    ahead.extend(target for target in self._ways[name] if target in self.by_name)
        return seen

    @cached_property
    def _ways(self) -> dict[str, set[str]]:
        return {module.name: set(self.leads_to(module)) for module in self.house}

    def is_paper(self, module: Module) -> bool:
        """Whether a module is of the papers' wing."""
        return module.wing in self.papers

    def unreached(self, roots: Iterable[str]) -> list[Module]:
        """The modules that no root leads to, or only by way of the papers."""
        roots = list(roots)
        any_way, without = self.reached(roots), self.reached(roots, through_papers=False)
        return [module for module in self.house if module.name not in (any_way if self.is_paper(module) else without)]


def _parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:count]) for count in range(1, len(parts)))


def _tails(name: str, starts: Iterable[str]) -> set[str]:
    return {name.removeprefix(start) for start in starts if name.startswith(start)}


def users(house: Iterable[Module], public: Iterable[str] = ()) -> set[str]:
    """Where users come in: the front door, console scripts, modules run by ``python -m``, public modules."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"].values()
    run = {module.name for module in house if module.base_name == "__main__" or _runs(module)}
    return {PACKAGE, *(script.partition(":")[0] for script in scripts), *run, *public}


def _runs(module: Module) -> bool:
    tests = (node.test for node in module.tree.body if isinstance(node, ast.If))
    return any(ast.unparse(test) == "__name__ == '__main__'" for test in tests)


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def unused_names(house: Sequence[Module], public: Iterable[str] = ()) -> list[tuple[str, int, str]]:
    """Functions, methods and classes that nothing uses, with their places."""
    spoken: dict[str, set[tuple[int, ...]]] = defaultdict(set)
    defined: list[tuple[Module, Definition]] = []
    for module in house:
        prose = documentation(module)
        handing = {id(each) for node in module.tree.body if _hands_on(module, node) for each in ast.walk(node)}
        for node, inside in _with_owners(module.tree, ()):
            if isinstance(node, Definition):
                defined.append((module, node))
            if id(node) not in handing and id(node) not in prose:
                for word in _words(node):
                    spoken[word].add(inside)
    spared = {*_public_nodes(house, public), *_foreign_calls(defined)}
    candidates = [
        (module, node) for module, node in defined if id(node) not in spared and not _called_from_outside(node)
    ]
    bodies: dict[tuple[str, str], set[int]] = defaultdict(set)
    for module, node in defined:
        bodies[module.name, node.name].add(id(node))
    dead: set[int] = set()
    while True:
        fresh = {
            id(node)
            for module, node in candidates
            if id(node) not in dead
            and all(dead & {*inside} or bodies[module.name, node.name] & {*inside} for inside in spoken[node.name])
        }
        if not fresh:
            return [(module.file, node.lineno, node.name) for module, node in candidates if id(node) in dead]
        dead |= fresh


def _with_owners(tree: ast.AST, inside: tuple[int, ...]) -> Iterator[tuple[ast.AST, tuple[int, ...]]]:
    """Every node with the definitions around it."""
    for node in ast.iter_child_nodes(tree):
        yield node, inside
        yield from _with_owners(node, (*inside, id(node)) if isinstance(node, Definition) else inside)


def _words(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.keyword) and node.arg:
        yield node.arg
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from re.findall(r"[^\W\d]\w*", node.value)


def _hands_on(module: Module, node: ast.stmt) -> bool:
    """Whether a statement of a door only hands names on: its ``__all__``."""
    return module.is_door and isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def _public_nodes(house: Sequence[Module], public: Iterable[str]) -> Iterator[int]:
    """What users may call by name: what public modules export, and the methods of exported classes."""
    doors = {PACKAGE, *public}
    names = {name for module in house if module.name in doors for name in exported(module)}
    for module in house:
        for node in module.tree.body:
            if isinstance(node, Definition) and node.name in names:
                yield id(node)
                yield from (id(each) for each in node.body if isinstance(each, Function) and each.name[0] != "_")


def _foreign_calls(defined: Iterable[tuple[Module, Definition]]) -> Iterator[int]:
    """Methods of classes that extend a class of a library, which may call them."""
    classes = [node for _, node in defined if isinstance(node, ast.ClassDef)]
    ours, plain = {node.name for node in classes}, {"NamedTuple", "Protocol", "ABC", "Generic", "Enum", "object"}
    for node in classes:
        bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
        if any(base not in plain and base.rpartition(".")[2] not in ours for base in bases):
            yield from (id(each) for each in node.body if isinstance(each, Function))


def exported(module: Module) -> list[str]:
    """The names in a module's ``__all__``, or its public definitions where it has none."""
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return [node.name for node in module.tree.body if isinstance(node, Definition) and node.name[0] != "_"]


def _called_from_outside(node: Definition) -> bool:
    """Whether a library calls it: a command or route, special method, migration, hook of a notebook or of imports."""
    hooks = r"__\w+__|_(repr|ipython)_\w+_|upgrade|downgrade|find_spec|create_module|exec_module"
    return any(map(_registers, node.decorator_list)) or bool(re.fullmatch(hooks, node.name))


def _registers(decorator: ast.expr) -> bool:
    """Whether a decorator hands what it decorates to something: ``@app.command(...)`` or ``@post(router, ...)``."""
    if not isinstance(decorator, ast.Call):
        return False
    return isinstance(decorator.func, ast.Attribute) or bool(decorator.args and isinstance(decorator.args[0], ast.Name))


def unreached_places(reach: Reach, roots: Iterable[str]) -> list[tuple[str, int, str]]:
    """Each unreached module with its length."""
    return [(module.file, 1, f"{module.lines} lines") for module in reach.unreached(roots) if module.text.strip()]
