"""`quittance.js`, which opens the checkout in a shop's own page, at an address that no release changes."""

import hashlib

from django.http import HttpRequest, HttpResponse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import etag

from checkout.integrity import served_bytes
from config.api.methods import only_read

_NAME = "checkout/quittance.js"
_KEPT_SECONDS = 300


@only_read
@gzip_page
@etag(lambda _request: '"' + hashlib.sha256(served_bytes(_NAME)).hexdigest()[:32] + '"')
def shop_script(_request: HttpRequest) -> HttpResponse:
    """Answer the script; shops on any origin may load it and check its digest, and a release reaches them soon."""
    response = HttpResponse(served_bytes(_NAME), content_type="text/javascript; charset=utf-8")
    response["Cache-Control"] = f"public, max-age={_KEPT_SECONDS}"
    response["Access-Control-Allow-Origin"] = "*"  # an `integrity` attribute asks for it
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response
