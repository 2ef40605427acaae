"""The budget and the waiting transactions of each chain, for `/metrics`, `doctor` and the portal. Queries no node.

All amounts are in base units of the chain's coin.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Count, Min, Q, QuerySet

from chains.models import Chain
from payments.models import Authorization, GasAccount, Payment, Relay
from payments.sponsoring.budgets import spent_on
from payments.sponsoring.terms import address_of, budget_of, is_configured

STUCK_AFTER = timedelta(minutes=5)
"""A transaction of a gas account is stuck if no block has it after this time, though its fees were raised."""


@dataclass(frozen=True)
class Waiting:
    """The number of waiting rows, and the time since which the oldest one has waited."""

    number: int = 0
    since: datetime | None = None

    def seconds(self, now: datetime) -> float:
        return max((now - self.since).total_seconds(), 0.0) if self.since else 0.0


_NONE = Waiting()


@dataclass(frozen=True, kw_only=True)
class Sponsoring:
    """Sponsored payments on one chain.

    - `account` belongs to the current key. `account` is None without a key, or before the account's first
      check.
    - `budget` is for a day; `spent` is the part of it that is spent or reserved.
    - `unsent`: signatures whose transfer is not sent yet.
    - `unmined`: transactions of any account that are in no block.
    """

    chain: Chain
    account: GasAccount | None
    budget: int
    spent: int
    unsent: Waiting
    unmined: Waiting

    @property
    def left(self) -> int:
        return max(self.budget - self.spent, 0)

    @property
    def is_low(self) -> bool:
        """Whether the account's balance is less than the rest of the day's budget. False if the balance is unknown."""
        return (
            self.account is not None and self.account.balance is not None and self.account.balance < self.left
        )


def overview(now: datetime) -> list[Sponsoring]:
    """Return the chains that sponsor payments or have transactions that wait, by name."""
    unsent, unmined = _unsent(), _unmined()
    day = now.astimezone(UTC).date()
    rows = []
    for chain in Chain.objects.order_by("name", "pk"):
        is_on = chain.is_active and is_configured(chain)
        if is_on or chain.pk in unsent or chain.pk in unmined:
            rows.append(
                Sponsoring(
                    chain=chain,
                    account=GasAccount.objects.filter(chain=chain, address=address_of(chain)).first(),
                    budget=budget_of(chain) if is_on else 0,
                    spent=spent_on(chain, day),
                    unsent=unsent.get(chain.pk, _NONE),
                    unmined=unmined.get(chain.pk, _NONE),
                )
            )
    return rows


def unmined_relays() -> QuerySet[Relay]:
    """Return the gas accounts' transactions that were in no block at the last lookup.

    A transaction in a block that isn't deep enough has not ended, but is left out here.
    """
    payment = "authorization__payment"
    is_mined = Q(**{f"{payment}__status": Payment.Status.COMPLETED}) | Q(
        **{f"{payment}__status__in": Payment.OPEN, f"{payment}__lookup__block_number__isnull": False}
    )
    return Relay.objects.filter(ended_at__isnull=True).exclude(is_mined)


def stuck_relays(chain: Chain, now: datetime) -> QuerySet[Relay]:
    """Return this chain's stuck transactions, the oldest first. Later transactions wait for them."""
    rows = unmined_relays().filter(account__chain=chain, created_at__lt=now - STUCK_AFTER)
    return rows.select_related("account", "authorization").order_by("created_at", "pk")


def _unsent() -> dict[int, Waiting]:
    """Count the signed transfers without a stored transaction.

    Leave out those that others sent and that are in a block.
    """
    rows = Authorization.objects.filter(
        signed_at__isnull=False,
        ended_at__isnull=True,
        relays__isnull=True,
        payment__status__in=Payment.OPEN,
        payment__lookup__block_number__isnull=True,
    )
    return _waiting(rows.order_by().values_list("chain").annotate(Count("pk"), Min("signed_at")))


def _unmined() -> dict[int, Waiting]:
    rows = unmined_relays().order_by().values_list("account__chain")
    return _waiting(rows.annotate(Count("pk"), Min("created_at")))


def _waiting(rows: Iterable[tuple[int, int, datetime]]) -> dict[int, Waiting]:
    return {chain_id: Waiting(number, since) for chain_id, number, since in rows}
