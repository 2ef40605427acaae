"""The logos of merchants and tokens, served by this deployment."""

from django.http import Http404, HttpRequest, HttpResponse

from chains.models import Token
from checkout.logos import COIN, cached_logo, cached_token_logo, logo_response
from checkout.lookup import find_request
from config.api.methods import only_read


@only_read
def logo(request: HttpRequest, shortcode: str) -> HttpResponse:  # noqa: ARG001 - the view interface
    """Return the logo of the request's merchant, or 404 until it is cached."""
    cached = cached_logo(find_request(shortcode).merchant)
    if cached is None:
        raise Http404
    return logo_response(cached)


@only_read
def token_logo(request: HttpRequest, chain_id: int, address: str) -> HttpResponse:  # noqa: ARG001 - the view interface
    """Return the logo of a token of the catalogue. `address` is "coin" for the chain's coin."""
    contract = "" if address == COIN else address
    token = Token.objects.filter(chain_id=chain_id, contract_address=contract, is_active=True).first()
    cached = cached_token_logo(token) if token else None
    if cached is not None:
        return logo_response(cached)
    missing = HttpResponse(status=404)
    # Cache the 404 for a short time. Token lists are redrawn often, and a worker needs a few seconds to fetch a logo.
    missing["Cache-Control"] = "public, max-age=30"
    return missing
