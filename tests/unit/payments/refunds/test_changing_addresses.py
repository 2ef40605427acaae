"""A refund's address can be changed until its transaction is built. Transfers to an old address are still found."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from chains.models import Token
from config.api.errors import ApiError, ErrorCode
from payments.models import PaymentRequest, Refund, Transition
from payments.refunds import services
from payments.requests.lifecycle import lock_request
from payments.sandbox import payments as sandbox_payments
from tests.conftest import Api
from tests.support.portal.payment_rows import SENDER
from tests.support.portal.refund_rows import OTHER, WHY, carrier_of, create, everything, fresh, pay, status

pytestmark = pytest.mark.django_db


def change(api: Api, refund: Refund, address: str = OTHER) -> Any:
    return api.post(f"/api/refunds/{refund.pk}/address", {"recipient_address": address})


def page_text(carrier: PaymentRequest) -> str:
    return re.sub(r"<[^>]+>", "", Client().get(f"/pay/{carrier.shortcode}").content.decode())


def rejected(answer: Any, code: str, before: tuple[Any, ...]) -> None:
    assert answer.status_code == {"address_invalid": 400}.get(code, 409), answer.content
    assert answer.json()["error"]["code"] == code
    assert everything() == before


def test_changed_address_keeps_the_refund_and_its_reservation(api: Api, paid: PaymentRequest) -> None:
    refund = create(paid)
    answer = change(api, refund)
    assert answer.status_code == 200, answer.content
    shown = answer.json()
    assert (shown["id"], shown["status"]) == (refund.pk, "ready")
    assert (shown["recipient_address"], shown["address_source"]) == (OTHER, "merchant")
    assert shown["refund_url"] != refund.refund_url
    assert services.refundable(fresh(refund).request).left == 0


def test_merchant_names_address_of_refund_without_one(api: Api, paid: PaymentRequest) -> None:
    refund = create(paid, recipient_address=None)
    shown = change(api, refund).json()
    assert (shown["status"], shown["address_source"]) == ("ready", "merchant")
    assert Refund.objects.count() == 1
    with pytest.raises(ApiError) as late:
        services.set_address(refund, SENDER, actor="checkout")
    assert late.value.problems[0].code == ErrorCode.REFUND_NOT_READY


def test_address_that_customer_named_is_changed_to_merchants(api: Api, paid: PaymentRequest) -> None:
    refund = create(paid, recipient_address=None)
    services.set_address(refund, SENDER, actor="checkout")
    shown = change(api, refund).json()
    assert (shown["recipient_address"], shown["address_source"]) == (OTHER, "merchant")


def test_same_address_again_changes_nothing(api: Api, paid: PaymentRequest) -> None:
    refund = create(paid)
    before = everything()
    assert change(api, refund, SENDER).status_code == 200
    assert everything() == before


def submit(api: Api, refund: Refund) -> None:
    api.post(f"/api/refunds/{refund.pk}/submit", {"transaction_hash": f"0x{1:064x}"})


def revert(refund: Refund) -> None:
    with transaction.atomic():
        sandbox_payments.fail(lock_request(carrier_of(refund).pk), WHY)


@pytest.mark.parametrize(
    ("act", "shown"),
    [
        (lambda api, refund: services.reserve_to_send(carrier_of(refund), actor=WHY), "ready"),
        (submit, "processing"),
        (lambda api, refund: revert(refund), "failed"),
        (lambda api, refund: pay(carrier_of(refund), 1), "ready"),
        (lambda api, refund: pay(carrier_of(refund), refund.amount), "completed"),
        (lambda api, refund: services.cancel_refund(refund, actor=WHY), "cancelled"),
    ],
    ids=["built", "processing", "failed", "partly sent", "completed", "cancelled"],
)
def test_refund_keeps_its_address_once_sent_or_ended(
    api: Api, paid: PaymentRequest, act: Callable[[Api, Refund], object], shown: str
) -> None:
    refund = create(paid)
    act(api, refund)
    assert status(refund) == shown
    rejected(change(api, refund), "refund_not_ready", everything())


def test_own_and_contract_addresses_are_rejected_everywhere(api: Api, paid: PaymentRequest) -> None:
    token = "0x" + "2" * 40
    router = "0x" + "3" * 40
    Token.objects.create(chain=paid.chain, symbol="DAI", name="Dai", decimals=18, contract_address=token)
    type(paid.chain).objects.filter(pk=paid.chain_id).update(routers={"lifi": [router]})
    refund, claimed = create(paid, amount=1), create(paid, amount=2, recipient_address=None)
    for address in (paid.recipient_address, paid.recipient_address.lower(), token, router):
        before = everything()
        rejected(change(api, refund, address), "address_invalid", before)
        created = api.post(f"/api/payment-requests/{paid.pk}/refunds", {"recipient_address": address})
        rejected(created, "address_invalid", before)
        page = Client().post(
            f"/refunds/{claimed.code}/address",
            f"wallet_address={address}",
            content_type="application/x-www-form-urlencoded",
        )
        assert page.status_code == 400
        assert "wallet-problem" in page.content.decode()
        assert everything() == before


def test_address_changes_after_the_carrier_was_cancelled_alone(api: Api, paid: PaymentRequest) -> None:
    refund = create(paid)
    old = carrier_of(refund)
    PaymentRequest.objects.filter(pk=old.pk).update(status="cancelled", cancelled_at=timezone.now())
    assert change(api, refund).status_code == 200
    new = carrier_of(refund)
    assert (new.pk != old.pk, new.status, new.recipient_address) == (True, "active", OTHER)
    assert Refund.objects.get(carrier=old).cancelled_at is not None


def test_old_page_and_reference_are_no_longer_payable(api: Api, paid: PaymentRequest) -> None:
    refund = create(paid)
    old = carrier_of(refund)
    change(api, refund)
    old.refresh_from_db()
    assert old.status == "cancelled"
    page = Client().get(f"/pay/{old.shortcode}")
    assert page.status_code == 200
    assert old.reference.hex() not in page.content.decode()
    routes = Api().post(
        f"/api/public/payment-requests/{old.pk}/routes",
        {"wallet_address": SENDER, "chain_id": old.chain_id, "token_id": old.token_id},
    )
    assert routes.json()["error"]["code"] == "payment_request_not_active"
    [noted] = Transition.objects.filter(request=old, to_status="cancelled")
    assert refund.pk in noted.reason


def test_transfer_to_old_address_counts_and_blocks_the_new_one(api: Api, paid: PaymentRequest) -> None:
    refund = create(paid)
    old = carrier_of(refund)
    change(api, refund)
    pay(old, old.amount)
    [kept] = Refund.objects.exclude(pk=refund.pk)
    assert (kept.recipient_address, status(kept)) == (SENDER, "completed")
    new = carrier_of(refund)
    with pytest.raises(ApiError) as twice:
        services.reserve_to_send(new, actor=WHY)
    assert twice.value.problems[0].code == ErrorCode.REFUND_TOO_LARGE
    assert "Refunds in USDC on Base are unavailable" in page_text(new)


@pytest.mark.parametrize("is_sent", [False, True])
def test_part_of_payment_is_not_refunded_to_both_addresses(
    api: Api, paid: PaymentRequest, is_sent: bool
) -> None:
    """The remaining amount is enough for both, but the customer is owed the amount once."""
    refund = create(paid, amount=4_000_000)
    old = carrier_of(refund)
    change(api, refund)
    with transaction.atomic():
        if is_sent:
            sandbox_payments.pay(lock_request(old.pk), 1_000_000, WHY)
        else:
            sandbox_payments.leave_processing(lock_request(old.pk), WHY)
    new = carrier_of(refund)
    with pytest.raises(ApiError) as twice:
        services.reserve_to_send(new, actor=WHY)
    assert twice.value.problems[0].code == ErrorCode.REFUND_TOO_LARGE
    assert fresh(refund).built_at is None
    assert not services.is_left(new)
    assert "Refunds in USDC on Base are unavailable" in page_text(new)


def test_moved_refund_is_sent_if_nothing_reached_the_old_one(api: Api, paid: PaymentRequest) -> None:
    refund = create(paid)
    change(api, refund)
    change(api, refund, SENDER)
    services.reserve_to_send(carrier_of(refund), actor=WHY)
    assert fresh(refund).built_at is not None


@pytest.mark.parametrize("change_of", ["address", "cancel"])
def test_transaction_found_during_a_change_wins(
    api: Api, paid: PaymentRequest, monkeypatch: pytest.MonkeyPatch, change_of: str
) -> None:
    """A refund's payment changes while only the refund's own request is locked. Address changes need that lock too."""
    refund = create(paid)
    before = everything()
    lock = services.lock_request

    def found_meanwhile(key: Any) -> PaymentRequest:
        if key == carrier_of(refund).pk:
            pay(carrier_of(refund), refund.amount)  # the rejected call rolls this back
        return lock(key)

    monkeypatch.setattr(services, "lock_request", found_meanwhile)
    answer = change(api, refund) if change_of == "address" else api.post(f"/api/refunds/{refund.pk}/cancel")
    code = "refund_not_ready" if change_of == "address" else "refund_not_cancellable"
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, code)
    assert everything() == before


def test_build_that_began_before_the_change_returns_nothing(
    paid: PaymentRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address changes after the old request was read, and before it is locked."""
    refund = create(paid)
    old = carrier_of(refund)
    unlocked = services.refund_of

    def changed_meanwhile(carrier: PaymentRequest) -> Refund:
        found = unlocked(carrier)
        services.change_address(found, OTHER, actor=WHY)
        return found

    monkeypatch.setattr(services, "refund_of", changed_meanwhile)
    with pytest.raises(ApiError) as late:
        services.reserve_to_send(old, actor=WHY)
    assert late.value.problems[0].code == ErrorCode.REFUND_NOT_READY
    assert fresh(refund).built_at is None


def test_number_of_changes_is_limited(paid: PaymentRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    refund = create(paid)
    monkeypatch.setattr(services, "_MAX_REFUNDS", 1)
    before = everything()
    with pytest.raises(ApiError) as full:
        services.change_address(refund, OTHER, actor=WHY)
    assert full.value.problems[0].code == ErrorCode.REFUND_TOO_LARGE
    assert everything() == before
