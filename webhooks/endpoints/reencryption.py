"""Encrypt stored secrets again with the newest key, row by row, while the service runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import InvalidToken
from django.db import models, transaction

from merchants import encryption
from merchants.models import Authenticator
from webhooks.models import Endpoint


@dataclass
class Result:
    """The number of rows that were encrypted again, and of rows that none of the keys can decrypt."""

    rows: int = 0
    unreadable: int = 0


def reencrypt_secrets() -> Result:
    """Encrypt all webhook secrets and second factors with the newest key.

    Repeated runs are safe, also while the secrets are in use.
    """
    result = Result()
    _each(Endpoint, _endpoint, result)
    _each(Authenticator, _authenticator, result)
    return result


def _each(model: type[models.Model], change: Callable[[Any], list[str]], result: Result) -> None:
    for pk in model._default_manager.order_by("pk").values_list("pk", flat=True).iterator():
        with transaction.atomic():
            # Lock the row. Otherwise a concurrent rotation could be overwritten.
            row = model._default_manager.select_for_update().filter(pk=pk).first()
            if row is None:
                continue
            try:
                fields = change(row)
            except InvalidToken:
                result.unreadable += 1
                continue
            row.save(update_fields=fields)
            result.rows += 1


def _endpoint(row: Endpoint) -> list[str]:
    row.secret_encrypted = encryption.renew(row.secret_encrypted)
    if row.previous_secret_encrypted is not None:
        row.previous_secret_encrypted = encryption.renew(row.previous_secret_encrypted)
    row.older_secrets = [
        {**older, "secret": encryption.renew(older["secret"].encode("ascii")).decode("ascii")}
        for older in row.older_secrets
    ]
    return ["secret_encrypted", "previous_secret_encrypted", "older_secrets"]


def _authenticator(row: Authenticator) -> list[str]:
    row.key_encrypted = encryption.renew(row.key_encrypted)
    return ["key_encrypted"]
