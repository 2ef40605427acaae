"""One object of each kind that a merchant can have. Their chain has no node, so they suit calls that need none."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import PaymentLink, PaymentRequest, Refund
from tests.support.payments.rows import new_payment
from webhooks.endpoints.configuration import Change, configure
from webhooks.models import Delivery, Event


def belongings(owner: Merchant) -> dict[str, Any]:
    """Create one object of each kind that a merchant can have; return their ids by name. The chain has no node."""
    chain, _ = Chain.objects.get_or_create(
        id=8453, defaults={"name": "Base", "chain_type": "evm", "native_symbol": "ETH"}
    )
    token, _ = Token.objects.get_or_create(
        chain=chain,
        contract_address="0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        defaults={"symbol": "USDC", "name": "USD Coin", "decimals": 6},
    )
    now = timezone.now()
    request = PaymentRequest.objects.create(
        merchant=owner,
        chain=chain,
        token=token,
        amount=1_000_000,
        recipient_address="0x8ba1f109551bD432803012645Ac136ddd64DBA72",
        expires_at=now + timedelta(hours=1),
        expiry_check_at=now + timedelta(hours=1),
    )
    lost, unbound = (
        new_payment(
            request=request,
            chain=chain,
            transaction_hash=f"0x{number:064x}",
            status="failed",
            failure_code=code,
            failed_at=now,
            next_check_at=None,
        )
        for number, code in ((1, "transaction_not_found"), (2, "transaction_not_bound"))
    )
    refund = Refund.objects.create(merchant=owner, request=request, amount=1)
    link = PaymentLink.objects.create(
        merchant=owner, name="Tasting", chain=chain, token=token, amount=1, recipient_address="0x2"
    )
    configure(owner, Change(url="https://shop.example/hook"))
    event = Event.objects.create(
        merchant=owner, type="payment.failed", created=now, dedupe_key="1", body=b'{"id":"evt_1"}'
    )
    delivery = Delivery.objects.create(
        merchant=owner,
        event=event,
        public_event_id=event.id,
        type=event.type,
        url_override="https://shop.example/own",
        due_at=now,
    )
    configure(owner, Change(url=None))
    return {
        "request": request.id,
        "lost": lost.id,
        "unbound": unbound.id,
        "refund": refund.id,
        "event": event.id,
        "delivery": delivery.id,
        "link": link.id,
        "token": token.id,
    }
