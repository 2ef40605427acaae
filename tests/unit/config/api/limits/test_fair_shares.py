"""A quota that all clients share is counted in one step, for all processes."""

import random

import pytest
from limits import parse

from config.api.limits.fair_shares import Share, Shares, Spent, spend
from tests.threads import at_once

ATTACKER = (Share("address-2001:db8:1:2::/64", 10),)


@pytest.mark.usefixtures("patient")
def test_concurrent_quotes_stay_within_share_and_quota() -> None:
    """The quota is checked and counted in one step. Otherwise, another process could use it in between."""
    quota = parse("50/hour")
    alone = at_once([lambda: spend("alone", ATTACKER, quota)] * 200)
    assert alone.count(None) == 5
    assert all(isinstance(refused, Spent) and refused.is_share for refused in alone if refused is not None)
    many = at_once([lambda n=n: spend("many", (Share(f"10.0.0.{n}", 10),), quota) for n in range(200)])
    assert many.count(None) == 50


@pytest.mark.usefixtures("patient")
def test_redis_and_a_process_alone_count_alike() -> None:
    chance = random.Random(11)
    here = Shares()
    for _ in range(400):
        owner = chance.choice(["a", "a", "a", "b", "c", "d", "", *map(str, range(40))])
        shares = (Share(owner, 10), Share("all", 2)) if owner else ()
        quota = parse("60/hour")
        spent = spend("compared", shares, quota)
        what, _seconds = here.count("compared", shares, 60, 3600)
        assert what == ("" if spent is None else "share" if spent.is_share else "quota")
