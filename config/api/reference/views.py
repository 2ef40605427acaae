"""The reference page at `/api/docs`: the OpenAPI document as HTML, without scripts."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.module_loading import import_string

from config.api.methods import only_read
from config.api.reference.contents import reference_of
from config.api.reference.own_ids import with_own_ids
from config.api.schema.samples import add_samples
from config.api.schema.views import described_as

_EXAMPLES = "chains.api.reference.example_chain_and_token"  # a path, because `config` imports no app


@only_read
def reference_page(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - the view interface
    find_examples: Callable[[], tuple[Mapping[str, Any], Mapping[str, Any]] | None] = import_string(_EXAMPLES)
    return HttpResponse(_page(json.dumps(find_examples())))


@lru_cache(maxsize=2)  # the examples change with the catalogue
def _page(examples: str) -> bytes:
    document = json.loads(described_as("json"))
    found = json.loads(examples)
    if found is not None:
        document = with_own_ids(document, *found)
        add_samples(document)
    context = {"reference": reference_of(document), "example": found}
    return render_to_string("api/reference.html", context).encode()
