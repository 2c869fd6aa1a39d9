"""The house in numbers: what keeps the code readable, counted from the source, each with its limit.

python scripts/house.py             the table
python scripts/house.py --check     exit 1 when a limit is passed
python scripts/house.py --where Any list the places of one measure
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
PACKAGE = "sfumato"
# Where an import may stand in a function: faces, the __init__ of a package, packages that may be absent, and compiled
# loops (a module of ours that imports numba at its top costs a second that most calls need not pay).
FACES = ("cli", "collect/service", "collect/client", "papers")
EXTRAS = frozenset(
    (
        *("shapely", "pyogrio", "gpxpy", "fitdecode", "h3", "geopandas", "pandas", "polars", "duckdb", "pyspark"),
        *("torch", "movingpandas", "skmob", "trackintel"),
        *("cvxpy", "scs", "clarabel", "ot", "fastapi", "starlette", "uvicorn", "pydantic", "prometheus_client"),
        *("sqlalchemy", "alembic", "asyncpg", "aiosqlite", "httpx"),
    )
)
# The only other imports in functions: what most calls never need and all would wait for. File, module, reason.
SPARED = frozenset(
    (
        ("tracks/people/protection.py", "sfumato.tracks.adversary.audit"),  # fits priors: protecting needs none
        (
            "tracks/certificates/verify.py",
            "sfumato.tracks.certificates.sign",
        ),  # the cipher, only where there is a signature
        ("tracks/noise/multiscale/noise.py", "sfumato.tracks.noise.multiscale.continuing"),  # the cipher
    )
)
Place = tuple[str, int]


@dataclass(frozen=True)
class Module:
    """One source file: its dotted name, its path in the package, its text and what it imports of the package."""

    name: str
    file: str
    text: str
    names: frozenset[str]

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed text."""
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        """How long the file is."""
        return self.text.count("\n")

    @cached_property
    def lazy(self) -> list[ast.Import | ast.ImportFrom]:
        """Imports inside functions."""
        return list(_imports_in_functions(self.tree))

    @cached_property
    def imports(self) -> frozenset[str]:
        """Modules of the package that this one names, at the top, in a function or for types only."""
        found = (name for node in ast.walk(self.tree) for name in self.targets(node))
        return frozenset(found) - {self.name}

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


