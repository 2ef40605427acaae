"""The page at `/`. Visitors see it if they have no link to a payment."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from checkout.security import page_policy
from config.api.methods import only_read


@only_read
def front_page(request: HttpRequest) -> HttpResponse:
    return page_policy(request, render(request, "checkout/front.html", {"merchant": {}}))
