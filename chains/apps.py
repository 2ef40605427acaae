from django.apps import AppConfig


class ChainsConfig(AppConfig):
    """The catalogue of chains and tokens, and the clients that ask the chains."""

    name = "chains"

    def ready(self) -> None:
        """Find the families now, so that a process with an unsound one never starts."""
        from chains.families import families

        families()
