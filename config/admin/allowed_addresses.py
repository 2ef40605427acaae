"""Middleware that hides the admin from clients outside `ADMIN_ALLOWED_IPS`."""

from collections.abc import Callable

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse

from config.api.limits.client_address import client_address

_ADMIN = "/admin"


class AdminAddressMiddleware:
    """Return 404 to clients outside `ADMIN_ALLOWED_IPS`, and to clients without an address.

    If the setting is empty, every client is allowed.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.ADMIN_ALLOWED_IPS and _is_admin(request.path_info) and not _is_allowed(request):
            raise Http404("Unknown page.")
        return self.get_response(request)


def _is_admin(path: str) -> bool:
    return path == _ADMIN or path.startswith(f"{_ADMIN}/")


def _is_allowed(request: HttpRequest) -> bool:
    address = client_address(request)
    return address is not None and any(address in network for network in settings.ADMIN_ALLOWED_IPS)
