from django.apps import AppConfig


class ChainsConfig(AppConfig):
    """The catalogue of chains and tokens, and the clients that query the chains."""

    name = "chains"

    def ready(self) -> None:
        """Load the chain families, so that a process with an invalid one fails to start."""
        from chains.families import families

        families()
