"""The admin of requests, payments and their history."""

from payments.admin.creating.links import PaymentLinkAdmin
from payments.admin.deposits.pages import DepositAddressAdmin
from payments.admin.history import ConsumedTransferAdmin, TransitionAdmin
from payments.admin.payments import PaymentAdmin
from payments.admin.refunds import RefundAdmin
from payments.admin.requests import PaymentRequestAdmin
from payments.admin.webhooks import DeliveryOfPaymentAdmin, EventOfPaymentAdmin

__all__ = [
    "ConsumedTransferAdmin",
    "DeliveryOfPaymentAdmin",
    "DepositAddressAdmin",
    "EventOfPaymentAdmin",
    "PaymentAdmin",
    "PaymentLinkAdmin",
    "PaymentRequestAdmin",
    "RefundAdmin",
    "TransitionAdmin",
]
