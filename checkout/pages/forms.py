"""Read forms that were sent without scripts, and redirect afterwards."""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse

from merchants.languages import known_language

_FORM = "application/x-www-form-urlencoded"


def fields(request: HttpRequest) -> Mapping[str, object]:
    """Return the fields of a plain form; of an upload none, since that would be written to disk before it was read."""
    return request.POST if request.content_type == _FORM else {}


def typed(request: HttpRequest, name: str) -> str:
    """Return what was typed into the form's field of this name."""
    return str(fields(request).get(name, ""))


def lead_to(request: HttpRequest, page: str, *named: str) -> HttpResponseRedirect:
    """Return the way to another page, in the language that was chosen; after a form it is read and not posted to."""
    tag = known_language(request.GET.get("lang", ""))
    response = redirect(reverse(page, args=named) + (f"?lang={tag}" if tag else ""))
    response.status_code = 303 if request.method == "POST" else 302
    return response
