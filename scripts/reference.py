"""The reference pages, made when the documentation is built: every public name from its docstring, every command from
its help. Nothing is committed, so nothing can be out of date; ``tests/docs/test_reference.py`` counts the names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

HOUSE = Path(__file__).parents[1] / "src" / "sfumato"
MOST_DRAWN = 118  # characters of a constant's line
NOT_FOR_IMPORT = {"cli", "data", "__pycache__"}  # commands have their own page
_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):`~?([^`]+)`")


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Called by MkDocs with the pages it found: ours are added."""
    from mkdocs.structure.files import File

    for name, text in {**api_pages(), "reference/cli.md": cli_page()}.items():
        files.append(File.generated(config, name, content=text))
    return files


def api_pages() -> Mapping[str, str]:
    """Path in the site -> Markdown: an index and a page for each package."""
    packages = {"sfumato": sorted(HOUSE.glob("*.py"))}
    for folder in sorted(HOUSE.iterdir()):
        if folder.is_dir() and folder.name not in NOT_FOR_IMPORT:
            packages[folder.name] = sorted(folder.rglob("*.py"))
    pages = {}
    rows = []
    for package, sources in packages.items():
        name = f"reference/{package}.md"
        pages[name] = _page(package, sources)
        about = _first_line(ast.parse(sources[0].read_text("utf-8")) if package == "sfumato" else _package(sources))
        rows.append(f"| [`{'sfumato' if package == 'sfumato' else f'sfumato.{package}'}`]({package}.md) | {about} |")
    pages["reference/index.md"] = "\n".join(
        [
            "# Reference",
            "",
            "Every public name, from its docstring. `import sfumato as sf` gives the first page's `sf.` names; the",
            "rest is imported from the module it is listed under. Commands: [the command line](cli.md).",
            "",
            "| package | what it is for |",
            "| --- | --- |",
            *rows,
            "",
        ]
    )
    return pages


