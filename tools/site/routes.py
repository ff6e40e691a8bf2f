"""The page of all routes and fields of the HTTP API, from its OpenAPI schema."""

from collections.abc import Iterator, Mapping
from typing import Any

_HEAD = """# HTTP routes and fields

Made from the OpenAPI schema, which a running service gives at `/openapi.json` and shows at `/docs`;
generate a client from that. [The HTTP API](http.md) explains it with requests and answers.
"""


def routes_page(schema: Mapping[str, Any]) -> str:
    """Return the page as Markdown: every route, then every object that requests or answers have."""
    lines = [_HEAD]
    for path, methods in schema["paths"].items():
        for method, route in methods.items():
            lines += _route(method.upper(), path, route)
    lines += ["## Objects", ""]
    for name, model in sorted(schema["components"]["schemas"].items()):
        lines += [f"### {name}", ""]
        if about := model.get("description"):
            lines += [about, ""]
        lines += list(_fields(model)) or [f"{_type(model)}", ""]
    return "\n".join(lines) + "\n"


def _route(method: str, path: str, route: Mapping[str, Any]) -> list[str]:
    lines = [f"## {method} {path}".replace("{", "\\{").replace("}", "\\}"), ""]
    about = route.get("description") or route.get("summary") or ""
    lines += [about, ""]
    if parameters := route.get("parameters"):
        lines += ["| parameter | in | type | meaning |", "|---|---|---|---|"]
        for one in parameters:
            star = "" if one.get("required") else " (optional)"
            lines.append(
                f"| `{one['name']}`{star} | {one['in']} | {_type(one.get('schema', {}))} | "
                f"{_cell(one.get('description', ''))} |"
            )
        lines.append("")
    for kind, content in route.get("requestBody", {}).get("content", {}).items():
        lines += [f"Body, `{kind}`: {_type(content.get('schema', {}))}", ""]
    lines += ["| status | answer | when |", "|---|---|---|"]
    for status, answer in route["responses"].items():
        kinds = [_type(one.get("schema", {})) for one in answer.get("content", {}).values()]
        shown = ", ".join(dict.fromkeys(kinds))
        lines.append(f"| {status} | {shown} | {_cell(answer.get('description', ''))} |")
    return [*lines, ""]


def _fields(model: Mapping[str, Any]) -> Iterator[str]:
    if not model.get("properties"):
        return
    yield from ("| field | type | meaning |", "|---|---|---|")
    required = model.get("required", ())
    for name, field in model["properties"].items():
        star = "" if name in required else " (optional)"
        yield f"| `{name}`{star} | {_type(field)} | {_cell(field.get('description', ''))} |"
    yield ""


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a value in words, with a link to an object."""
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(map(_type, schema[key])))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"array of {_type(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return str(kind)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
