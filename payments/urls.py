from django.urls import path

from payments.api.currencies import CurrencyViewSet
from payments.api.link_views import PaymentLinkViewSet
from payments.api.refund_views import RefundViewSet
from payments.api.sandbox_views import SandboxViewSet
from payments.api.views import PaymentRequestViewSet

requests = PaymentRequestViewSet
links = PaymentLinkViewSet
refunds = RefundViewSet

urlpatterns = [
    path("public/currencies", CurrencyViewSet.as_view({"get": "list"}), name="currencies"),
    path("payment-requests", requests.as_view({"get": "list", "post": "create"}), name="payment-requests"),
    path("payment-requests/<str:id>", requests.as_view({"get": "retrieve"}), name="payment-request"),
    path(
        "payment-requests/<str:id>/cancel",
        requests.as_view({"post": "cancel"}),
        name="cancel-payment-request",
    ),
    path(
        "payment-requests/<str:id>/payments",
        requests.as_view({"get": "payments", "post": "submit"}),
        name="payments",
    ),
    path(
        "payment-requests/<str:id>/payments/<str:payment_id>/retry",
        requests.as_view({"post": "retry"}),
        name="retry-payment",
    ),
    path(
        "payment-requests/<str:id>/payments/<str:payment_id>/accept",
        requests.as_view({"post": "accept"}),
        name="accept-payment",
    ),
    path(
        "payment-requests/<str:id>/refunds",
        refunds.as_view({"get": "of_request", "post": "create"}),
        name="request-refunds",
    ),
    path("payment-links", links.as_view({"get": "list", "post": "create"}), name="payment-links"),
    path(
        "payment-links/<str:id>", links.as_view({"get": "retrieve", "patch": "update"}), name="payment-link"
    ),
    path("refunds", refunds.as_view({"get": "list"}), name="refunds"),
    path("refunds/<str:id>", refunds.as_view({"get": "retrieve"}), name="refund"),
    path("refunds/<str:id>/address", refunds.as_view({"post": "change_address"}), name="refund-address"),
    path("refunds/<str:id>/submit", refunds.as_view({"post": "submit"}), name="submit-refund"),
    path("refunds/<str:id>/cancel", refunds.as_view({"post": "cancel"}), name="cancel-refund"),
    path(
        "test/payment-requests/<str:id>/simulate",
        SandboxViewSet.as_view({"post": "simulate"}),
        name="simulate",
    ),
]
