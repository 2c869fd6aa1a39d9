"""Imports in functions, those that no rule allows, and modules that import each other."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from house_source import Function, Module, Place

# Where an import may stand in a function: faces, the __init__ of a package, packages that may be absent, and compiled
# loops (a module of ours that imports numba at its top costs a second that most calls need not pay).
FACES = frozenset(("cli", "service", "client", "reproductions", "papers"))
EXTRAS = frozenset(
    (
        *("shapely", "pyogrio", "gpxpy", "fitdecode", "h3", "geopandas", "pandas", "polars", "duckdb", "pyspark"),
        *("torch", "movingpandas", "skmob", "trackintel", "matplotlib", "segno"),
        *("cvxpy", "scs", "clarabel", "ot", "fastapi", "starlette", "uvicorn", "pydantic", "prometheus_client"),
        *("sqlalchemy", "alembic", "asyncpg", "aiosqlite", "httpx"),
    )
)
# The only other imports in functions: what most calls never need and all would wait for. How the file and the module
# end (so that a move into another wing changes nothing here), and the reason.
SPARED = frozenset(
    (
        ("people/noise.py", "adversary.audit"),  # fits priors: protecting needs none
        ("certificates/verify.py", "certificates.sign"),  # the cipher, only where there is a signature
        ("multiscale/noise.py", "multiscale.continuing"),  # the cipher
    )
)
Import = ast.Import | ast.ImportFrom


def lazy_imports(tree: ast.AST, inside: bool = False) -> Iterator[Import]:
    """Imports inside functions."""
    for node in ast.iter_child_nodes(tree):
        if inside and isinstance(node, Import):
            yield node
        yield from lazy_imports(node, inside or isinstance(node, Function))


def imports_in_functions(house: Iterable[Module]) -> list[Place]:
    """Imports in functions, ``import_module("a.b")`` too, outside ``cli``, whose commands load what they call."""
    return [
        (module.file, line)
        for module in house
        if "cli" not in module.file.split("/")
        for line in (*(node.lineno for node in lazy_imports(module.tree)), *_named_imports(module))
    ]


def _named_imports(module: Module) -> Iterator[int]:
    """Lines of ``import_module("a.b")``: an import in a function by another name."""
    for node in module.nodes:
        if isinstance(node, ast.Call) and node.args and _called(node.func) == "import_module":
            yield from [node.lineno] if isinstance(node.args[0], ast.Constant) else []


def _called(function: ast.expr) -> str:
    return str(getattr(function, "attr", getattr(function, "id", "")))


def unlawful_lazy_imports(house: Sequence[Module]) -> list[Place]:
    """Imports in functions outside faces and ``__init__`` files, of something neither an extra nor compiled."""
    compiled = {module.name for module in house if any(_loads_numba(module, node) for node in module.tree.body)}

    def lawful(module: Module, node: Import) -> bool:
        targets = set(module.targets(node))
        return _roots(node) <= EXTRAS or (bool(targets) and targets <= compiled) or bool(spared(module, node))

    return [
        (module.file, node.lineno)
        for module in house
        if FACES.isdisjoint(module.file.split("/")) and not module.is_door
        for node in lazy_imports(module.tree)
        if not lawful(module, node)
    ]


def _loads_numba(module: Module, node: ast.AST) -> bool:
    return "numba" in _roots(node) or any(target.endswith(".compiled") for target in module.targets(node))


def spared(module: Module, node: Import) -> set[tuple[str, str]]:
    """The exceptions that allow this import."""
    named = getattr(node, "module", None) or ""
    return {(file, name) for file, name in SPARED if module.file.endswith(file) and named.endswith(f".{name}")}


def _roots(node: ast.AST) -> set[str]:
    """The packages that a statement imports from; none for any other statement."""
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").split(".")[0]}
    return {alias.name.split(".")[0] for alias in node.names} if isinstance(node, ast.Import) else set()


def cycles(house: Iterable[Module]) -> list[list[str]]:
    """Groups of modules that reach one another by imports of any kind (Tarjan's strongly connected components)."""
    graph = {module.name: module.imports for module in house}
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for target in sorted(graph[name]):
            if target not in order:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], order[target])
        if low[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in graph:
        if name not in order:
            visit(name)
    return found
