"""The modules of the package as text and trees: what every measure of the house is counted on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
PACKAGE = "sfumato"
Place = tuple[str, int]
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One source file: its dotted name, its path in the package, its text, and the names of all modules there are."""

    name: str
    file: str
    text: str
    names: frozenset[str]

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed text."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree."""
        return tuple(ast.walk(self.tree))

    @property
    def lines(self) -> int:
        """How long the file is."""
        return self.text.count("\n")

    @property
    def wing(self) -> str:
        """The first folder; ``root`` for what stands beside the folders."""
        return self.file.split("/")[0] if "/" in self.file else "root"

    @property
    def base_name(self) -> str:
        """The file's name without its folder and ending."""
        return Path(self.file).stem

    @property
    def is_door(self) -> bool:
        """Whether this is the ``__init__`` of a package."""
        return self.base_name == "__init__"

    @cached_property
    def imports(self) -> frozenset[str]:
        """Modules of the package that this one names, at the top, in a function or for types only."""
        found = (name for node in self.nodes for name in self.targets(node))
        return frozenset(found) - {self.name}

    @cached_property
    def running(self) -> tuple[ast.AST, ...]:
        """Every node of the tree that runs: what stands under ``if TYPE_CHECKING:`` does not."""
        return tuple(_running(self.tree))

    def targets(self, node: ast.AST) -> Iterator[str]:
        """The modules of the package that one statement imports."""
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in self.names)
        elif isinstance(node, ast.ImportFrom) and node.module in self.names:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in self.names else str(node.module)


def modules(source: Path = SOURCE) -> tuple[Module, ...]:
    """Every module of the package."""
    files = sorted((source / PACKAGE).rglob("*.py"))
    dotted = {path: _dotted(path.relative_to(source)) for path in files}
    names = frozenset(dotted.values())
    root = source / PACKAGE
    return tuple(Module(dotted[p], p.relative_to(root).as_posix(), p.read_text("utf-8"), names) for p in files)


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            kept = node.body if ast.unparse(node.test).startswith("not ") else node.orelse
            for statement in kept:
                yield statement
                yield from _running(statement)
        else:
            yield node
            yield from _running(node)


def documentation(module: Module) -> set[int]:
    """The identities of strings that stand alone: docstrings, and what is said below a constant."""
    alone = (node.value for node in module.nodes if isinstance(node, ast.Expr))
    return {id(value) for value in alone if isinstance(value, ast.Constant)}
