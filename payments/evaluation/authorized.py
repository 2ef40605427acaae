"""Evaluate payments by a transfer that the payer signed. A failed transaction doesn't end the payment while the
signature can still be used.
"""

from chains.client import Transfer
from payments.evaluation.binding import Bound, BoundBy
from payments.evaluation.verdicts import NotFound, NotYet, Refused, SwapStarted, Verdict
from payments.models import Authorization

SENDING = "Signed; the transfer is being sent."


def being_sent(authorization: Authorization) -> NotYet:
    """Return the verdict for a transaction that was not mined or moved no money.

    Another transaction can still use the signature. So the request stays open, as if a node had seen a payment.
    """
    token, payer, nonce = authorization.terms.key
    amount, recipient = authorization.amount, authorization.recipient
    if authorization.transaction is not None:
        signed = Transfer("signed", token, payer, recipient, amount)
        return NotYet(SENDING, bound=Bound((signed,), BoundBy.REFERENCE))
    signed = Transfer("signed", token, payer, recipient, amount, authorization=nonce)
    return NotYet(SENDING, bound=Bound((signed,), BoundBy.AUTHORIZATION))


def is_undecided(verdict: Verdict | SwapStarted) -> bool:
    """Return True if the transaction did not use the signature: the transaction is missing, or it did not pay."""
    return isinstance(verdict, Refused | NotFound) or (isinstance(verdict, NotYet) and verdict.bound is None)
