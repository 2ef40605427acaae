"""Why there is no way to pay with a token, in words that say what to do next."""

from payments.models import PaymentRequest
from payments.providers.base import NoOfferCode
from payments.routes.answers import NoRoute

_WHY = {
    NoOfferCode.NO_ROUTE: "No way leads from this token to {wanted} right now.",
    NoOfferCode.AMOUNT_TOO_LOW: "This amount is too small to be paid with this token.",
    NoOfferCode.AMOUNT_TOO_HIGH: "This amount is too large to be paid with this token.",
    NoOfferCode.NO_LIQUIDITY: "This token can't be exchanged for so much {symbol} right now.",
    NoOfferCode.FEES_TOO_HIGH: "With this token the fees would be more than the payment is worth.",
    NoOfferCode.ROUTE_REFUSED: "The way that was offered did not pass our checks, so it is not shown.",
}


def no_route(request: PaymentRequest, code: NoOfferCode) -> NoRoute:
    """Return the answer for people and programs; each says that another token may do, and which one always does."""
    wanted = f"{request.token.symbol} on {request.chain.name}"
    why = _WHY[code].format(wanted=wanted, symbol=request.token.symbol)
    return NoRoute(code.value, f"{why} Choose another token, or pay in {wanted}.")


def not_available(request: PaymentRequest) -> NoRoute:
    """Return the answer while the requested token or its chain is inactive, with whatever one would pay."""
    message = f"{request.token.symbol} on {request.chain.name} can't be paid at the moment. Please send nothing now."
    return NoRoute(NoOfferCode.NO_ROUTE.value, message)


def no_wallet(request: PaymentRequest, label: str) -> NoRoute:
    """Return the answer for a wallet of a family whose wallets sign nothing that can be built here."""
    message = (
        f"{label} wallets can't be connected here, so no transaction can be built for them. "
        f"Send {request.token.symbol} on {request.chain.name} by hand, or choose a token on another chain."
    )
    return NoRoute(NoOfferCode.NO_ROUTE.value, message)


def no_provider(request: PaymentRequest) -> NoRoute:
    """Return the answer of a deployment that asks no provider."""
    message = f"This can be paid in {request.token.symbol} on {request.chain.name} only."
    return NoRoute(NoOfferCode.NO_ROUTE.value, message)
