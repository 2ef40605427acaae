"""`/favicon.ico`. Browsers and link previews request it by default."""

import hashlib

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import etag

from checkout.integrity import served_bytes
from config.api.methods import only_read

# The file is a PNG. Browsers go by the content type, not by the name.
_NAME = "checkout/icon.png"
_KEPT_SECONDS = 86_400


@only_read
@etag(lambda _request: '"' + hashlib.sha256(served_bytes(_NAME)).hexdigest()[:32] + '"')
def favicon(_request: HttpRequest) -> HttpResponse:
    """Return the service's icon from the static files, without a database query."""
    response = HttpResponse(served_bytes(_NAME), content_type="image/png")
    response["Cache-Control"] = f"public, max-age={_KEPT_SECONDS}"
    return response
