"""Store authorizations and relays directly, as the service does for sponsored payments."""

from datetime import datetime
from typing import Any

from django.utils import timezone

from payments.models import Authorization, GasAccount, Payment, PaymentRequest, Relay
from tests.support.payments.rows import new_payment

SPONSOR_KEY = "0x" + "11" * 32
SPONSOR = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A"
RULES = {"type": "eip3009", "name": "USD Coin", "version": "2"}


def new_authorization(
    request: PaymentRequest,
    *,
    signed_at: datetime | None = None,
    status: str = Payment.Status.PENDING,
    block_number: int | None = None,
    **columns: Any,
) -> Authorization:
    """Store a signed authorization of the request and its payment."""
    number = Authorization.objects.count() + 1
    now = signed_at or timezone.now()
    payment = new_payment(
        request=request,
        chain=request.chain,
        transaction_hash=f"0x{number:064x}",
        status=status,
        block_number=block_number,
        bound_by=Payment.BoundBy.AUTHORIZATION,
        is_sponsored=True,
        **(
            {"completed_at": now, "amount_received": request.amount}
            if status == Payment.Status.COMPLETED
            else {}
        ),
        **(
            {"failed_at": now, "failure_code": "authorization_expired"}
            if status == Payment.Status.FAILED
            else {}
        ),
    )
    return Authorization.objects.create(
        request=request,
        merchant=request.merchant,
        payment=payment,
        chain=request.chain,
        token=request.token,
        payer="0x" + "22" * 20,
        recipient=request.recipient_address,
        amount=request.amount,
        domain_name="USD Coin",
        domain_version="2",
        valid_before=2**31,
        nonce=number.to_bytes(32),
        signature=b"\x01" * 65,
        signed_at=now,
        **{"since_block": 1, "day": now.date(), "cost": 10**15, **columns},
    )


def new_relay(authorization: Authorization, *, address: str = SPONSOR, **columns: Any) -> Relay:
    """Store a relay for this authorization, with the gas account's next nonce."""
    account, _ = GasAccount.objects.get_or_create(chain=authorization.chain, address=address)
    nonce = account.relays.count()
    filled = {"hashes": [f"0x{nonce:064x}"], "raw": "0x", "unsigned": {}, **columns}
    return Relay.objects.create(account=account, nonce=nonce, authorization=authorization, **filled)
