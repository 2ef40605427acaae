"""The fixtures that the tests here share with others."""

from tests.support.portal.fixtures import (
    _quick_passwords,
    _unhashed_static_files,
    credited,
    failed,
    make,
    staff,
    token,
)
from tests.support.webhooks.fixtures import endpoint, receiver, record, secret

__all__ = [
    "_quick_passwords",
    "_unhashed_static_files",
    "credited",
    "endpoint",
    "failed",
    "make",
    "receiver",
    "record",
    "secret",
    "staff",
    "token",
]
