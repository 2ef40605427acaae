"""A merchant's allowed recipients: the wallets that its payment requests may pay, on every chain of a family.

An empty list allows any recipient. No API call changes the list. So a stolen API key is not enough to redirect payments
to another wallet.

A second list has the contracts that the merchant controls on every chain. Only these contracts can be the recipient of
a deposit address.
"""

import uuid
from collections.abc import Sequence

from django.db import connection, transaction
from django.http import HttpRequest

from chains.families import label_of, read_address
from config.api.errors import ApiError, ErrorCode, Problem
from config.database.compiled_query import run
from config.database.process_cache import ProcessCache
from merchants.models import AllowedRecipient, ContractRecipient, Merchant
from merchants.staff import audit
from merchants.staff.roles import sees_every_merchant

_LIST_LOCK = 0x616C  # The SQL function quittance_is_allowed_recipient uses the same number.


def parse_recipient(text: str) -> tuple[str, str]:
    """Parse an address. Return the key of its chain family and the canonical address. Raises AddressError."""
    family, address = read_address(text.strip())
    return family.key, address


def recipient_problem(merchant: Merchant, chain_type: str, address: str) -> Problem | None:
    """Return None if a new request may pay this canonical address. Otherwise return the problem.

    The cached list may be a second old. `require_allowed` checks the current list under a lock.
    """
    allowed = _lists.get(merchant.pk)
    return None if not allowed or (chain_type, address) in allowed else _not_allowed(chain_type, address)


def is_listed(merchant: Merchant, chain_type: str, address: str) -> bool:
    """Whether the merchant's list contains this canonical address.

    If the list is empty, return False, although any address is allowed then.
    """
    return AllowedRecipient.objects.filter(merchant=merchant, chain_type=chain_type, address=address).exists()


def _not_allowed(chain_type: str, address: str) -> Problem:
    message = (
        f"{address} is not one of your allowed recipients on {label_of(chain_type)}. "
        "Use an allowed address, or add this one in the portal."
    )
    return Problem(ErrorCode.RECIPIENT_NOT_ALLOWED, message, "recipient_address")


def require_allowed(merchant: Merchant, chain_type: str, address: str) -> None:
    """Raise ApiError if a new request of `merchant` may not pay this canonical address.

    A shared lock keeps the list unchanged until the caller's transaction ends.
    """
    sql = "SELECT quittance_is_allowed_recipient(%s, %s, %s)"
    (is_allowed,) = run(sql, [merchant.pk, chain_type, address]).fetchall()[0]
    if not is_allowed:
        raise ApiError.of([_not_allowed(chain_type, address)])


def allow_recipients(
    merchant: Merchant, recipients: Sequence[tuple[str, str]], *, request: HttpRequest | None
) -> int:
    """Add canonical addresses to the list and log the change. Return the number of new addresses.

    `request` is the portal's request, or None on the command line.
    """
    added = 0
    with transaction.atomic():
        _lock_list(merchant)
        for chain_type, address in recipients:
            row, is_new = AllowedRecipient.objects.get_or_create(
                merchant=merchant, chain_type=chain_type, address=address
            )
            if is_new:
                audit.note(request, audit.What.RECIPIENT_ALLOWED, subject=merchant, detail=str(row))
            added += is_new
    return added


def disallow_recipients(
    merchant: Merchant, recipients: Sequence[tuple[str, str]], *, request: HttpRequest | None
) -> int:
    """Remove canonical addresses from the list and log the change. Return the number of addresses still on the list.

    Existing payment requests keep their recipient. If one of the addresses is not on the list, raise LookupError and
    change nothing.
    """
    with transaction.atomic():
        _lock_list(merchant)
        rows = AllowedRecipient.objects.filter(merchant=merchant)
        for chain_type, address in recipients:
            removed, _ = rows.filter(chain_type=chain_type, address=address).delete()
            if not removed:
                raise LookupError(f"{address} is not an allowed recipient of {merchant}.")
            detail = f"{label_of(chain_type)} {address}"
            audit.note(request, audit.What.RECIPIENT_DISALLOWED, subject=merchant, detail=detail)
        return rows.count()


def is_confirmed_contract(merchant: Merchant, chain_type: str, address: str) -> bool:
    """Whether the merchant confirmed that it controls this canonical address on every chain of the family."""
    rows = ContractRecipient.objects.filter(merchant=merchant, chain_type=chain_type, address=address)
    return rows.exists()


def confirm_contract(merchant: Merchant, recipient: tuple[str, str], *, request: HttpRequest) -> bool:
    """Store and log that the merchant controls this canonical address on every chain of the family.

    Return False if that was confirmed before.
    """
    chain_type, address = recipient
    with transaction.atomic():
        row, is_new = ContractRecipient.objects.get_or_create(
            merchant=merchant,
            chain_type=chain_type,
            address=address,
            defaults={"confirmed_by": _confirmer(request)},
        )
        if is_new:
            audit.note(request, audit.What.CONTRACT_CONFIRMED, subject=merchant, detail=str(row))
    return is_new


def _confirmer(request: HttpRequest) -> str:
    """Return the name of the user who confirms, or "the operator" for an operator. The merchant's owners see this text.

    Only the security log has the operator's name.
    """
    return "the operator" if sees_every_merchant(request.user) else request.user.get_username()


def withdraw_contract(merchant: Merchant, recipient: tuple[str, str], *, request: HttpRequest) -> None:
    """Remove a confirmation, and log it. Payments to existing deposit addresses are still found and forwarded.

    Raises LookupError if the address is not confirmed.
    """
    chain_type, address = recipient
    with transaction.atomic():
        rows = ContractRecipient.objects.filter(merchant=merchant, chain_type=chain_type, address=address)
        removed, _ = rows.delete()
        if not removed:
            raise LookupError(f"{address} is not a confirmed contract of {merchant}.")
        detail = f"{label_of(chain_type)} {address}"
        audit.note(request, audit.What.CONTRACT_WITHDRAWN, subject=merchant, detail=detail)


def _lock_list(merchant: Merchant) -> None:
    """Lock the list until the transaction ends. New payment requests wait for the lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_LIST_LOCK, str(merchant.pk)])


def _list(merchant_id: uuid.UUID) -> frozenset[tuple[str, str]]:
    rows = AllowedRecipient.objects.filter(merchant_id=merchant_id)
    return frozenset(rows.values_list("chain_type", "address"))


_lists = ProcessCache(_list)
