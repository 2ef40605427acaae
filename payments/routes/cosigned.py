"""Build transactions that the customer signs first, and in which the operator's account pays the network fee."""

import base64
import logging
from datetime import UTC, datetime
from hashlib import sha256

from chains.client import ChainClient
from chains.facts.cosigning import CannotSponsor, CosigningClient, Sponsored
from payments.models import Authorization, Payment, Route
from payments.routes.answers import Built
from payments.routes.refusals import expired, require_valid_recipient, unavailable
from payments.sponsoring import budgets, terms
from payments.sponsoring.offers import store_authorization

logger = logging.getLogger(__name__)

# If a transaction is valid for fewer blocks than this, it is built again: the customer needs time to sign it.
BLOCKS_TO_SIGN = 75
_SIGNED = "This route's transaction was signed already. Request routes again."


def build_cosigned(route: Route, client: ChainClient, now: datetime) -> Built:
    """Raises ApiError, TransferRefused and ChainError."""
    request, reader, rules = route.request, client.cosigning, terms.cosigning_of(route.chain)
    if route.amount != request.amount_remaining or request.expires_at - now < terms.LEFT_TO_BUILD:
        raise expired()
    if not terms.is_allowed(request) or reader is None or rules is None:
        raise unavailable()
    sponsor = terms.address_of(route.chain)
    require_valid_recipient(client, request)
    existing = Authorization.objects.filter(route=route).first()
    if existing is not None and existing.signed_at is not None:
        raise expired(_SIGNED)
    built = bytes(existing.transaction or b"") if existing is not None else b""
    is_usable = (
        existing is not None
        and rules.fee_payer_of(built) == sponsor
        and (not existing.deposit or budgets.may_open_account(request))
        and (existing.last_valid_height or 0) - reader.height() >= BLOCKS_TO_SIGN
    )
    if not is_usable:
        built = _store(route, _built(route, reader, sponsor, now), now)
    return Built(base64.b64encode(built).decode("ascii"), Payment.BoundBy.REFERENCE)


def _built(route: Route, reader: CosigningClient, sponsor: str, now: datetime) -> Sponsored:
    request = route.request
    try:
        sponsored = reader.build(
            token=route.token.contract_address,
            payer=route.wallet_address,
            recipient=request.recipient_address,
            amount=route.amount,
            reference=bytes(request.reference),
            sponsor=sponsor,
            may_open=budgets.may_open_account(request),
        )
    except CannotSponsor as error:
        logger.warning("no transaction is sponsored on %s: %s", route.chain.name, error)
        raise unavailable() from error
    # The cost is reserved after the customer has signed. Check the budget now, so that the customer doesn't
    # sign in vain.
    if not budgets.may_reserve(request, sponsored.fee + sponsored.deposit, now.astimezone(UTC).date()):
        raise unavailable()
    return sponsored


def _store(route: Route, sponsored: Sponsored, now: datetime) -> bytes:
    """Store and return the transaction that the customer may sign. The new transaction replaces an earlier
    one.
    """
    built = {
        "transaction": sponsored.transaction,
        "last_valid_height": sponsored.last_valid_height,
        "deposit": sponsored.deposit,
    }
    columns = {"nonce": sha256(route.pk.encode()).digest(), "since_block": 0}
    if store_authorization(route, now, columns, renewed=built) is None:
        raise expired(_SIGNED)
    return sponsored.transaction
