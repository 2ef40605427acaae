"""The page in every state, without scripts, and the public details that it shows."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django.utils.html import strip_tags

from chains.models import Chain
from merchants.models import Merchant
from payments.models import FailureCode, PaymentRequest
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.rows import new_payment
from tests.support.payments.world import ON_ITS_WAY, Clock, look, look_until_decided, pay, submit

Checkout = Callable[..., dict[str, Any]]
PRIVATE = "secret-order-77"


def page(public: Api, order: dict[str, Any]) -> Any:
    return public.get(f"/pay/{order['shortcode']}")


@pytest.mark.parametrize(
    ("change", "heading"),
    [
        ({}, "Pay with your wallet"),
        ({"amount_paid": 3_000_000}, "3.00 of 10.50 USDC received, 7.50 to go"),
        ({"status": "completed", "amount_paid": 10_500_000}, "Payment complete"),
        ({"status": "expired"}, "This payment has expired"),
        ({"status": "cancelled"}, "This payment was cancelled"),
    ],
)
def test_page_names_each_state_in_words(
    public: Api, checkout: Checkout, local_chain: LocalChain, change: dict[str, Any], heading: str
) -> None:
    order = checkout(description="Two loaves")
    PaymentRequest.objects.filter(pk=order["id"]).update(**change)
    response = page(public, order)
    assert response.status_code == 200
    text = response.content.decode()
    assert heading in strip_tags(text)
    for shown in ("USDC", "Local Chain", "Alice&#x27;s Bakery", "Two loaves", local_chain.recipient):
        assert shown in text


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({}, "Received by Far Chain"),
        ({"provider_status": "PENDING"}, "On its way to Local Chain"),
        ({"delivery_hash": "0x" + "56" * 32}, "Delivery on Local Chain"),
    ],
)
def test_page_shows_the_stages_of_a_swap(
    public: Api, checkout: Checkout, far_chain: Chain, change: dict[str, Any], shown: str
) -> None:
    order = checkout()
    _cross(order, far_chain, status="processing", **ON_ITS_WAY, **change)
    text = page(public, order).content.decode()
    assert "Your transaction on Far Chain" in text
    assert shown in text


def test_page_shows_a_refunded_swap(public: Api, checkout: Checkout, far_chain: Chain) -> None:
    order = checkout()
    _cross(
        order,
        far_chain,
        status="failed",
        failure_code=FailureCode.SWAP_REFUNDED,
        failure_message="It was sent back.",
        failed_at=timezone.now(),
    )
    text = page(public, order).content.decode()
    assert "This transaction didn’t pay this request" in text
    refunded = "couldn’t deliver your payment and has refunded it on Far Chain."
    assert f"<p>LI.FI {refunded}</p>" in text


def test_page_lists_the_active_networks(public: Api, checkout: Checkout, far_chain: Chain) -> None:
    Chain.objects.filter(pk=far_chain.pk).update(is_active=False)
    resting = page(public, order := checkout()).content.decode()
    Chain.objects.filter(pk=far_chain.pk).update(is_active=True)
    assert "Far Chain" not in resting
    assert "Far Chain" in page(public, order).content.decode()


@pytest.fixture
def far_chain(db: None) -> Chain:
    return Chain.objects.create(
        id=777, name="Far Chain", chain_type="evm", rpc_urls=["http://127.0.0.1:1"], native_symbol="FAR"
    )


def _cross(order: dict[str, Any], chain: Chain, **different: Any) -> None:
    """Store a payment from another chain. `different` is its progress."""
    new_payment(
        request_id=order["id"],
        chain=chain,
        transaction_hash="0x" + "34" * 32,
        type="swap",
        provider="lifi",
        **different,
    )


def test_policy_forbids_foreign_scripts_and_frames(public: Api, checkout: Checkout) -> None:
    response = page(public, checkout())
    policy = dict(part.split(" ", 1) for part in response["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["object-src"] == policy["frame-ancestors"] == "'none'"
    nonce = policy["script-src"].removeprefix("'self' ")
    assert nonce.startswith("'nonce-")
    assert "unsafe" not in response["Content-Security-Policy"]
    text = response.content.decode()
    assert text.count(f'nonce="{nonce[7:-1]}"') == 5
    assert 'style="' not in text
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"


def test_hostile_text_is_escaped_on_the_page(public: Api, checkout: Checkout, merchant: Merchant) -> None:
    attack = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    Merchant.objects.filter(pk=merchant.pk).update(display_name=attack)
    text = page(public, checkout(description=attack)).content.decode()
    assert "<script>alert" not in text
    assert "<img src=x" not in text


def test_private_fields_are_on_no_public_page(
    public: Api, checkout: Checkout, local_chain: LocalChain
) -> None:
    order = checkout(external_id=PRIVATE, metadata={"note": PRIVATE})
    request = PaymentRequest.objects.get(pk=order["id"])
    look_until_decided(submit(request, pay(local_chain, request)), Clock())
    details = public.get(f"/api/public/payment-requests/{order['id']}")
    for response in (details, page(public, order)):
        assert PRIVATE not in response.content.decode()
    assert "from_address" not in details.json()["payments"][0]


def test_unchanged_details_are_a_304(public: Api, checkout: Checkout, local_chain: LocalChain) -> None:
    order = checkout()
    path = f"/api/public/payment-requests/{order['shortcode']}"
    first = public.get(path)
    assert public.get(path, **{"If-None-Match": first["ETag"]}).status_code == 304
    request = PaymentRequest.objects.get(pk=order["id"])
    submit(request, pay(local_chain, request))
    changed = public.get(path, **{"If-None-Match": first["ETag"]})
    assert (changed.status_code, changed.json()["payments"][0]["status"]) == (200, "pending")
    look(Clock())
    assert public.get(path, **{"If-None-Match": changed["ETag"]}).json()["status"] == "completed"


def test_redirect_url_is_hidden_until_paid(public: Api, checkout: Checkout) -> None:
    order = checkout(redirect_url="https://shop.example/ok", cancel_url="https://shop.example/no#top")
    details = public.get(f"/api/public/payment-requests/{order['id']}").json()
    assert details["redirect_url"] is None
    assert details["cancel_url"] == (
        f"https://shop.example/no?payment_request_id={order['id']}&status=active#top"
    )
    assert "shop.example/ok" not in page(public, order).content.decode()


def test_poll_in_ms_depends_on_the_state(public: Api, checkout: Checkout) -> None:
    order = checkout()
    path = f"/api/public/payment-requests/{order['id']}"
    waiting = public.get(path).json()["poll_in_ms"]
    request = PaymentRequest.objects.get(pk=order["id"])
    submit(request, "0x" + "12" * 32)
    verifying = public.get(path).json()["poll_in_ms"]
    past = timezone.now() - timedelta(days=1)
    PaymentRequest.objects.filter(pk=order["id"]).update(status="cancelled", expires_at=past)
    request.payments.update(status="failed")
    final = public.get(path).json()
    assert verifying < waiting < final["poll_in_ms"]
    assert final["is_final"] is True


def test_payment_of_a_cancelled_request_is_shown(public: Api, checkout: Checkout) -> None:
    order = checkout()
    PaymentRequest.objects.filter(pk=order["id"]).update(status="cancelled", amount_paid=10_500_000)
    text = strip_tags(page(public, order).content.decode())
    assert "10.50 of 10.50 USDC still arrived" in text


def test_unknown_hash_is_shown_as_not_found(public: Api, checkout: Checkout) -> None:
    order = checkout()
    request = PaymentRequest.objects.get(pk=order["id"])
    submit(request, "0x" + "ef" * 32)
    look(Clock())
    text = page(public, order).content.decode()
    assert "We can’t find this transaction yet" in text
    assert 'data-state="active"' in text
    assert "Send it yourself" in text
