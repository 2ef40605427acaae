"""The database stores only a key's fingerprint and its first characters."""

import hashlib
import re

import pytest
from django.db import IntegrityError

from merchants.models import ApiKey, Merchant
from merchants.services import issue_key


def test_a_key_is_quitt_and_forty_hexadecimal_digits(merchant: Merchant) -> None:
    _, key = issue_key(merchant=merchant, permissions=[])
    assert re.fullmatch(r"quitt_[0-9a-f]{40}", key)


def test_only_key_digest_and_twelve_characters_are_stored(merchant: Merchant) -> None:
    row, key = issue_key(merchant=merchant, permissions=["create_payments"])
    row.refresh_from_db()
    assert bytes(row.digest) == hashlib.sha256(key.encode()).digest()
    assert row.prefix == key[:12]
    assert key not in str(ApiKey.objects.filter(pk=row.pk).values())


def test_no_two_keys_are_the_same(merchant: Merchant) -> None:
    keys = {issue_key(merchant=merchant, permissions=[])[1] for _ in range(50)}
    assert len(keys) == 50
    row = ApiKey.objects.first()
    assert row is not None
    with pytest.raises(IntegrityError):
        ApiKey.objects.create(merchant=merchant, prefix=row.prefix, digest=bytes(row.digest))


def test_an_unknown_permission_makes_no_key(merchant: Merchant) -> None:
    with pytest.raises(ValueError, match="print_money"):
        issue_key(merchant=merchant, permissions=["create_payments", "print_money"])
    assert ApiKey.objects.count() == 0
