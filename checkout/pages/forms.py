"""Read HTML forms, and redirect afterwards."""

from collections.abc import Mapping
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse

from merchants.languages import closest_language

_FORM = "application/x-www-form-urlencoded"


def fields(request: HttpRequest) -> Mapping[str, object]:
    """Return the fields of a URL-encoded form.

    Forms with files are ignored, because Django would write the files to disk.
    """
    return request.POST if request.content_type == _FORM else {}


def typed(request: HttpRequest, name: str) -> str:
    return str(fields(request).get(name, ""))


def lead_to(request: HttpRequest, page: str, *named: str, **more: str) -> HttpResponseRedirect:
    """Return a redirect to another page in the chosen language. After a form, the status is 303, so browsers use GET.

    `more` is added to the query.
    """
    tag = closest_language(request.GET.get("lang", ""))
    query = urlencode({**({"lang": tag} if tag else {}), **more})
    response = redirect(reverse(page, args=named) + (f"?{query}" if query else ""))
    response.status_code = 303 if request.method == "POST" else 302
    return response
