"""Generate the TypeScript samples of the API reference."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_WIDTH = 60  # the line length that fits beside the reference's text
_LISTS = (
    "payment_requests.list",
    "payments.list",
    "payment_links.list",
    "refunds.list",
    "refunds.list_of_request",
    "webhook_deliveries.list",
    "events.list",
)


def with_client(
    name: str, call: str, result: str, base_url: str, positional: Sequence[Any], fields: Mapping[str, Any],
    idempotency_key: str | None,
) -> str:  # fmt: skip
    """Return a module that makes one call with the client and prints its result.

    `call` is the Python client's method. `result` is the name of the variable with the result. `fields` become one
    object.
    """
    given = [_value(value) for value in positional]
    if fields:
        given.append(_object(fields))
    if idempotency_key:
        given.append(_object({"idempotencyKey": idempotency_key}))
    made = f"quittance.{_camel(call)}({', '.join(given)})"
    head = (
        'import { Client } from "quittance";\n\n'
        "const quittance = new Client(\n  String(process.env.QUITTANCE_API_KEY),\n"
        f"  {{ baseUrl: {_value(base_url)} }},\n);\n"
    )
    result = _camel(result)
    if name in _LISTS:
        return f"{head}const {result} = await {made};\nconsole.log({result}.data);\n"
    return f"{head}const {result} = await {made};\nconsole.log({result});\n"


def with_fetch(method: str, address: str, body: Mapping[str, Any] | None) -> str:
    """Return a module that makes one call with fetch and prints its JSON."""
    if body is None:
        options = "" if method == "get" else f", {{ method: {_value(method.upper())} }}"
    else:
        options = (
            ", {\n"
            f"  method: {_value(method.upper())},\n"
            '  headers: { "Content-Type": "application/json" },\n'
            f"  body: JSON.stringify({_object(body, '  ')}),\n"
            "}"
        )
    return (
        f"const response = await fetch({_address(address, bool(options))}{options});\n"
        "if (!response.ok) throw new Error(await response.text());\n"
        "console.log(await response.json());\n"
    )


def with_event_source(address: str) -> str:
    return (
        f"const response = await fetch({_address(address, False)});\n"
        "if (!response.ok || !response.body) throw new Error(await response.text());\n"
        "const decoder = new TextDecoder();\n"
        "for await (const chunk of response.body) {\n  console.log(decoder.decode(chunk, { stream: true }));\n}\n"
    )


def _address(address: str, goes_on: bool) -> str:
    return _value(address) if goes_on else f"\n  {_value(address)},\n"


def _object(fields: Mapping[str, Any], indent: str = "") -> str:
    line = _value(dict(fields))
    if len(line) <= _WIDTH:
        return line
    return (
        "{\n"
        + "".join(f"{indent}  {_name(name)}: {_value(value)},\n" for name, value in fields.items())
        + f"{indent}}}"
    )


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_name(name)}: {_value(part)}" for name, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else json.dumps(name)


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)
