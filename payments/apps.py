from django.apps import AppConfig


class PaymentsConfig(AppConfig):
    """Payment requests, the payments made for them, and the judging of both."""

    name = "payments"

    def ready(self) -> None:
        """Stop the start where the routing providers' settings are wrong."""
        from payments.routing.providers import check_settings

        check_settings()
