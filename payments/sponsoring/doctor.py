"""Check the keys, balances, budgets and stuck transactions of sponsored payments for `manage.py doctor`.

No finding contains a key.
"""

from collections.abc import Callable, Iterator
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from chains.amounts import display_amount
from chains.client import ChainClient, ChainError
from chains.families import get_client
from chains.models import Chain, Token
from config.doctor.finding import Finding, failed, fine, warning
from payments.sponsoring.overview import stuck_relays
from payments.sponsoring.terms import REQUESTS_SHARE, address_of, budget_of, is_configured, key_of

Client = Callable[[Chain], ChainClient]

# A reservation is about four times the usual fee of a transfer: it is the gas limit at twice the base fee.
_RESERVED = 4
_FUND = "Send it {symbol}: enough for two days of the budget (docs/sponsored-payments.md)."


def check(*, client: Client = get_client, now: Callable[[], datetime] = timezone.now) -> Iterator[Finding]:
    """Yield the findings of each chain that has a budget, or transactions that wait."""
    if not any(settings.SPONSOR_KEYS.values()) and not settings.SPONSOR_DAILY_BUDGET:
        yield fine("sponsoring", "off: customers pay the network fee themselves")
    else:
        yield from _of_settings()
    for chain in Chain.objects.order_by("name", "pk"):
        yield from _of_stuck(chain, now())
        if chain.is_active and is_configured(chain):
            yield from _of_account(chain, client)


def _of_settings() -> Iterator[Finding]:
    chains = {chain.pk: chain for chain in Chain.objects.filter(is_active=True)}
    for chain_id in settings.SPONSOR_DAILY_BUDGET:
        subject = f"budget of {chain_id}"
        chain = chains.get(chain_id)
        if chain is None:
            yield warning(subject, "has no active chain", "Correct the chain's id in SPONSOR_DAILY_BUDGET.")
        elif not chain.is_installed or chain.family.sponsoring is None:
            yield warning(subject, f"is for {chain.name}, which can't sponsor payments", "Remove it.")
        elif not key_of(chain):
            advice = f"Set SPONSOR_{chain.chain_type.upper()}_KEY, or remove the budget."
            yield warning(subject, f"is for {chain.name}, which has no sponsor key", advice)
    for family, key in settings.SPONSOR_KEYS.items():
        if key and not any(each.chain_type == family and is_configured(each) for each in chains.values()):
            summary = "has a key, but no budget for an active chain, so nothing is sponsored"
            yield warning(f"sponsor of {family}", summary, "Add chain:amount to SPONSOR_DAILY_BUDGET.")


def _of_account(chain: Chain, client: Client) -> Iterator[Finding]:
    subject = f"sponsor on {chain.name}"
    tokens = Token.objects.filter(chain=chain, is_active=True, authorization__isnull=False)
    if (token := tokens.first()) is None:
        summary = "has a budget, but no active token of the chain can be sponsored"
        yield warning(subject, summary, "Mark a token in the catalogue (docs/sponsored-payments.md).")
        return
    if not (address := _address(chain)):
        yield failed(subject, "its key is not valid", f"Correct SPONSOR_{chain.chain_type.upper()}_KEY.")
        return
    try:
        of_chain = client(chain)
        balance = of_chain.balances(address, [""]).get("", 0)
        fee = of_chain.usual_fee(token.contract_address)
    except ChainError as error:
        advice = "Check the chain's nodes with manage.py doctor --only nodes. Ordinary payments wait as well."
        yield failed(subject, f"its balance can't be read: {error}", advice)
        return
    budget = budget_of(chain)
    shown, daily = _coins(chain, balance), _coins(chain, budget)
    summary = f"{address} has {shown}, and spends {daily} a day at most"
    fund = _FUND.format(symbol=chain.native_symbol)
    if balance < fee * _RESERVED:
        yield failed(subject, f"{summary}: it can't pay for a transfer, so nothing is sponsored", fund)
    elif balance < budget:
        yield warning(subject, f"{summary}: the balance ends before the budget", fund)
    elif budget < fee * _RESERVED * REQUESTS_SHARE:
        needed = _coins(chain, fee * _RESERVED * REQUESTS_SHARE)
        advice = (
            f"Raise it to {needed} or more: a request gets at most a hundredth of what is left of the budget."
        )
        yield warning(subject, f"{summary}: the budget is too small at today's fees", advice)
    else:
        yield fine(subject, summary)


def _of_stuck(chain: Chain, now: datetime) -> Iterator[Finding]:
    relay = stuck_relays(chain, now).first()
    if relay is None:
        return
    minutes = int((now - relay.created_at).total_seconds() // 60)
    name = "a transaction" if relay.nonce is None else f"nonce {relay.nonce}"
    summary = f"{name} of {relay.account.address} is in no block after {minutes} minutes"
    if relay.account.address == _address(chain):
        advice = "Check the balance and the budget, and that workers run. Later transactions wait for it."
    else:
        advice = "Its key was replaced, so its fees can't be raised. Restore the key until it is mined."
    yield failed(f"relay on {chain.name}", f"{summary}: {relay}", advice)


def _address(chain: Chain) -> str:
    """Return the operator's address, or "" if there is no valid key."""
    try:
        return address_of(chain)
    except Exception:
        return ""


def _coins(chain: Chain, units: int) -> str:
    return f"{display_amount(units, chain.family.native_decimals)} {chain.native_symbol}"
