"""Payments whose transfer the payer signed: no transaction decides them while the signature may still be used."""

from chains.client import Transfer
from payments.evaluation.binding import Bound, BoundBy
from payments.evaluation.verdicts import NotFound, NotYet, Refused, SwapStarted, Verdict
from payments.models import Authorization

SENDING = "Signed; the transfer is being sent."


def being_sent(authorization: Authorization) -> NotYet:
    """Return the verdict on a payment whose transaction was not mined, or did not move the money.

    Another transaction can, so the payment holds its request like one that a node has seen.
    """
    token, payer, nonce = authorization.terms.key
    amount, recipient = authorization.amount, authorization.recipient
    signed = Transfer("signed", token, payer, recipient, amount, authorization=nonce)
    return NotYet(SENDING, bound=Bound((signed,), BoundBy.AUTHORIZATION))


def is_undecided(verdict: Verdict | SwapStarted) -> bool:
    """Whether the transaction shows no use of the authorization: it is missing, or did not pay."""
    return isinstance(verdict, Refused | NotFound) or (isinstance(verdict, NotYet) and verdict.bound is None)