def public_names(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Functions and classes of a module whose names do not begin with an underscore; overloads are not counted."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        if "overload" not in [ast.unparse(decorator) for decorator in node.decorator_list]:
            yield node


def public_values(source: str) -> Iterator[tuple[str, str]]:
    """Constants and types that a module names, each with its line (and comment); long ones cut short."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        if public := [name for name in names if not name.startswith("_")]:
            drawn = lines[node.lineno - 1] if node.lineno == node.end_lineno else ast.unparse(node).splitlines()[0]
            shown = drawn if len(drawn) <= MOST_DRAWN else f"{drawn[:MOST_DRAWN]} ..."
            yield from ((name, shown) for name in public)


def _package(sources: list[Path]) -> ast.Module:
    first = min(sources, key=lambda path: (len(path.parts), path.name != "__init__.py"))
    return ast.parse(first.read_text("utf-8"))


def _page(package: str, sources: list[Path]) -> str:
    lines = [f"# {'sfumato' if package == 'sfumato' else f'sfumato.{package}'}", ""]
    if package == "sfumato":
        lines += ["## As `sf.`", "", "| name | |", "| --- | --- |", *_short_names(), ""]
    for source in sources:
        tree = ast.parse(text := source.read_text("utf-8"))
        names, values = list(public_names(tree)), dict(public_values(text))
        if not (names or values) or source.name == "__main__.py":
            continue
        lines += [f"## `{_module(source)}`", "", _prose(ast.get_docstring(tree)), ""]
        for node in names:
            lines += _class(node) if isinstance(node, ast.ClassDef) else _function(node, "###")
        if values:
            lines += ["### Constants and types", "", "```python", *dict.fromkeys(values.values()), "```", ""]
    return "\n".join(lines)


def _short_names() -> Iterator[str]:
    tree = ast.parse((HOUSE / "__init__.py").read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            for name, home in sorted(ast.literal_eval(node.value).items()):
                yield f"| `sf.{name}` | [`{home}`]({_page_of(home)}) |"


def _page_of(module: str) -> str:
    parts = module.split(".")
    folder = parts[1] if len(parts) > 1 and (HOUSE / parts[1]).is_dir() else "sfumato"
    return f"{folder}.md"


def _module(source: Path) -> str:
    parts = source.relative_to(HOUSE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, level: str) -> list[str]:
    kind = "async def " if isinstance(node, ast.AsyncFunctionDef) else ""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    drawn = _signature(f"{kind}{node.name}", node.args, returns)
    return [f"{level} `{node.name}`", "", "```python", drawn, "```", "", _prose(ast.get_docstring(node)), ""]


def _signature(name: str, arguments: ast.arguments, returns: str) -> str:
    short = f"{name}({ast.unparse(arguments)}){returns}"
    if len(short) <= 88:
        return short
    each = [
        *(ast.unparse(ast.arguments([], [a], None, [], [], None, [])) for a in arguments.posonlyargs),
        *_with_defaults(arguments.args, [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults),
        *([f"*{ast.unparse(arguments.vararg)}"] if arguments.vararg else ["*"] if arguments.kwonlyargs else []),
        *_with_defaults(arguments.kwonlyargs, arguments.kw_defaults),
        *([f"**{ast.unparse(arguments.kwarg)}"] if arguments.kwarg else []),
    ]
    return f"{name}(\n" + "".join(f"    {one},\n" for one in each) + f"){returns}"


def _with_defaults(names: list[ast.arg], defaults: list[Any]) -> Iterator[str]:
    for name, default in zip(names, defaults, strict=True):
        yield ast.unparse(name) + (f" = {ast.unparse(default)}" if default is not None else "")


def _class(node: ast.ClassDef) -> list[str]:
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    fields = [
        f"    {ast.unparse(part)}"
        for part in node.body
        if isinstance(part, ast.AnnAssign) and not ast.unparse(part.target).startswith("_")
    ]
    drawn = f"class {node.name}({bases})" if bases else f"class {node.name}"
    lines = [f"### `{node.name}`", "", "```python", "\n".join([f"{drawn}:", *fields] if fields else [drawn]), "```", ""]
    lines += [_prose(ast.get_docstring(node)), ""]
    for part in node.body:
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and not part.name.startswith("_"):
            lines += _function(part, "####")
    return lines


def _prose(docstring: str | None) -> str:
    if docstring is None:
        return ""
    text = _ROLE.sub(lambda match: f"`{match.group(1)}`", docstring).replace("``", "`")
    # `::` opens a literal block in our docstrings: indented text is code in Markdown as well
    return re.sub(r"::\n\n", ":\n\n", text)


def _first_line(tree: ast.Module) -> str:
    return _prose(ast.get_docstring(tree)).split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def cli_page() -> str:
    """Every command with its arguments and options, as ``--help`` says them."""
    from sfumato.cli import app

    lines = ["# The command line", "", "Made from the program's own help (`sfumato COMMAND --help`).", ""]
    for path, command in commands(typer.main.get_command(app), ("sfumato",)):
        usage = command.collect_usage_pieces(typer.Context(command, info_name=path[-1]))
        lines += [f"## `{' '.join(path)}`", "", _help(command.help), ""]
        lines += ["```text", f"{' '.join(path)} {' '.join(usage)}", "```", ""]
        rows = [row for parameter in command.params if (row := _parameter(parameter))]
        if rows:
            lines += ["| | |", "| --- | --- |", *rows, ""]
    return "\n".join(lines)


def commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words that call it."""
    children: Mapping[str, Any] = getattr(command, "commands", {})
    if not children or (getattr(command, "invoke_without_command", False) and len(path) > 1):
        yield path, command
    for name, child in children.items():
        if not child.hidden:
            yield from commands(child, (*path, name))


def _parameter(parameter: Any) -> str | None:
    if getattr(parameter, "hidden", False) or parameter.name == "help":
        return None
    named = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if not parameter.opts or not parameter.opts[0].startswith("-"):
        named = f"`{parameter.metavar or str(parameter.name).upper()}`"
    default = parameter.default
    shown = f" (default `{default}`)" if isinstance(default, str | int | float) and default not in ("", False) else ""
    return f"| {named} | {_help(getattr(parameter, 'help', '')).replace('|', chr(92) + '|')}{shown} |"


def _help(text: str | None) -> str:
    return re.sub(r"\s*\n\s*", " ", re.sub(r"\[/?[a-z ]+\]", "", text or "")).replace("\b", "").strip()
