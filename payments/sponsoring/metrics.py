"""Prometheus metrics of sponsored payments. The label `chain` is the chain's id. Amounts are in the chain's native
coin.
"""

from collections.abc import Iterator
from decimal import Decimal

from django.utils import timezone
from prometheus_client import Counter
from prometheus_client.core import GaugeMetricFamily, Metric

from chains.models import Chain
from payments.sponsoring.overview import overview

RELAYS = Counter(
    "quittance_sponsor_relays",
    "Transactions of gas accounts that were first sent, and those that ended as deep as the chain requires.",
    ("chain", "outcome"),
)
FEES = Counter("quittance_sponsor_fees", "Network fees of gas accounts, in the native coin.", ("chain",))


def count_sent(chain: Chain) -> None:
    RELAYS.labels(str(chain.pk), "sent").inc()


def count_ended(chain: Chain, *, succeeded: bool | None, fee: int | None) -> None:
    """Count a transaction that ended. `succeeded` is None if it can't be mined any more. `fee` is in base units."""
    outcome = {True: "succeeded", False: "failed", None: "dropped"}[succeeded]
    RELAYS.labels(str(chain.pk), outcome).inc()
    FEES.labels(str(chain.pk)).inc(_coins(chain, fee or 0))


def collect() -> Iterator[Metric]:
    """Yield the gauges of chains that sponsor payments or have transactions that wait. Queries no node."""
    now = timezone.now()
    balance = _gauge("quittance_sponsor_balance", "Balance of the sponsor's account at the last check.")
    age = _gauge("quittance_sponsor_balance_age_seconds", "Seconds since the balance was checked.")
    budget = _gauge("quittance_sponsor_budget", "Budget of the current day (UTC).")
    left = _gauge(
        "quittance_sponsor_budget_left", "Budget of the current day that is neither spent nor reserved."
    )
    waiting = _gauge(
        "quittance_sponsor_waiting", "Signed transfers: unsent, or sent but in no block.", "state"
    )
    oldest = _gauge(
        "quittance_sponsor_waiting_seconds", "Age of the oldest of them; 0 if none waits.", "state"
    )
    for row in overview(now):
        chain = str(row.chain.pk)
        if row.account is not None and row.account.balance is not None and row.account.looked_at:
            balance.add_metric([chain], _coins(row.chain, row.account.balance))
            age.add_metric([chain], (now - row.account.looked_at).total_seconds())
        if row.budget:
            budget.add_metric([chain], _coins(row.chain, row.budget))
            left.add_metric([chain], _coins(row.chain, row.left))
        for state, rows in (("unsent", row.unsent), ("unmined", row.unmined)):
            waiting.add_metric([chain, state], rows.number)
            oldest.add_metric([chain, state], rows.seconds(now))
    yield from (balance, age, budget, left, waiting, oldest)


def _gauge(name: str, documentation: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, documentation, labels=("chain", *labels))


def _coins(chain: Chain, units: int) -> float:
    """Return the amount in whole coins, for Prometheus only: a float is too inexact for further computation."""
    return float(Decimal(units).scaleb(-chain.family.native_decimals)) if chain.is_installed else 0.0
