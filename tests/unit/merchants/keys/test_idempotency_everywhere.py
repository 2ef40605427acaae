"""Every authenticated POST supports `Idempotency-Key`, including those that are added later."""

import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from merchants.models import IdempotencyKey
from tests.conftest import Api

# The names of path parameters, with a value for which no object exists.
ABSENT = {"id": str(uuid.UUID(int=0)), "payment_id": "pay_" + "1" * 24}


def patterns(resolver: URLResolver | None = None, before: str = "/") -> Iterator[tuple[str, URLPattern]]:
    for pattern in (resolver or get_resolver()).url_patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from patterns(pattern, path)
        else:
            yield path, pattern


def keyed_posts() -> dict[str, Callable[..., Any]]:
    """Return the handlers of all POST calls under /api/ that require an idempotency key, by path."""
    found = {}
    for path, pattern in patterns():
        view = getattr(pattern.callback, "cls", None) or getattr(pattern.callback, "view_class", None)
        if view is None or not path.startswith("/api/") or not view.authentication_classes:
            continue
        actions = getattr(pattern.callback, "actions", None) or {}
        handler = getattr(view, actions.get("post", "post"), None)
        if handler is not None:
            found[path] = handler
    return found


@pytest.mark.parametrize("path", sorted(keyed_posts()))
def test_it_reads_the_key_before_anything_else(api: Api, path: str) -> None:
    address = re.sub(r"<str:(\w+)>", lambda match: ABSENT[match[1]], path)
    refused = api.post(address, {}, **{"Idempotency-Key": "k" * 256})
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "idempotency_key_invalid"
    assert refused["Cache-Control"] == "no-store"
    response = api.post(address, {"unknown": 1}, **{"Idempotency-Key": "k"})
    assert response.status_code in (400, 404)
    assert response["Cache-Control"] == "no-store"
    assert not IdempotencyKey.objects.exists(), "a refused call frees its key"
