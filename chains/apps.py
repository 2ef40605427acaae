from django.apps import AppConfig


class ChainsConfig(AppConfig):
    name = "chains"

    def ready(self) -> None:
        # A process with an invalid chain family must fail to start.
        from chains.families import families

        families()
