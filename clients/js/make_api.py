"""The types of everything the collector says and is told, in TypeScript, from its OpenAPI document.

python clients/js/make_api.py            write src/api.ts
python clients/js/make_api.py --check    fail if src/api.ts is not what the document says
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.collect.service.app import create_app
from sfumato.collect.service.settings import Settings

TARGET = Path(__file__).resolve().parent / "src" / "api.ts"
_HEAD = "// Made from the OpenAPI document by `npm run api`; do not edit.\n"
_PLAIN = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"}
_PLAIN["object"] = "Record<string, unknown>"


def typescript(document: Mapping[str, Any]) -> str:
    """One interface per named schema, and per request body, in the order of their names."""
    schemas = {name: schema for name, schema in document["components"]["schemas"].items() if "properties" in schema}
    for methods in document["paths"].values():
        for about in methods.values():
            for content in about.get("requestBody", {}).get("content", {}).values():
                schemas[content["schema"]["title"]] = content["schema"]
    return _HEAD + "".join(_interface(name, schemas[name]) for name in sorted(schemas))


def _interface(name: str, schema: Mapping[str, Any]) -> str:
    about = " ".join(schema.get("description", "").split())
    fields = schema.get("properties", {})
    if not fields:
        return f"\n/** {about} */\nexport type {name} = Record<string, never>;\n"
    required = schema.get("required", [])
    lines = [f"  {field}{'' if field in required else '?'}: {_type(kind)};" for field, kind in fields.items()]
    return "\n".join([f"\n/** {about} */", f"export interface {name} {{", *lines, "}\n"])


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_type(one) for one in schema["anyOf"])
    if "prefixItems" in schema:
        return f"[{', '.join(_type(one) for one in schema['prefixItems'])}]"
    if schema.get("type") == "array":
        inside = _type(schema["items"])
        return f"({inside})[]" if "|" in inside else f"{inside}[]"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"Record<string, {_type(schema['additionalProperties'])}>"
    if "properties" in schema:
        required = schema.get("required", [])
        items = schema["properties"].items()
        fields = "; ".join(f"{name}{'' if name in required else '?'}: {_type(kind)}" for name, kind in items)
        return f"{{ {fields} }}"
    return _PLAIN[schema["type"]]


def current() -> str:
    """The types of today's routes."""
    settings = Settings.of(database="sqlite:///unused.db", city="none")
    return typescript(create_app(settings).openapi())


def main() -> int:
    """Write, or with ``--check`` compare."""
    wanted = current()
    if "--check" in sys.argv[1:]:
        same = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == wanted
        if not same:
            print(f"{TARGET.name} is not what the OpenAPI document says: run `npm run api`.", file=sys.stderr)
        return 0 if same else 1
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
