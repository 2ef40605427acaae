"""Check the balances of the gas accounts, and store them for `/metrics` and the portal. A periodic task.

Workers that send transactions store the balance too, but only while a transaction waits. If an account has too little
coin, no sponsored route is offered, so no transaction waits. Without this task, the stored balance would then never
change again.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

from django.utils import timezone

from chains.client import ChainClient, ChainError
from chains.families import get_client
from chains.models import Chain
from payments.models import GasAccount
from payments.sponsoring.budgets import gas_account
from payments.sponsoring.terms import is_configured

logger = logging.getLogger(__name__)

Client = Callable[[Chain], ChainClient]

# The task's soft time limit is 45 s. If a chain is slower than this, its last balance stays.
TIMEOUT_SECONDS = 20.0
_THREADS = 8


def check_balances(*, client: Client = get_client) -> int:
    """Store the gas account's balance on each chain that sponsors payments. Return how many balances were read.

    Safe to run concurrently: the last write wins.
    """
    chains = [chain for chain in Chain.objects.filter(is_active=True) if is_configured(chain)]
    accounts = {chain: account for chain in chains if (account := gas_account(chain)) is not None}
    if not accounts:
        return 0
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="sponsor-balance")
    try:
        balances = {
            account: pool.submit(_balance, chain, account.address, client)
            for chain, account in accounts.items()
        }
        wait(balances.values(), timeout=TIMEOUT_SECONDS)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    read = 0
    for account, future in balances.items():
        balance = future.result() if future.done() and not future.cancelled() else None
        if balance is not None:
            read += GasAccount.objects.filter(pk=account.pk).update(balance=balance, looked_at=timezone.now())
    return read


def _balance(chain: Chain, address: str, client: Client) -> int | None:
    try:
        return client(chain).balances(address, [""]).get("")
    except ChainError as error:
        logger.warning("the balance of the gas account on %s can't be read: %s", chain.name, error)
        return None
