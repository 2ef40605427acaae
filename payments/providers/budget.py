"""What a routing provider may be asked: never more than its quota, and not while it is known to be down.

Quotas belong to the deployment, so quotes are counted in Redis, where all processes count together, and no client gets
more than a tenth of what the others have left. Whether a provider answers each process finds out for itself.
"""

import threading
import time
from collections.abc import Callable

from django.conf import settings

from config.api.limits.fair_shares import spend
from config.backoff import doubled
from payments.providers.base import ProviderDown, ShareSpent

FAILURES_IN_A_ROW = 3
FIRST_REST_SECONDS = 2.0
LONGEST_REST_SECONDS = 60.0


def spend_quote(provider: str, client: str = "") -> None:
    """Count one quote call to `provider` against ROUTING_QUOTE_LIMIT and against the share of it that `client` has.

    Raises ProviderDown where the quota is spent and ShareSpent where only this client's share is; such a call was not
    counted. Without Redis each process counts alone. An empty `client` has no share, only the quota.
    """
    spent = spend(f"routing-{provider}", client, settings.ROUTING_QUOTE_LIMITS.get(provider))
    if spent is None:
        return
    if spent.by_client:
        raise ShareSpent(
            f"this client has had its share of {provider}'s quota", retry_after=spent.retry_after
        )
    raise ProviderDown(f"{provider}'s quota of quotes is spent", retry_after=spent.retry_after)


class Circuit:
    """Spares callers the wait for what does not answer: after several failures in a row it rests, longer each time.

    When a rest ends, one caller tries while the others are still turned away. Safe to share between threads.
    """

    def __init__(self, name: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._rests_until = 0.0

    def enter(self) -> None:
        """Raise ProviderDown while it rests."""
        with self._lock:
            now = self._clock()
            if now < self._rests_until:
                left = self._rests_until - now
                raise ProviderDown(f"{self._name} rests after it failed", retry_after=left)
            if self._rests_until:
                self._rests_until = now + self._rest()

    def answered(self) -> None:
        """Note an answer, whatever it said."""
        with self._lock:
            self._failures = 0
            self._rests_until = 0.0

    def failed(self, *, left_alone: float | None = None) -> None:
        """Note that no usable answer came. `left_alone` is for how many seconds it asked not to be called."""
        with self._lock:
            self._failures += 1
            if left_alone is not None:
                self._rests_until = self._clock() + min(left_alone, LONGEST_REST_SECONDS)
            elif self._failures >= FAILURES_IN_A_ROW:
                self._rests_until = self._clock() + self._rest()

    def _rest(self) -> float:
        return doubled(FIRST_REST_SECONDS, LONGEST_REST_SECONDS, self._failures - FAILURES_IN_A_ROW)
