from django.apps import AppConfig


class PaymentsConfig(AppConfig):
    """Payment requests, the payments made for them, and the judging of both."""

    name = "payments"
