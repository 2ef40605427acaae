"""Count calls against a quota that all clients share. No client, merchant or payment request can use it up.

Each call counts for one or more owners, such as a client and a merchant. An owner may use only a share of the calls
that the other owners have not used, but at least one call. Example: the quota is 100 calls, and the others have made
40. With a share of one in 4, an owner may make 15 of the remaining 60. A call is rejected if the quota or a share of
one of its owners is used up.

Redis checks and counts a call in one atomic step, for all processes. Without Redis, each process counts alone.
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

# KEYS: one sorted set with the times of all calls, and one for each share. ARGV: the window in ms, the quota, an id of
# this call, and `one_in` of each share. Returns the exceeded limit ("quota", "share" or ""), and the ms to wait.
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
    """The part of a quota that one `owner` may use: one in `one_in` of the calls that other owners have not used."""

    owner: str
    one_in: int


@dataclass(frozen=True)
class Spent:
    """A rejected call, which is not counted."""

    retry_after: int
    """Seconds, at least 1."""
    is_share: bool
    """Whether an owner's share is used up. If False, the whole quota is used up."""


def spend(quota_name: str, shares: Sequence[Share], quota: RateLimitItem | None) -> Spent | None:
    """Count one call against the quota and its shares. Return None if the call is allowed.

    If there is no quota, every call is allowed. A call by the service itself has no shares, so only the quota limits
    it.
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
    """Return how many calls all processes made in the current window, or None if Redis does not respond."""
    return rate_limits.from_redis(lambda: _used_in_redis(quota_name, quota.get_expiry()))


def _used_in_redis(quota_name: str, window: int) -> int:
    redis = rate_limits.redis_client()
    seconds, microseconds = redis.time()
    now = seconds * 1000 + microseconds // 1000
    return int(redis.zcount(f"{_PREFIX}:{{{quota_name}}}", f"({now - window * 1000}", "+inf"))


def _in_redis(quota_name: str, shares: Sequence[Share], amount: int, window: int) -> tuple[str, float]:
    # The script needs all of its keys on the same node. A Redis Cluster ensures that for keys with the same text in
    # braces.
    quota_key = f"{_PREFIX}:{{{quota_name}}}"
    keys = [quota_key, *(f"{quota_key}:{share.owner}" for share in shares)]
    values = [window * 1000, amount, uuid.uuid4().hex, *(share.one_in for share in shares)]
    spent, wait = rate_limits.redis_client().register_script(_COUNT)(keys=keys, args=values)
    return spent.decode(), int(wait) / 1000


class Shares:
    """Counts calls in this process alone, as the Redis script does for all processes. Thread-safe.

    `clock` returns seconds.
    """

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
