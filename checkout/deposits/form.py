"""The form on the payment page that shows the deposit address. Works without scripts."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods

from checkout.lookup import find_request
from checkout.pages.context import missing
from checkout.pages.forms import lead_to
from checkout.pages.pay import BY_ADDRESS, show_pay
from config.api.errors import ApiError
from config.api.limits.public_limits import count_expensive
from payments.deposits.showing import show_address


# No CSRF check is needed: no cookie is read, and everyone who knows the URL may see the address.
@csrf_exempt
@gzip_page
@require_http_methods(["GET", "HEAD", "POST"])
def request_address(request: HttpRequest, shortcode: str) -> HttpResponse:
    """Show the deposit address on the payment page. If no address is available, show why, and the other ways to pay."""
    try:
        payment_request = find_request(shortcode)
    except Http404:
        return missing(request)
    if request.method != "POST":
        return lead_to(request, "pay", payment_request.shortcode)
    try:
        show_address(payment_request, before_check=lambda: count_expensive(request, payment_request.pk))
    except ApiError as error:
        return show_pay(request, payment_request, error)
    return lead_to(request, "pay", payment_request.shortcode, **BY_ADDRESS)
