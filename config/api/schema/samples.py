"""Generate the code samples of the API reference, in curl, Python and TypeScript.

Samples of calls with an API key use our client libraries. Samples of public calls use `requests` and `fetch`.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from config.api.schema import typescript_samples as typescript

# For each operation: the name of the result's variable, the client's method, and the positional arguments.
_CLIENT: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "chains.list": ("chains", "chains.list", ()),
    "tokens.list": ("tokens", "chains.tokens", ("chain_id",)),
    "payment_requests.create": ("payment_request", "payment_requests.create", ()),
    "payment_requests.list": ("payment_requests", "payment_requests.list", ()),
    "payment_requests.retrieve": ("payment_request", "payment_requests.retrieve", ("id",)),
    "payment_requests.cancel": ("payment_request", "payment_requests.cancel", ("id",)),
    "payments.list": ("payments", "payment_requests.payments", ("id",)),
    "payments.submit": ("payment", "payment_requests.submit_payment", ("id",)),
    "payments.accept": ("payment", "payment_requests.accept_payment", ("id", "payment_id")),
    "payments.retry": ("payment", "payment_requests.retry_payment", ("id", "payment_id")),
    "refunds.create": ("refund", "refunds.create", ("id",)),
    "refunds.list": ("refunds", "refunds.list", ()),
    "refunds.list_of_request": ("refunds", "refunds.list", ("id",)),
    "refunds.retrieve": ("refund", "refunds.retrieve", ("id",)),
    "refunds.change_address": ("refund", "refunds.change_address", ("id",)),
    "refunds.build": ("built", "refunds.build", ("id",)),
    "refunds.submit": ("refund", "refunds.submit", ("id",)),
    "refunds.cancel": ("refund", "refunds.cancel", ("id",)),
    "payment_links.create": ("payment_link", "payment_links.create", ()),
    "payment_links.list": ("payment_links", "payment_links.list", ()),
    "payment_links.retrieve": ("payment_link", "payment_links.retrieve", ("id",)),
    "payment_links.update": ("payment_link", "payment_links.update", ("id",)),
    "webhooks.retrieve": ("configuration", "webhooks.retrieve", ()),
    "webhooks.update": ("configuration", "webhooks.update", ()),
    "webhooks.test": ("test", "webhooks.test", ()),
    "webhook_deliveries.list": ("deliveries", "deliveries.list", ()),
    "webhook_deliveries.retrieve": ("delivery", "deliveries.retrieve", ("id",)),
    "webhook_deliveries.redeliver": ("delivery", "deliveries.redeliver", ("id",)),
    "webhook_deliveries.redeliver_failed": ("started", "deliveries.redeliver_failed", ("since",)),
    "events.list": ("events", "events.list", ()),
    "events.retrieve": ("event", "events.retrieve", ("id",)),
    "sandbox.simulate": ("payment_request", "sandbox.simulate", ("id", "outcome")),
}
# The filters in the samples of lists.
_QUERIES: dict[str, dict[str, Any]] = {
    "payment_requests.list": {"status": "completed", "limit": 3},
    "webhook_deliveries.list": {"status": "failed", "limit": 3},
    "events.list": {"type": "payment.succeeded", "limit": 3},
    "payments.list": {"limit": 3},
}
_BODIES: dict[str, tuple[str, ...]] = {
    # The optional fields that most calls send.
    "payment_requests.create": (
        "amount", "token_id", "chain_id", "recipient_address", "external_id", "redirect_url",
    ),
    "payment_links.create": ("name", "amount", "token_id", "chain_id", "recipient_address"),
    "webhooks.update": ("url",),
}  # fmt: skip
_WIDTH = 60  # the line length that fits beside the reference's text
_KEYED = "payment_requests.create"  # the operation whose sample shows an idempotency key
_IDEMPOTENCY_KEY = "order-1001"


def add_samples(schema: dict[str, Any]) -> None:
    """Add `x-codeSamples` to each operation of a complete OpenAPI document."""
    base_url = schema["servers"][0]["url"]
    components = schema["components"]["schemas"]
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            name = operation["operationId"]
            body = example_body(operation, components)
            values = path_values(path, components)
            address = base_url + path.format(**values)
            query = _QUERIES.get(name, {})
            is_keyed = bool(operation["security"])
            if name in _CLIENT:
                python = _with_client(name, base_url, {**values, **query, **(body or {})})
            elif _is_stream(operation):
                python = _with_requests_stream(address)
            else:
                python = _with_requests(method, address, body)
            operation["x-codeSamples"] = [
                {
                    "lang": "Shell",
                    "label": "curl",
                    "source": _curl(operation, method, address, query, body, is_keyed),
                },
                {"lang": "Python", "label": "Python", "source": python},
                {
                    "lang": "TypeScript",
                    "label": "TypeScript",
                    "source": _typescript(operation, method, address, values, query, body),
                },
            ]


def _typescript(
    operation: Mapping[str, Any],
    method: str,
    address: str,
    values: Mapping[str, Any],
    query: Mapping[str, Any],
    body: Mapping[str, Any] | None,
) -> str:
    name = operation["operationId"]
    if name not in _CLIENT:
        return (
            typescript.with_event_source(address)
            if _is_stream(operation)
            else typescript.with_fetch(method, address, body)
        )
    result, call, positional = _CLIENT[name]
    fields = {**query, **(body or {})}
    # In TypeScript, `outcome` is a separate argument, and the other fields of a body are one object.
    separate = [fields.pop(each) for each in positional if each in fields and each != "since"]
    key = _IDEMPOTENCY_KEY if name == _KEYED else None
    server = address.split("/api/")[0]
    return typescript.with_client(name, call, result, server, [*values.values(), *separate], fields, key)


def _is_stream(operation: Mapping[str, Any]) -> bool:
    return "text/event-stream" in operation["responses"].get("200", {}).get("content", {})


def example_body(operation: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return an example of the call's body, or None for a call without a body."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return None
    example = components[content["schema"]["$ref"].rsplit("/", 1)[1]]["examples"][0]
    shown = _BODIES.get(operation["operationId"], tuple(example))
    return {name: example[name] for name in shown}


def path_values(path: str, components: Mapping[str, Any]) -> dict[str, Any]:
    """Return values for the path's variables, such as the id of the example payment."""
    if "/deliveries/" in path:
        kind = "WebhookDelivery"
    elif "/events/" in path:
        kind = "Event"
    elif "/payment-links/" in path:
        kind = "PaymentLink"
    else:
        kind = "PaymentRequest"
    values = {
        "id": components[kind]["examples"][0]["id"],
        "payment_id": components["Payment"]["examples"][0]["id"],
        "chain_id": components["Chain"]["examples"][0]["id"],
    }
    return {name: value for name, value in values.items() if f"{{{name}}}" in path}


