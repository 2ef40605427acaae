"""Requests, payments and what became of them, to look at; and the two things that a person may do about them."""

from payments.admin.payments import ConsumedTransferAdmin, PaymentAdmin, TransitionAdmin
from payments.admin.requests import PaymentRequestAdmin

__all__ = ["ConsumedTransferAdmin", "PaymentAdmin", "PaymentRequestAdmin", "TransitionAdmin"]
