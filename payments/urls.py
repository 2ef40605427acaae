from django.urls import path

from payments.api.sandbox_views import SandboxViewSet
from payments.api.views import PaymentRequestViewSet

requests = PaymentRequestViewSet

urlpatterns = [
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
        "test/payment-requests/<str:id>/simulate",
        SandboxViewSet.as_view({"post": "simulate"}),
        name="simulate",
    ),
]
