"""The page of a merchant with hundreds of keys is as fast as any: it shows ten keys at a time."""

import re

from django.test import Client

from merchants.models import ApiKey, Merchant


def keys_shown(client: Client, merchant: Merchant, **parameters: str) -> list[str]:
    page = client.get(f"/admin/merchants/merchant/{merchant.pk}/change/", parameters)
    assert page.status_code == 200
    return re.findall(r"quitt_[0-9a-f]{6}", page.content.decode())


def test_a_merchants_page_shows_ten_keys_at_a_time(admin_client: Client, merchant: Merchant) -> None:
    ApiKey.objects.bulk_create(
        ApiKey(merchant=merchant, prefix=f"quitt_{number:06x}", digest=number.to_bytes(32))
        for number in range(25)
    )
    pages = [set(keys_shown(admin_client, merchant, **{"api_keys-page": number})) for number in "123"]
    assert [len(shown) for shown in pages] == [10, 10, 5]
    assert len(set.union(*pages)) == 25
