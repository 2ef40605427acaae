"""Headers and credentials in the API's description."""

from typing import Any

HEADERS: dict[str, dict[str, Any]] = {
    "X-Request-Id": {
        "description": "The id of this call: the id that you sent, if it is valid, or a new one.",
        "required": True,
        "schema": {"type": "string", "examples": ["req_706b20db2473d2414fe53271"]},
    },
    "Idempotent-Replayed": {
        "description": "`true` if this is the stored response of an earlier call with the same Idempotency-Key.",
        "schema": {"type": "string", "const": "true"},
    },
    "Retry-After": {
        "description": "The seconds to wait before the next attempt.",
        "schema": {"type": "string", "pattern": "^[0-9]+$", "examples": ["5"]},
    },
    "ETag": {
        "description": (
            "The version of the object. Send it as `If-None-Match` to get a body only if the object has "
            "changed."
        ),
        "required": True,
        "schema": {"type": "string", "examples": ['"5f2b8c1e9a7d4036b1c2d3e4f5061728"']},
    },
    "WWW-Authenticate": {
        "description": "The accepted kinds of credentials.",
        "required": True,
        "schema": {"type": "string", "examples": ['ApiKey realm="api", Bearer realm="api"']},
    },
}

SECURITY_SCHEMES: dict[str, dict[str, Any]] = {
    "ApiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": (
            "`quitt_` and 40 lowercase hexadecimal digits. *Authentication* lists the permissions."
        ),
    },
    "Bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "The API key as `Authorization: Bearer <API_KEY>`. Send this header or `X-API-Key`, not both.",
    },
}