def _imports_in_functions(tree: ast.AST, inside: bool = False) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in ast.iter_child_nodes(tree):
        if inside and isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        yield from _imports_in_functions(node, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _named_imports(tree: ast.AST) -> Iterator[int]:
    """Lines of ``import_module("a.b")``: an import in a function by another name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            yield from [node.lineno] if isinstance(node.args[0], ast.Constant) else []


def unlawful_lazy_imports(house: Sequence[Module]) -> list[Place]:
    """Imports in functions outside faces and ``__init__`` files, of something neither an extra nor compiled."""
    compiled = {module.name for module in house if any(_loads_numba(module, node) for node in module.tree.body)}

    def lawful(module: Module, node: ast.Import | ast.ImportFrom) -> bool:
        targets = set(module.targets(node))
        return _roots(node) <= EXTRAS or (bool(targets) and targets <= compiled) or _spared(module, node)

    return [
        (module.file, node.lineno)
        for module in house
        if not module.file.startswith(FACES) and not module.file.endswith("__init__.py")
        for node in module.lazy
        if not lawful(module, node)
    ]


def _loads_numba(module: Module, node: ast.AST) -> bool:
    return "numba" in _roots(node) or "sfumato.base.compiled" in module.targets(node)


def _spared(module: Module, node: ast.Import | ast.ImportFrom) -> bool:
    return isinstance(node, ast.ImportFrom) and (module.file, node.module) in SPARED


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


def shared_class_names(house: Iterable[Module]) -> list[Place]:
    """Public classes whose name another file gives to another class."""
    classes = [
        (node.name, module.file, node.lineno)
        for module in house
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    count = Counter(name for name, _, _ in classes)
    return [(file, line) for name, file, line in classes if count[name] > 1]


def unused_names(house: Sequence[Module]) -> list[Place]:
    """Functions, methods and classes that nothing uses: no other word of the package (``__all__`` alone does not
    count), no page, benchmark or script. A test is no user. What a decorator registers (a route, a command) is used.
    """
    words = Counter(word for module in house for word in re.findall(r"\w+", _without_exports(module)))
    elsewhere = {word for path in _readers() for word in re.findall(r"\w+", path.read_text("utf-8"))}
    return [
        (module.file, node.lineno)
        for module in house
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not (node.name.startswith("__") or _registered(node) or node.name in elsewhere)
        and words[node.name] <= 1
    ]


def _readers() -> Iterator[Path]:
    for pattern in ("docs/**/*.md", "README.md", "benchmarks/*.py", "scripts/*.py", "*.py", "mkdocs.yml"):
        yield from SOURCE.parent.glob(pattern)


def _registered(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return any(isinstance(found, ast.Call) and isinstance(found.func, ast.Attribute) for found in node.decorator_list)


def _without_exports(module: Module) -> str:
    """The text; of the door of a package without its imports and its ``__all__``, which only hand names on."""
    if not module.file.endswith("/__init__.py"):
        return module.text
    return "\n".join(ast.unparse(node) for node in module.tree.body if not _hands_on(node))


def _hands_on(node: ast.stmt) -> bool:
    named = isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]
    return named or isinstance(node, ast.Import | ast.ImportFrom)


@cache
def places(house: tuple[Module, ...]) -> Mapping[str, list[Place]]:
    """Where each counted thing stands."""
    named_any = (
        (module.file, node.lineno)
        for module in house
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Name) and node.id == "Any"
    )
    skips = (
        (module.file, number)
        for module in house
        for number, line in enumerate(module.text.splitlines(), start=1)
        if "# fmt: skip" in line or "# fmt: off" in line
    )
    return {
        "fmt: skip": list(skips),
        "imports in functions": [
            *((module.file, node.lineno) for module in house for node in module.lazy),
            *((module.file, line) for module in house for line in _named_imports(module.tree)),
        ],
        "of these against the rule": unlawful_lazy_imports(house),
        "Any": list(named_any),
        "files directly in mechanisms/": [
            (module.file, 1)
            for module in house
            if Path(module.file).parent.as_posix() == "mechanisms" and not module.file.endswith("__init__.py")
        ],
        "files over 400 lines": [(module.file, module.lines) for module in house if module.lines > 400],
        "classes that share a name": shared_class_names(house),
        "names that nothing uses": unused_names(house),
        "import cycles (lazy and type-only included)": [(" ".join(group), len(group)) for group in cycles(house)],
    }


LIMITS: Mapping[str, int] = {
    "fmt: skip": 30,
    "imports in functions": 120,
    "of these against the rule": 0,
    "Any": 220,
    "files directly in mechanisms/": 12,
    "median file, lines": 130,
    "files over 400 lines": 0,
    "classes that share a name": 0,
    "names that nothing uses": 0,
    "import cycles (lazy and type-only included)": 0,
}


def measures(house: tuple[Module, ...]) -> dict[str, int]:
    """Every measure that has a limit."""
    counted = {name: len(found) for name, found in places(house).items()}
    counted["median file, lines"] = int(statistics.median(module.lines for module in house))
    return {name: counted[name] for name in LIMITS}


def main(arguments: Sequence[str]) -> int:
    """Print the table; with ``--check`` fail past a limit; with ``--where NAME`` list the places."""
    house = modules()
    if "--where" in arguments:
        wanted = arguments[arguments.index("--where") + 1]
        found = places(house)[wanted]
        for file, line in found:
            print(f"{file}:{line}")
        for folder, count in Counter(file.split("/")[0] for file, _ in found).most_common():
            print(f"{count:5d}  {folder}")
        return 0
    print(f"{len(house)} files, {sum(module.lines for module in house)} lines, longest {max(m.lines for m in house)}")
    counted = measures(house)
    for name, count in counted.items():
        print(f"{count:6d}  of at most {LIMITS[name]:4d}  {name}{'' if count <= LIMITS[name] else '   <- too many'}")
    return int("--check" in arguments and any(counted[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
