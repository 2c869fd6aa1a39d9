"""The reference pages, made when the documentation is built: one section for each module, whose names mkdocstrings
draws from their docstrings, and every command from its help. Nothing is committed, so nothing can be out of date.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import griffe
import typer

sys.path.insert(0, str(Path(__file__).parent))
import references

HOUSE = Path(__file__).parents[1] / "src" / "sfumato"
NOT_FOR_IMPORT = {"cli", "data", "__pycache__"}  # commands have their own page
_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):`~?([^`]+)`")


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Called by MkDocs with the pages it found: ours are added."""
    from mkdocs.structure.files import File

    for name, text in {**api_pages(), "reference/cli.md": cli_page()}.items():
        files.append(File.generated(config, name, content=text))
    return files


class Docstrings(griffe.Extension):
    """Docstrings as Markdown, while mkdocstrings reads the package: Sphinx roles become code, citations links."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe with every class, function and value, and every module but the first."""
        if obj.docstring is not None:
            obj.docstring.value = references.linked(prose(obj.docstring.value), "references.md")

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called by griffe with the package itself."""
        self.on_object(obj=pkg)

    def on_members(self, *, node: Any, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe with what it found in a module: values assigned together (``A, B = 1, 2``) are added."""
        for statement in node.body if isinstance(node, ast.Module) else []:
            for name, value in values_together(statement):
                place = {"lineno": statement.lineno, "endlineno": statement.end_lineno}
                obj.set_member(name, griffe.Attribute(name, value=value, parent=obj, **place))


def values_together(statement: ast.stmt) -> Iterator[tuple[str, str | None]]:
    """Names and values of ``A, B = 1, 2``; no value where the right side is not written out."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
        names = [part.id for part in ast.walk(statement.targets[0]) if isinstance(part, ast.Name)]
        values = statement.value.elts if isinstance(statement.value, ast.Tuple) else []
        shown = [ast.unparse(value) for value in values] if len(values) == len(names) else [None] * len(names)
        yield from zip(names, shown, strict=True)


def prose(docstring: str) -> str:
    """A docstring as Markdown: ``::`` opens a literal block in ours, and indented text is code in Markdown as well."""
    text = _ROLE.sub(lambda match: f"`{match.group(1)}`", docstring)
    return re.sub(r"::\n\n", ":\n\n", text)


def api_pages() -> Mapping[str, str]:
    """Path in the site -> Markdown: an index and a page for each folder of the package, two levels deep."""
    pages: dict[str, list[Path]] = {}
    for source in sorted(HOUSE.rglob("*.py")):
        inside = source.relative_to(HOUSE).parent.parts
        if not (inside and inside[0] in NOT_FOR_IMPORT) and source.name != "__main__.py" and has_names(source):
            pages.setdefault(".".join(("sfumato", *inside[:2])), []).append(source)
    made = {f"reference/{package}.md": _page(package, sources) for package, sources in pages.items()}
    rows = [f"| [`{package}`]({package}.md) | {_about(package)} |" for package in pages]
    made["reference/index.md"] = "\n".join(
        [
            "# Reference",
            "",
            "For everybody who imports sfumato: every public name, from its docstring. `import sfumato as sf` gives",
            "the `sf.` names; the rest is imported from the module it is listed under. [Commands](cli.md) have a page",
            "of their own.",
            "",
            "| package | what it is for |",
            "| --- | --- |",
            *rows,
            "",
            "## As `sf.`",
            "",
            "| name | |",
            "| --- | --- |",
            *_short_names(pages),
            "",
        ]
    )
    return made


def has_names(source: Path) -> bool:
    """Whether a module defines or assigns anything public."""
    return any(not name.startswith("_") for name in names_of(ast.parse(source.read_text("utf-8"))))


def names_of(tree: ast.Module) -> Iterator[str]:
    """What a module defines or assigns at its top, imports aside."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))


def module_of(source: Path) -> str:
    """The dotted name of a file of the package."""
    parts = source.relative_to(HOUSE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _page(package: str, sources: list[Path]) -> str:
    """A heading with the package's name, and a directive for each of its modules."""
    lines = [f"# {package}", ""]
    for source in sources:
        lines += [f"::: {module_of(source)}", ""]
    return "\n".join(lines)


def _about(package: str) -> str:
    """The first sentence of the package's own docstring, or of its only module's."""
    folder = HOUSE.joinpath(*package.split(".")[1:])
    tree = ast.parse((folder / "__init__.py").read_text("utf-8"))
    return prose(ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def _short_names(pages: Mapping[str, list[Path]]) -> Iterator[str]:
    homes = {module_of(source): f"{package}.md" for package, sources in pages.items() for source in sources}
    tree = ast.parse((HOUSE / "__init__.py").read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            for name, home in sorted(ast.literal_eval(node.value).items()):
                page = homes.get(home, ".".join(home.split(".")[:3]) + ".md")  # a package gives on what its files hold
                yield f"| `sf.{name}` | [`{home}`]({page}) |"


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
