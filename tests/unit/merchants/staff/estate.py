"""Two merchants with one object of each kind, and one member of staff for each role."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Model
from django.utils import timezone

from chains.models import Chain, Switch, Token
from merchants.models import AuditEntry, Invitation, Merchant
from merchants.services import issue_key
from merchants.staff.roles import MEMBER_ROLES, OPERATOR, Role, assign_role
from payments.links.services import NewLink, create_link
from payments.models import ConsumedTransfer, Payment, PaymentLink, PaymentRequest, Refund, Transition
from payments.requests.creation import NewRequest, create_request
from tests.support.payments.deposits import give_address
from tests.support.payments.rows import new_payment
from webhooks.models import Delivery, Endpoint, Event

NO_ROLE = "no role"
"""A user who may sign in to the portal, without a role."""
ROLES = (OPERATOR, *Role.values, NO_ROLE, "stranger")


@dataclass(frozen=True)
class Estate:
    """A merchant, its owner, and its objects by model."""

    merchant: Merchant
    owned: dict[type[Model], Any]
    staff: User

    def marks(self) -> set[str]:
        """Return texts that no page may show to users who can't see this merchant."""
        request, key = self.owned[PaymentRequest], self.owned[type(self.merchant.api_keys.get())]
        return {
            self.merchant.name,
            str(self.merchant.pk),
            key.prefix,
            request.shortcode,
            request.external_id,
            str(request.pk),
            self.owned[PaymentLink].pk,
            self.owned[PaymentLink].code,
            self.owned[Payment].pk,
            self.owned[Payment].transaction_hash,
            self.owned[Event].pk,
            self.owned[Delivery].pk,
            self.owned[Endpoint].url,
            self.owned[Invitation].email,
            self.staff.email,
        }


def token() -> Token:
    """Return a token that needs no running chain."""
    chain = Chain.objects.create(id=8453, name="Base", chain_type="evm", native_symbol="ETH")
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address="0x" + "1" * 40
    )


def furnish(name: str, coin: Token, digit: str) -> Estate:
    """Return a merchant with one object of each kind. All its hexadecimal values consist of `digit`."""
    merchant = Merchant.objects.create(name=name)
    key, _ = issue_key(merchant=merchant, permissions=["create_payments"], name=f"{name} till")
    order = NewRequest(
        token=coin,
        amount=10_500_000,
        recipient_address="0x" + digit * 40,
        lifetime=timedelta(hours=1),
        external_id=f"order of {name}",
    )
    request = create_request(merchant, order, actor="test")
    payment = new_payment(
        request=request, chain=coin.chain, transaction_hash="0x" + digit * 64, status="pending"
    )
    transfer = ConsumedTransfer.objects.create(
        chain=coin.chain, transaction_hash="0x" + digit * 64, slot="7", payment=payment, amount=5
    )
    link = create_link(merchant, NewLink(f"link of {name}", coin, "0x" + digit * 40, amount=5), actor="test")
    give_address(request, int(digit, 16))
    refund = Refund.objects.create(merchant=merchant, request=request, amount=5)
    endpoint = Endpoint.objects.create(
        merchant=merchant, url=f"https://{digit}.example/hook", secret_encrypted=b"sealed"
    )
    event = Event.objects.create(
        merchant=merchant,
        type="payment.failed",
        created=timezone.now(),
        dedupe_key=digit,
        body=b'{"data": {}}',
    )
    delivery = Delivery.objects.create(
        merchant=merchant,
        event=event,
        public_event_id=event.pk,
        type=event.type,
        status="failed",
        finished_at=timezone.now(),
    )
    staff = User.objects.create_user(f"staff of {name}", f"owner@{digit}.example")
    assign_role(staff, Role.OWNER, merchant)
    invitation = Invitation.objects.create(
        merchant=merchant,
        email=f"invited@{digit}.example",
        role=Role.VIEWER,
        digest=digit.encode(),
        expires_at=timezone.now() + timedelta(days=7),
    )
    entry = AuditEntry.objects.create(what="signed_in", merchant=merchant, actor=staff.username)
    rows = [merchant, key, request, payment, transfer, Transition.objects.filter(request=request).first()]
    rows += [staff.membership, invitation, entry]
    return Estate(
        merchant=merchant,
        owned={type(row): row for row in (*rows, refund, request.deposit, link, endpoint, event, delivery)},  # type: ignore[misc]
        staff=staff,
    )


def user_with(role: str, estate: Estate) -> User | None:
    """Return a user with this role, or None for a stranger. Members belong to the estate's team."""
    if role == Role.OWNER:
        return estate.staff
    if role == "stranger":
        return None
    user = User.objects.create_user(role, is_staff=True)
    if role != NO_ROLE:
        assign_role(user, role, estate.merchant if role in MEMBER_ROLES else None)
    return user


def global_rows() -> dict[type[Model], Any]:
    """Return one row of each model that belongs to no merchant."""
    rows = (
        Chain.objects.get(),
        Token.objects.get(),
        User.objects.first(),
        Switch.objects.get_or_create(name="swaps", defaults={"actor": "olga", "reason": "an incident"})[0],
    )
    return {type(row): row for row in rows}  # type: ignore[misc]
