"""Payments whose transfer the payer signed. While the signature may be used, no failed transaction decides them."""

from chains.client import Transfer
from payments.evaluation.binding import Bound, BoundBy
from payments.evaluation.verdicts import NotFound, NotYet, Refused, SwapStarted, Verdict
from payments.models import Authorization

SENDING = "Signed; the transfer is being sent."


def being_sent(authorization: Authorization) -> NotYet:
    """Return the verdict on a payment whose transaction was not mined, or did not move the money.

    Another transaction can still move it. So the payment keeps its request open, as if a node had seen it.
    """
    token, payer, nonce = authorization.terms.key
    amount, recipient = authorization.amount, authorization.recipient
    if authorization.transaction is not None:
        signed = Transfer("signed", token, payer, recipient, amount)
        return NotYet(SENDING, bound=Bound((signed,), BoundBy.REFERENCE))
    signed = Transfer("signed", token, payer, recipient, amount, authorization=nonce)
    return NotYet(SENDING, bound=Bound((signed,), BoundBy.AUTHORIZATION))


def is_undecided(verdict: Verdict | SwapStarted) -> bool:
    """Whether the transaction did not use the authorization, because it is missing or did not pay."""
    return isinstance(verdict, Refused | NotFound) or (isinstance(verdict, NotYet) and verdict.bound is None)
