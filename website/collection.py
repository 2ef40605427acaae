"""Make a collection of all API calls, for Postman, Bruno, Insomnia and others. The source is the API's description.

`python -m website.collection`, or `make collection`, writes `clients/quittance.postman_collection.json`. The file has
Postman's format 2.1, which all of these programs can import.
"""

import json
from pathlib import Path
from typing import Any

from website.__main__ import prepare
from website.reference import Schema, describe

FILE = Path(__file__).resolve().parent.parent / "clients" / "quittance.postman_collection.json"
_FORMAT = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
_DESCRIPTION = (
    "Every call of the API. Set the variable `base_url` to your deployment, and `api_key` to a key of yours. Keep "
    "the key in your own environment, not in a shared collection. Each authenticated POST has an `Idempotency-Key` "
    "of its own."
)


def collection(schema: Schema) -> dict[str, Any]:
    """Return the collection, with a folder for each group of calls."""
    folders = []
    for tag in schema["tags"]:
        items = [
            _item(path, method, operation, schema["components"]["schemas"])
            for path, operations in schema["paths"].items()
            for method, operation in operations.items()
            if operation["tags"][0] == tag["name"]
        ]
        if items:
            folders.append({"name": tag["name"], "item": items})
    return {
        "info": {"name": "Quittance API", "description": _DESCRIPTION, "schema": _FORMAT},
        "auth": {
            "type": "apikey",
            "apikey": [
                {"key": "key", "value": "X-API-Key"},
                {"key": "value", "value": "{{api_key}}"},
                {"key": "in", "value": "header"},
            ],
        },
        "variable": [
            {"key": "base_url", "value": "https://pay.example.com"},
            {"key": "api_key", "value": ""},
        ],
        "item": folders,
    }


def _item(path: str, method: str, operation: Schema, components: Schema) -> dict[str, Any]:
    from config.api.schema.samples import example_body, path_values

    is_authenticated = bool(operation["security"])
    headers = []
    if method == "post" and is_authenticated:
        headers.append({"key": "Idempotency-Key", "value": "{{$guid}}"})
    request: dict[str, Any] = {
        "method": method.upper(),
        "header": headers,
        "url": _url(path, operation, path_values(path, components)),
        "description": operation["description"],
    }
    body = example_body(operation, components)
    if body is not None:
        headers.append({"key": "Content-Type", "value": "application/json"})
        text = json.dumps(body, indent=2, ensure_ascii=False)
        request["body"] = {"mode": "raw", "raw": text, "options": {"raw": {"language": "json"}}}
    if not is_authenticated:
        request["auth"] = {"type": "noauth"}
    return {"name": operation["summary"], "request": request}


def _url(path: str, operation: Schema, values: dict[str, Any]) -> dict[str, Any]:
    """Return the URL. Each filter is off until you switch it on."""
    template = path.replace("{", ":").replace("}", "")
    query = [
        {
            "key": parameter["name"],
            "value": "",
            "description": parameter.get("description", ""),
            "disabled": True,
        }
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query"
    ]
    url: dict[str, Any] = {
        "raw": "{{base_url}}" + template,
        "host": ["{{base_url}}"],
        "path": template.strip("/").split("/"),
    }
    if query:
        url["query"] = query
    if values:
        url["variable"] = [{"key": name, "value": str(value)} for name, value in values.items()]
    return url


def text_of(schema: Schema) -> str:
    return json.dumps(collection(schema), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    prepare()
    FILE.write_text(text_of(describe()))
    print(f"wrote {FILE}")
