"""Make the API reference as Markdown from the API's description (OpenAPI)."""

import json
import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
_LANGUAGES = {"Shell": "bash", "Python": "python", "TypeScript": "typescript"}
_METHODS = ("get", "post", "patch", "put")


def describe() -> Schema:
    """Return the API's description. Call `website.__main__.prepare` first."""
    from config.api.schema.views import described_as

    return dict(json.loads(described_as("json")))


def pages() -> dict[str, str]:
    """Return the pages of the reference by path.

    There is a page for each group of calls, and one page each for events, errors and objects.
    """
    schema = describe()
    made = {}
    for tag in schema["tags"]:
        calls = [
            (path, method, operation)
            for path, operations in schema["paths"].items()
            for method, operation in operations.items()
            if tag["name"] in operation["tags"]
        ]
        if calls:
            made[f"reference/{slug(tag['name'])}.md"] = _group(tag, calls, schema)
    made["reference/webhook-events.md"] = _events(schema)
    made["reference/errors.md"] = _errors()
    made["reference/objects.md"] = _objects(schema)
    return made


def slug(name: str) -> str:
    return name.lower().replace(" ", "-")


def _group(tag: Schema, calls: list[tuple[str, str, Schema]], schema: Schema) -> str:
    lines = [f"# {tag['name']}", "", tag["description"], "", "| | call |", "|---|---|"]
    calls.sort(key=lambda call: (call[0].count("{"), call[0], _METHODS.index(call[1])))
    for path, method, operation in calls:
        anchor = _anchor(operation)
        lines.append(f"| [{operation['summary']}](#{anchor}) | `{method.upper()} {path}` |")
    for path, method, operation in calls:
        lines += ["", *_call(path, method, operation, schema)]
    return "\n".join(lines) + "\n"


def _anchor(operation: Schema) -> str:
    return str(operation["operationId"]).replace(".", "-").replace("_", "-")


def _call(path: str, method: str, operation: Schema, schema: Schema) -> Iterator[str]:
    yield f"## {operation['summary']} {{ #{_anchor(operation)} }}"
    yield f"\n`{method.upper()} {path}`{{ .call }}\n"
    yield operation["description"] + "\n"
    for sample in operation["x-codeSamples"]:
        yield f'=== "{sample["label"]}"\n'
        body = f"```{_LANGUAGES[sample['lang']]}\n{sample['source'].rstrip()}\n```"
        yield "".join(f"    {line}\n" if line else "\n" for line in body.splitlines())
    parameters = [each for each in operation.get("parameters", ()) if each["in"] != "header"]
    if parameters:
        yield "**Parameters**\n"
        yield "| name | in | type | |\n|---|---|---|---|"
        for each in parameters:
            yield f"| `{each['name']}` | {each['in']} | {_type(each['schema'])} | {_cell(each['description'])} |"
        yield ""
    if "requestBody" in operation:
        (content,) = operation["requestBody"]["content"].values()
        yield "**Body**\n"
        yield from _fields(_resolved(content["schema"], schema))
    yield from _responses(operation, schema)


def _responses(operation: Schema, schema: Schema) -> Iterator[str]:
    for status, response in _full(operation, schema):
        if status >= "400":
            continue
        yield f"**Response {status}**: {_sentence(response['description'])}\n"
        for kind, content in response.get("content", {}).items():
            if kind == "application/json":
                yield f"Returns {_type(content['schema'])}."
                yield from _example(content["schema"], schema)
            else:
                yield f"Returns `{kind}`.\n"
    codes = [
        (status, code)
        for status, response in _full(operation, schema)
        if status >= "400"
        for code in response["content"]["application/json"]["schema"]["properties"]["error"]["properties"][
            "code"
        ]["enum"]
    ]
    if codes:
        links = ", ".join(f"[`{code}`](errors.md#{code}) ({status})" for status, code in codes)
        yield f'\n??? note "Errors ({len(codes)})"\n\n    {links}\n'


