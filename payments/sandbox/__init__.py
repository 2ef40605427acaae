"""The sandbox of a staging deployment: simulate any outcome of a payment or refund immediately, without a chain.

The sandbox invents what a node or a routing provider would return. The verification engine evaluates and stores it like
a real response, so that history, consumed transfers and events are the same as in production.

Simulated payments are marked in the database and never looked up on a chain. Their hashes start with 16 fixed bytes, so
that they can't collide with the hash of a real transaction. An open simulated payment waits for the next simulated
outcome, and times out after 24 hours (`payments.sandbox.due`).

The effect of the oldest outcomes in each state of the request (409 is `payment_request_not_active`; nothing is written
then):

    outcome          active               expired             cancelled, unpaid   completed, or cancelled and paid
    paid             completed            completed, late     stays, but is paid  409
    underpaid        stays, partly paid   stays, partly paid  stays, partly paid  409
    overpaid         completed, overpaid  completed, late     stays, overpaid     stays, overpaid by more
    paid_late        expired, then late   completed, late     409                 409
    expired          expired              409                 409                 409
    reorged          as `paid`, and that payment is undone in the first three states; in the last one the newest
                     simulated payment is undone, and the call returns 409 if there is none
    restored         a `reorged` payment counts again; 409 if there is none
    refunded         as `paid` if an amount remains, and then the whole paid amount is refunded

All other outcomes concern one payment or refund and leave the request as it is, in every state; `swap_completed` pays
like `paid`. If the price of a request has expired, the request stays expired, whatever is paid, until the merchant
accepts the payment; `paid_late` lets the price expire first. If an open payment holds the request, `expired` and
`paid_late` return 409 `payment_in_progress`.
"""

from payments.sandbox.availability import is_open
from payments.sandbox.facts import HASH_PREFIX
from payments.sandbox.outcomes import Outcome
from payments.sandbox.service import simulate

__all__ = ["HASH_PREFIX", "Outcome", "is_open", "simulate"]
