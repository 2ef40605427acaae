"""Explain why there is no route from a token. Each message has the next step."""

from payments.models import PaymentRequest
from payments.providers.base import NoOfferCode
from payments.routes.answers import NoRoute

_WHY = {
    NoOfferCode.NO_ROUTE: "There is no route from this token to {token_text} at the moment.",
    NoOfferCode.AMOUNT_TOO_LOW: "This amount is too small to be paid with this token.",
    NoOfferCode.AMOUNT_TOO_HIGH: "This amount is too large to be paid with this token.",
    NoOfferCode.NO_LIQUIDITY: "There is not enough liquidity to exchange this token for {symbol}.",
    NoOfferCode.FEES_TOO_HIGH: "The fees for this token would be higher than the payment.",
    NoOfferCode.ROUTE_REFUSED: "The offered route did not pass our checks, so it is not shown.",
}


def no_route(request: PaymentRequest, code: NoOfferCode) -> NoRoute:
    """Return the reason and the alternatives: another token, or the requested one."""
    token_text = f"{request.token.symbol} on {request.chain.name}"
    why = _WHY[code].format(token_text=token_text, symbol=request.token.symbol)
    return NoRoute(code.value, f"{why} Choose another token, or pay in {token_text}.")


def not_available(request: PaymentRequest) -> NoRoute:
    subject = "Refunds" if request.is_refund else "Payments"
    message = (
        f"{subject} in {request.token.symbol} on {request.chain.name} are unavailable at the moment. "
        "Don't send anything now."
    )
    return NoRoute(NoOfferCode.NO_ROUTE.value, message)


def no_wallet(request: PaymentRequest, label: str) -> NoRoute:
    instead = "" if request.is_refund else ", or choose a token on another chain"
    message = (
        f"{label} wallets can't be connected here, so no transaction can be built for them. "
        f"Send {request.token.symbol} on {request.chain.name} by hand{instead}."
    )
    return NoRoute(NoOfferCode.NO_ROUTE.value, message)


def no_provider(request: PaymentRequest) -> NoRoute:
    """Return the reason for a refund, or for a deployment without a routing provider."""
    can_be = "refund is sent" if request.is_refund else "can be paid"
    message = f"This {can_be} in {request.token.symbol} on {request.chain.name} only."
    return NoRoute(NoOfferCode.NO_ROUTE.value, message)
