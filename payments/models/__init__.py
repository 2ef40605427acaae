"""The payment models with their constraints and indexes."""

from payments.models.deposit import DepositAddress, WaitingArrival
from payments.models.discovery import DiscoveryCursor, MerchantCursor
from payments.models.link import PaymentLink, PaymentLinkChange
from payments.models.lookup import Lookup, delivery_of
from payments.models.payment import FailureCode, Payment
from payments.models.proof import PayerProof, TransferProof
from payments.models.quote import Quote
from payments.models.records import ConsumedTransfer, Transition
from payments.models.refund import Refund
from payments.models.request import PaymentRequest
from payments.models.route import Route
from payments.models.sponsoring import Authorization, GasAccount, Relay, live_authorization
from payments.models.statistics import (
    AcceptedRate,
    DailyFees,
    DailyFigures,
    DailyValue,
    DailyVolume,
    FiguresProgress,
    LateValue,
)
from payments.models.swap import Solver, Swap, swap_of

__all__ = [
    "AcceptedRate",
    "Authorization",
    "ConsumedTransfer",
    "DailyFees",
    "DailyFigures",
    "DailyValue",
    "DailyVolume",
    "DepositAddress",
    "DiscoveryCursor",
    "FailureCode",
    "FiguresProgress",
    "GasAccount",
    "LateValue",
    "Lookup",
    "MerchantCursor",
    "PayerProof",
    "Payment",
    "PaymentLink",
    "PaymentLinkChange",
    "PaymentRequest",
    "Quote",
    "Refund",
    "Relay",
    "Route",
    "Solver",
    "Swap",
    "TransferProof",
    "Transition",
    "WaitingArrival",
    "delivery_of",
    "live_authorization",
    "swap_of",
]
