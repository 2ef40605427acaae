"""Count calls against a quota that all clients share, so that one client can't use it up.

A call is allowed while the quota of the window has room, and while the client has made fewer calls than a tenth of
what the others have left of it (always one, or the end of a quota would be of use to no client). Both are checked and
counted in one step in Redis, for all processes together; a process that gets no answer from Redis counts alone.
"""

import math
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from limits import RateLimitItem

from config.api.limits import rate_limits

ONE_IN = 10
_PREFIX = "quittance-shares"

# KEYS: the times of all calls of the window, and of this client's. ARGV: the window in ms, the quota, a name for this
# call, and the share (one in how many). Returns what is spent, if anything, and in how many ms there is room again.
_COUNT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window, quota = tonumber(ARGV[1]), tonumber(ARGV[2])
for _, key in ipairs(KEYS) do redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window) end
local used, own = redis.call('ZCARD', KEYS[1]), redis.call('ZCARD', KEYS[2])
local function wait(key) return redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] + window - now end
if used >= quota then return {'quota', wait(KEYS[1])} end
if own >= math.max(1, math.floor((quota - used + own) / tonumber(ARGV[4]))) then return {'share', wait(KEYS[2])} end
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, now, ARGV[3])
  redis.call('PEXPIRE', key, window)
end
return {'', 0}
"""


@dataclass(frozen=True)
class Spent:
    """A call that was not allowed, and not counted: the next is worth trying after `retry_after` seconds, at least 1.

    `by_client` where only this client has had its share.
    """

    retry_after: int
    by_client: bool


def spend(quota_name: str, client: str, quota: RateLimitItem | None) -> Spent | None:
    """Count one call by `client` against the quota; return None if it is allowed. A quota of None allows everything.

    An empty `client` is the service itself, which has no share of its own: only the quota limits it.
    """
    if quota is None:
        return None
    found = rate_limits.from_redis(lambda: _in_redis(quota_name, client, quota.amount, quota.get_expiry()))
    if found is None:
        found = _here.count(quota_name, client, quota.amount, quota.get_expiry())
    what, seconds = found
    if not what:
        return None
    return Spent(min(math.floor(max(seconds, 0)) + 1, quota.get_expiry()), what == "share")


def _in_redis(quota_name: str, client: str, amount: int, window: int) -> tuple[str, float]:
    # The braces keep both keys on one node of a cluster.
    keys = [f"{_PREFIX}:{{{quota_name}}}", f"{_PREFIX}:{{{quota_name}}}:{client}"]
    count = rate_limits.redis_client().register_script(_COUNT)
    what, wait = count(keys=keys, args=[window * 1000, amount, uuid.uuid4().hex, _one_in(client)])
    return what.decode(), int(wait) / 1000


def _one_in(client: str) -> int:
    return ONE_IN if client else 1


class Shares:
    """The same count in this process. Safe to share between threads; `clock` is in seconds."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: dict[str, deque[tuple[float, str]]] = {}

    def count(self, quota_name: str, client: str, amount: int, window: int) -> tuple[str, float]:
        """Count one call. Returns what is spent ("", "quota" or "share"), and in how many seconds there is room."""
        with self._lock:
            now = self._clock()
            calls = self._calls.setdefault(quota_name, deque())
            while calls and calls[0][0] <= now - window:
                calls.popleft()
            own = [at for at, caller in calls if caller == client]
            if len(calls) >= amount:
                return "quota", calls[0][0] + window - now
            if len(own) >= max(1, (amount - len(calls) + len(own)) // _one_in(client)):
                return "share", own[0] + window - now
            calls.append((now, client))
            return "", 0.0


_here = Shares()