def _curl(
    operation: Mapping[str, Any],
    method: str,
    address: str,
    query: Mapping[str, Any],
    body: Mapping[str, Any] | None,
    is_keyed: bool,
) -> str:
    pairs = "&".join(f"{field}={value}" for field, value in query.items())
    target = f'"{address}?{pairs}"' if pairs else address
    parts = [f"curl --no-buffer {target}" if _is_stream(operation) else f"curl {target}"]
    if method in ("put", "patch") or (method == "post" and body is None):
        parts[0] = f"curl -X {method.upper()} {target}"
    if is_keyed:
        parts.append('-H "X-API-Key: $QUITTANCE_API_KEY"')
    if operation["operationId"] == _KEYED:
        parts.append(f'-H "Idempotency-Key: {_IDEMPOTENCY_KEY}"')
    if body is not None:
        parts.append('-H "Content-Type: application/json"')
        parts.append("-d " + shlex.quote(json.dumps(body, indent=2).replace("\n", "\n  ")))
    return " \\\n  ".join(parts)


def _with_client(name: str, base_url: str, arguments: Mapping[str, Any]) -> str:
    result, call, positional = _CLIENT[name]
    given = [_source(arguments[each]) for each in positional]
    given += [f"{each}={_source(value)}" for each, value in arguments.items() if each not in positional]
    if name == _KEYED:
        given.append(f"idempotency_key={_source(_IDEMPOTENCY_KEY)}")
    return (
        "import os\n\nimport quittance\n\n"
        'client = quittance.Client(\n    os.environ["QUITTANCE_API_KEY"],\n'
        f"    base_url={_source(base_url)},\n)\n"
        f"{result} = {_called(f'client.{call}', given)}\n"
    )


def _with_requests(method: str, address: str, body: Mapping[str, Any] | None) -> str:
    given = [_source(address)]
    if body is not None:
        given.append(f"json={_json_argument(body)}")
    given.append("timeout=10")
    return (
        f"import requests\n\nresponse = {_called(f'requests.{method}', given)}\n"
        "response.raise_for_status()\nprint(response.json())\n"
    )


def _with_requests_stream(address: str) -> str:
    call = _called("requests.get", [_source(address), "stream=True", "timeout=60"])
    return (
        f"import requests\n\nresponse = {call}\nresponse.raise_for_status()\n"
        "for line in response.iter_lines(decode_unicode=True):\n    print(line)\n"
    )


def _json_argument(body: Mapping[str, Any]) -> str:
    line = _source(dict(body))
    if len(line) <= _WIDTH:
        return line
    fields = (f"        {_source(name)}: {_source(value)},\n" for name, value in body.items())
    return "{\n" + "".join(fields) + "    }"


def _called(function: str, arguments: Sequence[str]) -> str:
    """Return the call on one line, or with one argument per line if it is too long."""
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        return line
    return f"{function}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"


def _source(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_source(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_source, value)) + "]"
    return repr(value)
