"""`manage.py reencrypt_secrets`: encrypt stored secrets with the newest key of ENCRYPTION_KEYS."""

from typing import Any

from django.core.management.base import BaseCommand

from webhooks.endpoints.reencryption import reencrypt_secrets


class Command(BaseCommand):
    """Encrypts webhook secrets and second factors again, so that older keys can be removed."""

    help = (
        "Encrypt stored secrets under the newest key of ENCRYPTION_KEYS, so that older keys can be removed."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        result = reencrypt_secrets()
        self.stdout.write(f"{result.rows} rows are encrypted under the newest key.")
        if result.unreadable:
            self.stderr.write(
                f"{result.unreadable} rows can't be decrypted by any key of ENCRYPTION_KEYS. Add the missing "
                "key, or rotate those webhook secrets and reset those second factors."
            )
            raise SystemExit(1)
