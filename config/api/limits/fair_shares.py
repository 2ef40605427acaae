"""Count calls against a quota that all clients share, so that no client, merchant or payment request uses it up.

A call is allowed while the window's quota and each of the call's shares have room. A share is a fraction of the quota
that other owners have left, but at least one call. One atomic step in Redis checks and counts all, for all processes.
Without Redis, each process counts alone.
"""

import math
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from limits import RateLimitItem

from config.api.limits import rate_limits

_PREFIX = "quittance-shares"

# KEYS: the times of all calls in the window, and of each share's calls. ARGV: the window in ms, the quota, a name for
# this call, and each share's divisor. Returns the exceeded limit, if any, and the ms until there is room again.
_COUNT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window, quota = tonumber(ARGV[1]), tonumber(ARGV[2])
for _, key in ipairs(KEYS) do redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window) end
local function wait(key) return redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] + window - now end
local used = redis.call('ZCARD', KEYS[1])
if used >= quota then return {'quota', wait(KEYS[1])} end
for place = 2, #KEYS do
  local own = redis.call('ZCARD', KEYS[place])
  local one_in = tonumber(ARGV[place + 2])
  if own >= math.max(1, math.floor((quota - used + own) / one_in)) then return {'share', wait(KEYS[place])} end
end
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, now, ARGV[3])
  redis.call('PEXPIRE', key, window)
end
return {'', 0}
"""


@dataclass(frozen=True)
class Share:
    """A part of a quota for the calls of one `owner`: one in `one_in` of the calls that the others have left."""

    owner: str
    one_in: int


@dataclass(frozen=True)
class Spent:
    """A call that was neither allowed nor counted. Retry after `retry_after` seconds, at least 1.

    `is_share`: a share is used up, not the quota.
    """

    retry_after: int
    is_share: bool


def spend(quota_name: str, shares: Sequence[Share], quota: RateLimitItem | None) -> Spent | None:
    """Count one call against the quota and its shares; return None if it is allowed. A quota of None allows all calls.

    The service's own calls have no shares: only the quota limits them.
    """
    if quota is None:
        return None
    found = rate_limits.from_redis(lambda: _in_redis(quota_name, shares, quota.amount, quota.get_expiry()))
    if found is None:
        found = _here.count(quota_name, shares, quota.amount, quota.get_expiry())
    spent, seconds = found
    if not spent:
        return None
    return Spent(min(math.floor(max(seconds, 0)) + 1, quota.get_expiry()), spent == "share")


def used(quota_name: str, quota: RateLimitItem) -> int | None:
    """Return how many calls of the current window all processes have counted, or None without Redis."""
    return rate_limits.from_redis(lambda: _used_in_redis(quota_name, quota.get_expiry()))


def _used_in_redis(quota_name: str, window: int) -> int:
    redis = rate_limits.redis_client()
    seconds, microseconds = redis.time()
    now = seconds * 1000 + microseconds // 1000
    return int(redis.zcount(f"{_PREFIX}:{{{quota_name}}}", f"({now - window * 1000}", "+inf"))


def _in_redis(quota_name: str, shares: Sequence[Share], amount: int, window: int) -> tuple[str, float]:
    # The braces keep all keys on one node of a cluster.
    quota_key = f"{_PREFIX}:{{{quota_name}}}"
    keys = [quota_key, *(f"{quota_key}:{share.owner}" for share in shares)]
    values = [window * 1000, amount, uuid.uuid4().hex, *(share.one_in for share in shares)]
    spent, wait = rate_limits.redis_client().register_script(_COUNT)(keys=keys, args=values)
    return spent.decode(), int(wait) / 1000


class Shares:
    """The same count in this process. Thread-safe; `clock` is in seconds."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: dict[str, deque[tuple[float, frozenset[str]]]] = {}

    def count(self, quota_name: str, shares: Sequence[Share], amount: int, window: int) -> tuple[str, float]:
        """Count one call. Returns the exceeded limit ("quota", "share" or ""), and the seconds until there is room."""
        with self._lock:
            now = self._clock()
            calls = self._calls.setdefault(quota_name, deque())
            while calls and calls[0][0] <= now - window:
                calls.popleft()
            if len(calls) >= amount:
                return "quota", calls[0][0] + window - now
            for share in shares:
                own = [at for at, owners in calls if share.owner in owners]
                if len(own) >= max(1, (amount - len(calls) + len(own)) // share.one_in):
                    return "share", own[0] + window - now
            calls.append((now, frozenset(share.owner for share in shares)))
            return "", 0.0


_here = Shares()