def _full(operation: Schema, schema: Schema) -> Iterator[tuple[str, Schema]]:
    for status, response in sorted(operation["responses"].items()):
        if "$ref" in response:
            response = schema["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
        yield status, response


def _example(node: Schema, schema: Schema) -> Iterator[str]:
    target = _resolved(node, schema)
    if "examples" in target:
        yield '\n??? example "Example"\n'
        body = json.dumps(target["examples"][0], indent=2, ensure_ascii=False)
        yield "    ```json\n" + "".join(f"    {line}\n" for line in body.splitlines()) + "    ```\n"
    else:
        yield ""


def _events(schema: Schema) -> str:
    lines = ["# Events", ""]
    hooks = {name: methods["post"] for name, methods in schema["webhooks"].items()}
    shared = next(iter(hooks.values()))["description"].split("\n\n", 1)[1]
    lines += [shared, "", "## Types", "", "| type | when |", "|---|---|"]
    lines += [
        f"| `{name}` | {_cell(hook['description'].split(chr(10), 1)[0])} |" for name, hook in hooks.items()
    ]
    lines += ["", "## The event", "", *_fields(schema["components"]["schemas"]["Event"])]
    lines += [*_example({"$ref": "#/components/schemas/Event"}, schema)]
    lines += ["## Its object", "", *_fields(schema["components"]["schemas"]["EventObject"])]
    return "\n".join(lines) + "\n"


def _errors() -> str:
    from config.api.errors import ErrorCode, status_of, type_of
    from config.api.schema.errors import MEANINGS

    lines = [
        "# Errors",
        "",
        "Branch on `code`, and on `type` for a code that you don't know. `message` is for people and may",
    ]
    lines += ["change. [The API, explained](../api.md#errors) shows the body.", ""]
    lines += ["| code | meaning | status | type |", "|---|---|---|---|"]
    for code in ErrorCode:
        anchor = f'<a id="{code.value}"></a>`{code.value}`'
        kind = f"{int(status_of(code))} | `{type_of(code).value}`"
        lines.append(f"| {anchor} | {_cell(MEANINGS[code])} | {kind} |")
    return "\n".join(lines) + "\n"


def _objects(schema: Schema) -> str:
    lines = ["# Objects", "", "The objects that calls take and return, by name.", ""]
    for name, node in sorted(schema["components"]["schemas"].items()):
        lines += [f"## {name} {{ #{name.lower()} }}", ""]
        if node.get("description"):
            lines += [node["description"], ""]
        if "enum" in node:
            lines += ["One of " + ", ".join(f"`{value}`" for value in node["enum"]) + ".", ""]
        lines += [*_fields(node), ""]
    return "\n".join(lines) + "\n"


def _resolved(node: Schema, schema: Schema) -> Schema:
    while "$ref" in node:
        node = schema["components"]["schemas"][node["$ref"].rsplit("/", 1)[1]]
    return node


def _fields(node: Schema) -> Iterator[str]:
    if not node.get("properties"):
        return
    required = node.get("required", ())
    yield "| field | type | |\n|---|---|---|"
    for name, field in node["properties"].items():
        mark = "" if name in required else " *optional*"
        yield f"| `{name}`{mark} | {_type(field)} | {_cell(field.get('description', ''))} |"
    yield ""


def _type(node: Schema) -> str:
    """Describe a field's type, with links to objects."""
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[1]
        return f"[{name}](objects.md#{name.lower()})"
    for composed in ("allOf", "oneOf", "anyOf"):
        if composed in node:
            return " or ".join(dict.fromkeys(_type(part) for part in node[composed]))
    if "const" in node:
        return f"`{json.dumps(node['const'])}`"
    kind = node.get("type", "object")
    kinds = kind if isinstance(kind, list) else [kind]
    if "array" in kinds and "items" in node:
        kinds = [f"list of {_type(node['items'])}" if each == "array" else each for each in kinds]
    return " or ".join(kinds)


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def _sentence(text: str) -> str:
    first = text.split("\n\n", 1)[0].strip()
    return first if first.endswith(".") else first + "."
