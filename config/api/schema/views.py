"""The OpenAPI document at `/api/schema`."""

import hashlib
import json
from functools import cache

import yaml
from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from rest_framework.request import Request
from rest_framework.views import APIView

from config.api.errors import ApiError, ErrorCode

_TYPES = {"json": "application/json", "yaml": "application/yaml"}
_CACHE_SECONDS = 300


class SchemaView(APIView):
    """The OpenAPI 3.1 document, generated from the running code. Public."""

    schema = None
    authentication_classes = ()
    permission_classes = ()

    def get(self, request: Request) -> HttpResponse:
        form = request.query_params.get("format", "json")
        if form not in _TYPES:
            message = f"This should be one of json, yaml; got {form[:64]!r}."
            raise ApiError(ErrorCode.PARAMETER_INVALID, message, "format")
        body = described_as(form)
        etag = '"' + hashlib.sha256(body).hexdigest()[:32] + '"'
        is_known = request.headers.get("If-None-Match") == etag
        response = HttpResponse(status=304) if is_known else HttpResponse(body, content_type=_TYPES[form])
        response["ETag"] = etag
        response["Cache-Control"] = f"public, max-age={_CACHE_SECONDS}"
        return response


@cache
def described_as(form: str) -> bytes:
    """Return the document as UTF-8 bytes. Cached, because the document doesn't change while the process runs."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    plain = json.dumps(schema, default=str, ensure_ascii=False)
    if form == "json":
        return plain.encode()
    return yaml.safe_dump(json.loads(plain), sort_keys=False, allow_unicode=True).encode()
