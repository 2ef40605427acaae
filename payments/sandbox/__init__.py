"""The sandbox of a staging deployment: simulate any outcome of a payment or refund at once, without a chain.

The sandbox invents the responses of nodes and routing providers. The verification engine evaluates and stores them like
real ones. So history, consumed transfers and events are the same as in production.

Simulated payments are marked in the database and never looked up on a chain. The hashes of simulated payments start
with 16 fixed bytes, so they can't equal the hash of a real transaction. An open simulated payment waits for the next
simulated outcome, and times out after 24 hours (`payments.sandbox.due`).

The table shows how some outcomes change the request, for each status of the request. 409 means
`payment_request_not_active`: nothing is written.

    outcome          active               expired             cancelled, unpaid   completed, or cancelled and paid
    paid             completed            completed, late     stays, but is paid  409
    underpaid        stays, partly paid   stays, partly paid  stays, partly paid  409
    overpaid         completed, overpaid  completed, late     stays, overpaid     stays, overpaid by more
    paid_late        expired, then late   completed, late     409                 409
    expired          expired              409                 409                 409
    reorged          as `paid`, and that payment is undone; in the last column, the newest simulated payment is
                     undone instead, or the call returns 409 if there is none
    restored         a `reorged` payment counts again; 409 if there is none
    refunded         as `paid` if an amount remains, and then the whole paid amount is refunded

`swap_completed` pays like `paid`. All other outcomes concern one payment or refund, and don't change the request.

`paid_late` first lets the price of the request expire. After that, payments don't complete the request: the merchant
must accept them. While an open payment holds the request, `expired` and `paid_late` return 409 `payment_in_progress`.
"""

from payments.sandbox.facts import HASH_PREFIX
from payments.sandbox.outcomes import Outcome
from payments.sandbox.service import simulate

__all__ = ["HASH_PREFIX", "Outcome", "simulate"]
