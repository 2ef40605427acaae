from django.apps import AppConfig


class MerchantsConfig(AppConfig):
    """Who may use the service: merchants and their API keys."""

    name = "merchants"
