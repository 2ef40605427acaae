"""Keep calls to routing providers within their quotas. A circuit breaker stops the calls during outages.

A quota is for the whole deployment, so Redis counts the quotes of all processes. A payment request, a client
address and a merchant can each use only a share of it. Each process has its own circuit breakers.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence

from django.conf import settings

from config.api.limits.fair_shares import Share, spend, used
from config.backoff import doubled
from payments.providers.base import ProviderDown, ShareSpent

FAILURES_IN_A_ROW = 3
FIRST_COOLDOWN_SECONDS = 2.0
LONGEST_COOLDOWN_SECONDS = 60.0


def shares_of(request_id: object, address: str, merchant_id: object, *, is_bound: bool) -> tuple[Share, ...]:
    """Return the shares of the quota that a customer's quote uses: one each for the payment request, client address
    and merchant.

    A request without a bound payment uses one more share. All such requests together get half of the quota, because
    anyone can open them.
    """
    own = (
        Share(f"request-{request_id}", 10),
        Share(f"address-{address}", 5),
        Share(f"merchant-{merchant_id}", 2),
    )
    return own if is_bound else (*own, Share("unbound", 2))


def spend_quote(provider: str, shares: Sequence[Share] = ()) -> None:
    """Count one quote call against ROUTING_QUOTE_LIMIT and the shares.

    Without Redis, each process counts alone. If the quota is used up, raises ProviderDown; if only a share is, raises
    ShareSpent. A call that raises is not counted.
    """
    spent = spend(_quota_name(provider), shares, settings.ROUTING_QUOTE_LIMITS.get(provider))
    if spent is None:
        return
    if spent.is_share:
        raise ShareSpent(f"a share of {provider}'s quota is used up", retry_after=spent.retry_after)
    raise ProviderDown(f"{provider}'s quote quota is used up", retry_after=spent.retry_after)


def quote_quotas() -> Iterator[tuple[str, int, int | None]]:
    """Yield (provider, allowed calls, calls made) for each provider with a quota.

    Without Redis, the calls made are None.
    """
    for provider, quota in settings.ROUTING_QUOTE_LIMITS.items():
        if quota is not None:
            yield provider, quota.amount, used(_quota_name(provider), quota)


def _quota_name(provider: str) -> str:
    return f"routing-{provider}"


class Circuit:
    """After several failures in a row, a cooldown begins, in which all calls fail at once. Each further cooldown
    lasts twice as long.

    When a cooldown ends, one caller tries again, while all others still fail. Thread-safe.
    """

    def __init__(self, name: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._cooldown_until = 0.0

    def require_closed(self) -> None:
        """Raise ProviderDown during a cooldown. Changes nothing."""
        left = self._cooldown_until - self._clock()
        if left > 0:
            raise ProviderDown(f"{self._name} is in a cooldown after failures", retry_after=left)

    def enter(self) -> None:
        """Raise ProviderDown during a cooldown. After it, only this caller tries again."""
        with self._lock:
            self.require_closed()
            if self._cooldown_until:
                self._cooldown_until = self._clock() + self._cooldown()

    def answered(self) -> None:
        """Record that the provider responded, with any status."""
        with self._lock:
            self._failures = 0
            self._cooldown_until = 0.0

    def failed(self, *, retry_after: float | None = None) -> None:
        """Record a failure. `retry_after` is the pause that the provider requests, in seconds."""
        with self._lock:
            self._failures += 1
            if retry_after is not None:
                self._cooldown_until = self._clock() + min(retry_after, LONGEST_COOLDOWN_SECONDS)
            elif self._failures >= FAILURES_IN_A_ROW:
                self._cooldown_until = self._clock() + self._cooldown()

    def _cooldown(self) -> float:
        return doubled(FIRST_COOLDOWN_SECONDS, LONGEST_COOLDOWN_SECONDS, self._failures - FAILURES_IN_A_ROW)
