from django.apps import AppConfig


class ChainsConfig(AppConfig):
    """The catalogue of chains and tokens, and the clients that ask the chains."""

    name = "chains"
