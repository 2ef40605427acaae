"""Reserve the cost of sponsored transactions from a chain's daily budget, under the lock of its gas account.

There is no ledger besides the authorizations: the sum of their costs on a day is what is spent and reserved. The
maximum cost is reserved before anything is stored. An authorization that can't be used any more releases its
reservation.
"""

from datetime import date

from django.db.models import Q, Sum

from chains.models import Chain
from payments.models import Authorization, GasAccount, PaymentRequest, Relay
from payments.sponsoring.terms import FAILED_RELAYS, MAX_ACCOUNTS, address_of, budget_of, has_room


def gas_account(chain: Chain) -> GasAccount | None:
    """Return the operator's account on the chain, or None if there is no key for it."""
    if not (address := address_of(chain)):
        return None
    account, _ = GasAccount.objects.get_or_create(chain=chain, address=address)
    return account


def lock(account: GasAccount) -> None:
    """Lock the account's row until the transaction ends, so that only one reservation at a time is made."""
    GasAccount.objects.select_for_update(no_key=True).get(pk=account.pk)


def may_reserve(request: PaymentRequest, cost: int, day: date, *, besides: int | None = None) -> bool:
    """Whether the budget has room for this cost. To reserve the cost, hold the lock of the gas account.

    If the cost replaces the reservation of an authorization, `besides` is that authorization's id.
    """
    rows = Authorization.objects.filter(chain=request.chain_id, day=day)
    if besides is not None:
        rows = rows.exclude(pk=besides)
    sums = rows.aggregate(
        spent=Sum("cost"),
        of_merchant=Sum("cost", filter=Q(merchant=request.merchant_id)),
        of_request=Sum("cost", filter=Q(request=request.pk)),
    )
    known = {name: int(value or 0) for name, value in sums.items()}
    return has_room(cost, budget=budget_of(request.chain), **known)


def may_open_account(request: PaymentRequest) -> bool:
    """Whether the operator may pay for opening the recipient's token account.

    A recipient can close the account and keep the rent that the operator paid. So each account is opened only once,
    and only a limited number for each merchant.
    """
    opened = Authorization.objects.filter(
        chain=request.chain_id, deposit__gt=0, cost__gt=0, signed_at__isnull=False
    )
    recipient, of_merchant = request.recipient_address, opened.filter(merchant=request.merchant_id)
    is_opened = opened.filter(recipient=recipient, token=request.token_id).exists()
    return not is_opened and of_merchant.count() < MAX_ACCOUNTS


def is_barred(payer: str, day: date) -> bool:
    """Whether too many transactions for this payer failed today, on any chain."""
    failed = Relay.objects.filter(authorization__payer=payer, authorization__day=day, succeeded=False)
    return failed.count() >= FAILED_RELAYS


def spent_on(chain: Chain, day: date) -> int:
    """Return the sum of spent and reserved amounts, in base units of the chain's coin."""
    rows = Authorization.objects.filter(chain=chain, day=day)
    return int(rows.aggregate(total=Sum("cost"))["total"] or 0)
