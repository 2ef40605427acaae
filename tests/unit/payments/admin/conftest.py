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

__all__ = [
    "_quick_passwords",
    "_unhashed_static_files",
    "credited",
    "failed",
    "make",
    "staff",
    "token",
]
