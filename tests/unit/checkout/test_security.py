"""Only origins that the merchant registered can show the checkout in a frame."""

from collections.abc import Callable
from typing import Any

import pytest
from limits import parse

from merchants.models import Merchant
from payments.models import PaymentRequest
from tests.conftest import Api

Create = Callable[..., dict[str, Any]]
SHOP = "https://shop.example.com"


def framers(answer: Any) -> tuple[str, str | None]:
    """Return the `frame-ancestors` of the policy, and the older header X-Frame-Options."""
    policy = dict(part.split(" ", 1) for part in answer["Content-Security-Policy"].split("; "))
    return policy["frame-ancestors"], answer.headers.get("X-Frame-Options")


@pytest.fixture
def path(api: Api, order: Create) -> str:
    return f"/pay/{api.post('/api/payment-requests', order()).json()['shortcode']}"


def test_without_registered_origins_nobody_may(public: Api, path: str) -> None:
    assert framers(public.get(path)) == ("'none'", "DENY")
    assert "embed-origins" not in public.get(path).content.decode()


def test_exactly_the_registered_origins_may(public: Api, path: str, merchant: Merchant) -> None:
    origins = [SHOP, "https://xn--bcher-kva.example:8443"]
    Merchant.objects.filter(pk=merchant.pk).update(embed_origins=origins)
    answer = public.get(path)
    assert framers(answer) == (" ".join(origins), None)
    assert f'id="embed-origins" data-value="{" ".join(origins)}"' in answer.content.decode()


@pytest.mark.parametrize("status", ["completed", "expired", "cancelled"])
def test_so_it_is_in_every_state(public: Api, path: str, merchant: Merchant, status: str) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(embed_origins=[SHOP])
    PaymentRequest.objects.update(status=status, amount_paid=10_500_000 if status == "completed" else 0)
    assert framers(public.get(path)) == (SHOP, None)


def test_another_merchants_origins_count_for_nothing(
    public: Api, path: str, other_merchant: Merchant
) -> None:
    Merchant.objects.filter(pk=other_merchant.pk).update(embed_origins=[SHOP])
    assert framers(public.get(path)) == ("'none'", "DENY")


@pytest.mark.parametrize("path", ["/pay/nonesuch2345", "/"])
def test_no_other_page_may_be_framed(public: Api, path: str, merchant: Merchant) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(embed_origins=[SHOP])
    assert framers(public.get(path)) == ("'none'", "DENY")


def test_a_page_that_is_asked_for_too_often_may_not_be_framed(
    public: Api, path: str, merchant: Merchant, settings: Any
) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(embed_origins=[SHOP])
    settings.RATE_LIMIT_PUBLIC = parse("1/hour")
    public.get(path)
    answer = public.get(path)
    assert answer.status_code == 429
    assert framers(answer) == ("'none'", "DENY")


@pytest.mark.parametrize(
    "origin",
    ["*", "https:", "'self'", "https://good.example; script-src *", "https://*.example", "", "data:"],
)
def test_what_is_no_origin_never_reaches_the_policy(
    public: Api, path: str, merchant: Merchant, origin: str
) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(embed_origins=[origin])
    assert framers(public.get(path)) == ("'none'", "DENY")


def test_the_page_needs_no_cookie(public: Api, path: str, merchant: Merchant) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(embed_origins=[SHOP])
    assert not public.get(path).cookies
