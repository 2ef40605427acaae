"""Sponsored payments on the dashboard: the operator's gas accounts, and the fees that they paid for customers.

Amounts are in each chain's native coin. Each amount is decimal text, never a float.
"""

from datetime import datetime
from typing import Any

from chains.amounts import short_text
from chains.models import Chain
from config.admin.cells import ago, clipped, outside
from merchants.models import Merchant
from payments.admin.records import exact_amount
from payments.models import Relay
from payments.sponsoring.overview import Sponsoring, Waiting, overview, stuck_relays
from payments.stats import queries
from payments.stats.queries import ChainFees, Period

MAX_STUCK = 5
# A budget counts as used up if less than a tenth is left. A request may use at most a hundredth of what is
# left.
_NEARLY_USED = 10
_STUCK, _LOW, _USED, _FINE, _OFF = "stuck", "low balance", "budget used", "working", "off"
# Worst first.
_COLOURS = {_STUCK: "danger", _LOW: "warning", _USED: "warning", _OFF: "", _FINE: "success"}


def fee_cards(merchant: Merchant | None, period: Period) -> list[dict[str, str]]:
    """Return the network fees of sponsored payments in the period, one card for each chain."""
    return [_fee_card(fees) for fees in queries.fees(merchant, period) if fees.chain.is_installed]


def sponsors(now: datetime) -> list[dict[str, Any]]:
    """Return each chain's account, budget and stuck transactions, the worst first."""
    cards = [_sponsor(row, now) for row in overview(now) if row.chain.is_installed]
    return sorted(cards, key=lambda card: list(_COLOURS).index(card["state"]))


def count_troubled(cards: list[dict[str, Any]]) -> int:
    return sum(card["state"] in (_STUCK, _LOW, _USED) for card in cards)


def _fee_card(fees: ChainFees) -> dict[str, str]:
    return {
        "chain": fees.chain.name,
        "symbol": fees.chain.native_symbol,
        "saved": _short(fees.chain, fees.saved),
        "saved_exactly": _exact(fees.chain, fees.saved),
        "spent": _short(fees.chain, fees.spent),
        "spent_exactly": _exact(fees.chain, fees.spent),
        "payments": f"{fees.payments:,} payment" + "s" * (fees.payments != 1),
    }


def _sponsor(row: Sponsoring, now: datetime) -> dict[str, Any]:
    chain, account = row.chain, row.account
    stuck = stuck_relays(chain, now)
    number = stuck.count()
    state = _state(row, is_stuck=number > 0)
    known = account is not None and account.balance is not None
    return {
        "name": chain.name,
        "state": state,
        "colour": _COLOURS[state],
        "address": clipped(account.address, outside(chain.explorer_url, f"address/{account.address}"))
        if account
        else "",
        "balance": _short(chain, account.balance or 0) if account and known else "",
        "balance_exactly": _exact(chain, account.balance or 0) if account and known else "",
        "looked_at": account.looked_at if account else None,
        "left": _short(chain, row.left) if row.budget else "",
        "budget": _short(chain, row.budget) if row.budget else "",
        "waiting": _waiting(row.unsent, row.unmined),
        "stuck": [_stuck(relay, chain, now) for relay in stuck[:MAX_STUCK]],
        "more_stuck": max(number - MAX_STUCK, 0),
    }


def _state(row: Sponsoring, *, is_stuck: bool) -> str:
    if is_stuck:
        return _STUCK
    if not row.budget:
        return _OFF
    if row.is_low:
        return _LOW
    return _USED if row.left * _NEARLY_USED < row.budget else _FINE


def _waiting(unsent: Waiting, unmined: Waiting) -> str:
    parts = [(unsent.number, "to be sent"), (unmined.number, "to be mined")]
    return ", ".join(f"{number:,} {what}" for number, what in parts if number)


def _stuck(relay: Relay, chain: Chain, now: datetime) -> dict[str, Any]:
    return {
        "nonce": relay.nonce,
        "hash": clipped(relay.hashes[-1], outside(chain.explorer_url, f"tx/{relay.hashes[-1]}")),
        "since": ago(relay.created_at, now),
        "attempts": len(relay.hashes),
    }


def _short(chain: Chain, units: int) -> str:
    return f"{short_text(units, chain.family.native_decimals)} {chain.native_symbol}"


def _exact(chain: Chain, units: int) -> str:
    return f"{exact_amount(units, chain.family.native_decimals)} {chain.native_symbol}"
