from django.apps import AppConfig


class CheckoutConfig(AppConfig):
    """The hosted checkout: its page, its widget and the public endpoints that the widget calls."""

    name = "checkout"
