"""The page at the service's own address, for visitors without a payment link."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from checkout.security import page_policy
from config.api.methods import only_read


@only_read
def front_page(request: HttpRequest) -> HttpResponse:
    """Say what this service is, and where customers and merchants go from here."""
    return page_policy(request, render(request, "checkout/front.html", {"merchant": {}}))
