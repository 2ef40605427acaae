"""The logos of merchants and tokens, from the service's own address."""

from django.http import Http404, HttpRequest, HttpResponse

from chains.models import Token
from checkout.logos import COIN, known_logo, known_token_logo, logo_answer
from checkout.lookup import find_request
from config.api.methods import only_read


@only_read
def logo(request: HttpRequest, shortcode: str) -> HttpResponse:  # noqa: ARG001 - the view interface
    """Show the logo of the request's merchant, from here."""
    known = known_logo(find_request(shortcode).merchant)
    if known is None:
        raise Http404
    return logo_answer(known)


@only_read
def token_logo(request: HttpRequest, chain_id: int, address: str) -> HttpResponse:  # noqa: ARG001 - the view interface
    """Show the logo of a token of the catalogue, from here; `address` is "coin" for the chain's own."""
    contract = "" if address == COIN else address
    token = Token.objects.filter(chain_id=chain_id, contract_address=contract, is_active=True).first()
    known = known_token_logo(token) if token else None
    if known is not None:
        return logo_answer(known)
    missing = HttpResponse(status=404)
    # A list of tokens is drawn often; a worker needs some seconds.
    missing["Cache-Control"] = "public, max-age=30"
    return missing
