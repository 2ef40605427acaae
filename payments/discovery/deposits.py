"""Find token transfers to deposit addresses in the logs of the tokens' contracts.

One search covers all addresses of a chain, with many addresses in each query. Each transaction found becomes a
payment, like a submitted one. Verification decides how much it pays.

Anyone can send tiny amounts very often. So a transfer waits if it is less than a thousandth of the request's
amount. A transfer also waits if the request already has 30 payments that were not submitted on the checkout
page. Transfers that wait are credited together (`payments.discovery.grouping`).
"""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, QuerySet

from chains.client import ChainClient, TransactionFacts
from chains.models import Chain
from payments.discovery.grouping import credited_for, wait
from payments.discovery.plan import Position
from payments.discovery.search_pass import searched_again
from payments.discovery.starts import start_of
from payments.models import DepositAddress, DiscoveryCursor, Payment, PaymentRequest
from payments.submission.hashes import record_discovered
from payments.verification.reopening import decided_or_open

MAX_FOUND_PAYMENTS = 30
SMALLEST_PART = 1000


_Found = dict[tuple[UUID, str], int]
"""The amount of each arrival, by the request's id and the transaction's hash."""


class Shown(NamedTuple):
    """A shown address. `token` and `amount` (in base units) are what the address's request is for."""

    request_id: UUID
    address: str
    token: str
    amount: int
    shown_at: datetime


def has_addresses(chain: Chain) -> bool:
    """Whether the chain has addresses that are searched in each block."""
    return DepositAddress.objects.filter(chain=chain, next_block__isnull=True).exists()


def search_for_deposits(chain: Chain, client: ChainClient, *, claim_id: UUID, now: datetime) -> int:
    """Search the chain up to its head, as far as time allows. Return how many payments were found.

    The cursor moves only while this worker holds the chain's lease. Raises ChainError.
    """
    if not client.search_limits().by_block or not has_addresses(chain):
        return 0
    cursor = DiscoveryCursor.objects.get(chain=chain)
    head = client.head()
    # Query the head first, then load the addresses. An address that is shown later can't have a transfer up
    # to this head.
    addresses = shown(DepositAddress.objects.filter(chain=chain, next_block__isnull=True))
    if not addresses:
        return 0
    oldest = min(each.shown_at for each in addresses)
    position = Position(cursor.deposits_next_block, cursor.deposits_searched_at)
    block_time = timedelta(milliseconds=max(chain.block_time_ms, 1))
    since = start_of(position, oldest, client, head=head, block_time=block_time, now=now)
    if since > head:
        return 0
    found, next_block = find(chain, client, addresses, since=since, until=head)
    stable_until = max(min(next_block, head + 1 - searched_again(chain)), cursor.deposits_next_block or 0)
    moved: dict[str, object] = {"deposits_next_block": stable_until}
    if next_block > head:
        moved["deposits_searched_at"] = now
    DiscoveryCursor.objects.filter(chain=chain, claim_id=claim_id).update(**moved)
    return found


def shown(addresses: QuerySet[DepositAddress]) -> list[Shown]:
    """Return the addresses whose request is for a token. For native coin, see `payments.discovery.coins`."""
    # Tuples, not models, since there may be very many rows.
    columns = ("request_id", "address", "request__token__contract_address", "request__amount", "shown_at")
    of_tokens = addresses.exclude(request__token__contract_address="")
    return [Shown(*row) for row in of_tokens.order_by("pk").values_list(*columns)]


def find(
    chain: Chain, client: ChainClient, addresses: Sequence[Shown], *, since: int, until: int
) -> tuple[int, int]:
    """Record payments to these addresses in the blocks from `since` to `until`.

    Return how many were found, and the block at which the next search begins. Raises ChainError.
    """
    arrivals = client.find_arrivals(
        {each.address: each.token for each in addresses}, since_block=since, until_block=until
    )
    by_address = {each.address: each for each in addresses}
    large: _Found = {}
    small: _Found = {}
    for recipient, hash_, amount in arrivals.found:
        at = by_address[recipient]
        (large if amount * SMALLEST_PART >= at.amount else small)[at.request_id, hash_] = amount
    return _record(chain, client, large, small), arrivals.next_block


def _record(chain: Chain, client: ChainClient, large: _Found, small: _Found) -> int:
    """Record the new transactions as payments, or let them wait. Return the number of payments."""
    if not large and not small:
        return 0
    hashes = sorted({hash_ for _, hash_ in (*large, *small)})
    existing = decided_or_open(chain, hashes) | credited_for(chain, hashes)
    counts = found_payments({request_id for request_id, _ in large})
    fresh = [match for match in large if match not in existing]
    new = [match for match in fresh if counts[match[0]] < MAX_FOUND_PAYMENTS]
    waiting = {match for match in (*small, *fresh) if match not in existing} - {*new}
    amounts = {**large, **small}
    if not new:
        wait(chain, {match: amounts[match] for match in waiting})
        return 0
    snapshot = client.look_up(sorted({hash_ for _, hash_ in new}), with_finality=False)
    rows = PaymentRequest.objects.select_related("token")
    requests = rows.in_bulk({request_id for request_id, _ in new})
    count = 0
    for request_id, hash_ in new:
        request = requests[request_id]
        is_payment = hash_ in snapshot.contradicted or pays(request, snapshot.transactions.get(hash_))
        if is_payment and counts[request_id] >= MAX_FOUND_PAYMENTS:
            waiting.add((request_id, hash_))
        elif is_payment:
            record_discovered(request, chain=chain, transaction_hash=hash_, found_by="its deposit address")
            counts[request_id] += 1
            count += 1
    wait(chain, {match: amounts[match] for match in waiting})
    return count


def pays(request: PaymentRequest, facts: TransactionFacts | None) -> bool:
    """Return True if the mined transaction sent some of the token to the request's deposit address.

    Return True also if a part of the transaction can't be read, since the transfer may be in that part.
    """
    if facts is None or facts.block is None:
        return False
    token, address = request.token.contract_address, request.deposit_address
    arrived = (t.amount for t in facts.transfers if t.recipient == address and t.token == token)
    return not facts.is_readable or (facts.succeeded and sum(arrived) > 0)


def found_payments(request_ids: Collection[UUID]) -> Counter[UUID]:
    """Return each request's number of payments that were not submitted on the checkout page."""
    payments = Payment.objects.filter(request__in=request_ids, submitted_publicly=False)
    rows = payments.order_by().values_list("request").annotate(Count("pk"))
    return Counter(dict(rows))
