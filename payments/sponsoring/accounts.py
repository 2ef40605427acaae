"""Check the balances of the gas accounts in a periodic task, and store them for `/metrics` and the portal.

The relayer stores a balance only while something waits. An account that runs dry offers no relay, so without this task
its balance would never change again.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime

from django.utils import timezone

from chains.client import ChainClient, ChainError
from chains.families import get_client
from chains.models import Chain
from payments.models import GasAccount
from payments.sponsoring.budgets import gas_account
from payments.sponsoring.terms import is_configured

logger = logging.getLogger(__name__)

Client = Callable[[Chain], ChainClient]

# A task's soft time limit is 45 s. A slower chain keeps its last balance.
TIMEOUT_SECONDS = 20.0
_THREADS = 8


def check_balances(*, client: Client = get_client, now: Callable[[], datetime] = timezone.now) -> int:
    """Store the balance of the gas account of each chain on which payments are sponsored; return how many were read.

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
            read += GasAccount.objects.filter(pk=account.pk).update(balance=balance, looked_at=now())
    return read


def _balance(chain: Chain, address: str, client: Client) -> int | None:
    try:
        return client(chain).balances(address, [""]).get("")
    except ChainError as error:
        logger.warning("the balance of the gas account on %s can't be read: %s", chain.name, error)
        return None
