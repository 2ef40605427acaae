"""`quittance.js`, the script that embeds the checkout in shops' pages. The script's URL is the same in all releases."""

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
    """Return the script, which any origin may load. Browsers cache it for a short time, so shops get new releases
    soon."""
    response = HttpResponse(served_bytes(_NAME), content_type="text/javascript; charset=utf-8")
    response["Cache-Control"] = f"public, max-age={_KEPT_SECONDS}"
    response["Access-Control-Allow-Origin"] = "*"  # `integrity` attributes need this header.
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response
