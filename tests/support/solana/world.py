"""Shared helpers for Solana: transactions as the checkout builds them, and lookups until a payment is decided."""

from payments.models import Payment, PaymentRequest
from payments.routes.routes import build_transaction, find_routes
from tests.support.payments.world import Clock, look_until_decided, submit
from tests.support.solana.ledger import LocalLedger


def built_for(request: PaymentRequest, wallet: str) -> str:
    """Return the transaction that the checkout would build for this wallet."""
    routes = find_routes(request, wallet_address=wallet, token=request.token)
    assert isinstance(routes, list)
    built = build_transaction(routes[0])
    return str(getattr(built, "transaction", built))


def decide(ledger: LocalLedger, request: PaymentRequest, signature: str) -> Payment:
    """Submit the signature once it is final; look it up until the payment is completed or failed."""
    return look_until_decided(submit(request, ledger.finalize(signature)), Clock())
