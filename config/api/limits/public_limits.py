"""Rate limits by client address: public calls, failed authentication, and calls that query nodes or providers."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from limits import RateLimitItem
from rest_framework.request import Request

from config.api.handler import is_api_path, json_error
from config.api.limits.client_address import client_identity
from config.api.limits.rate_limits import Refusal, WithoutRedis, hit

_PUBLIC = ("/api/public/", "/pay/", "/refunds/", "/l/", "/notices/")
# The path parameters that identify a payment request or a refund.
_NAMES = ("id", "shortcode", "code")
# Many customers can share one address, such as that of a shop, an office or a mobile carrier.
_TIMES_FOR_AN_ADDRESS = 10

View = TypeVar("View", bound=Callable[..., Any])


def never_refused(view: View) -> View:
    """Exempt a public view from rate limits. For example, a customer can always report a sent payment."""
    view.is_never_refused = True  # type: ignore[attr-defined]
    return view


class RateLimitMiddleware:
    """Limit public calls by payment request and client address. Limit failed authentication by address."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code == 401 and is_api_path(request):
            refusal = hit("failed-authentication", client_identity(request), settings.RATE_LIMIT_PUBLIC)
            if refusal is not None:
                return json_error(refusal.as_error())
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], _arguments: Any, parameters: Mapping[str, Any]
    ) -> HttpResponse | None:
        if not request.path.startswith(_PUBLIC) or getattr(view, "is_never_refused", False):
            return None
        about = next((str(parameters[name]) for name in _NAMES if name in parameters), "")
        refusal = hit_public(about, client_identity(request))
        if refusal is None:
            return None
        return json_error(refusal.as_error()) if is_api_path(request) else _page(request, refusal)


def hit_public(about: str, identity: str) -> Refusal | None:
    """Count a public call of the client `identity`. `about` is the name of its payment request in the path, or ""."""
    return _hit("public", about, identity, settings.RATE_LIMIT_PUBLIC)


def count_expensive(request: HttpRequest | Request, about: object) -> None:
    """Count a call that queries nodes or providers, by payment request and client address.

    Repeated counts of the same HTTP request have no effect.

    Call this after the input is validated and before the first query. `about` is the payment request's ID, or "" for a
    call without one. There is no limit for all addresses together: one client could use it up for all others.

    Raises ApiError `rate_limited`. Without Redis, each process counts alone.
    """
    call: Any = getattr(request, "_request", request)  # the Django request in a DRF request
    if getattr(call, "is_counted_as_expensive", False):
        return
    limit = settings.RATE_LIMIT_EXPENSIVE
    refusal = _hit("expensive", str(about), client_identity(call), limit, without_redis="count here")
    if refusal is not None:
        raise refusal.as_error()
    call.is_counted_as_expensive = True


def _hit(
    scope: str,
    about: str,
    identity: str,
    limit: RateLimitItem | None,
    *,
    without_redis: WithoutRedis = "let through",
) -> Refusal | None:
    """Count a call against the address's two limits: for this payment request, and for all payment requests."""
    if limit is None:
        return None
    return hit(f"{scope}-request", f"{about}/{identity}", limit, without_redis=without_redis) or hit(
        f"{scope}-address", identity, _over_all_requests(limit), without_redis=without_redis
    )


@cache
def _over_all_requests(limit: RateLimitItem) -> RateLimitItem:
    """Return the limit for one address's calls about all payment requests."""
    return type(limit)(limit.amount * _TIMES_FOR_AN_ADDRESS, limit.multiples, limit.namespace)


def _page(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    context = {"merchant": {}, "retry_after": refusal.retry_after}
    response = render(request, "checkout/rate_limited.html", context, status=429)
    response["Retry-After"] = str(refusal.retry_after)
    return response
