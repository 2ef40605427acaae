"""The portal creates and cancels refunds with the API's services and rules. The merchant's wallet signs them."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from chains.models import Switch
from config.admin.actions import action_url
from config.admin.cells import ends
from config.admin.portal import change_url
from merchants.models import ApiKey
from payments.admin.requests import PaymentRequestAdmin
from payments.attention import Matter, count_payments
from payments.models import Payment, PaymentRequest, Refund
from tests.conftest import Api
from tests.support.portal.payment_rows import HASH, RECIPIENT, SENDER, Make, asked, fail, page_of, press
from tests.support.portal.refund_rows import carrier_of, create, everything, pay

CUSTOMER = SENDER


def refund_by_hand(client: Client, request: PaymentRequest, **answer: str) -> str:
    return press(client, action_url(request, "refund"), **answer)


def test_a_part_goes_back_to_a_wallet_that_the_merchant_names(
    admin_client: Client, paid: PaymentRequest
) -> None:
    assert "Up to 10.50 USDC" in admin_client.get(action_url(paid, "refund")).content.decode()
    said = refund_by_hand(admin_client, paid, amount="2.5", recipient_address=CUSTOMER, reason="torn")
    refund = Refund.objects.get()
    assert (refund.amount, refund.recipient_address, refund.reason) == (2_500_000, CUSTOMER, "torn")
    assert "The refund of 2.50 USDC is created." in said
    assert change_url(refund) in said
    assert [entry.get_change_message() for entry in LogEntry.objects.all()] == [
        f"Refund {refund.pk} of 2.50 USDC created."
    ]
    timeline = page_of(admin_client, "payments/paymentrequest", paid.pk)
    assert f"Refund {ends(refund.pk)} of 2.50 USDC created." in timeline
    page = page_of(admin_client, "payments/refund", refund.pk)
    assert f'href="{refund.refund_url}"' in page
    assert "Sign it with your wallet" in page
    assert "Show refunds" in page_of(admin_client, "payments/paymentrequest", paid.pk)


def test_full_refund_waits_for_the_customers_address(admin_client: Client, paid: PaymentRequest) -> None:
    refund_by_hand(admin_client, paid, amount="0.5", recipient_address=CUSTOMER)
    assert "Send the customer its link." in refund_by_hand(admin_client, paid)
    refund = Refund.objects.latest("created_at")
    assert (refund.amount, refund.recipient_address) == (10_000_000, "")
    page = page_of(admin_client, "payments/refund", refund.pk)
    assert "Send the customer the link." in page
    copy_button = f'data-copy-text="{refund.claim_url}"'
    assert copy_button in page
    assert copy_button in page_of(admin_client, "payments/paymentrequest", paid.pk)
    assert action_url(paid, "refund") not in page_of(admin_client, "payments/paymentrequest", paid.pk)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"amount": "10.51"}, "At most 10.5"),
        ({"amount": "0"}, "more than zero"),
        ({"amount": "0.0000001"}, "decimal"),
        ({"recipient_address": "0x" + "1" * 40}, "contract"),
    ],
)
def test_rejection_of_the_api_is_shown_with_its_message(
    admin_client: Client, paid: PaymentRequest, answer: dict[str, str], said: str
) -> None:
    assert said in refund_by_hand(admin_client, paid, **answer)
    assert not Refund.objects.exists()
    assert not LogEntry.objects.exists()


def test_each_wrong_field_is_named_and_keeps_what_was_entered(
    admin_client: Client, paid: PaymentRequest
) -> None:
    entered = {"amount": "much", "recipient_address": "0x12", "reason": "torn"}
    form = {**asked(admin_client, action_url(paid, "refund")), **entered}
    page = admin_client.post(action_url(paid, "refund"), form)
    assert page.status_code == 200
    assert set(page.context["form"].errors) == {"amount", "recipient_address"}
    for text in entered.values():
        assert f'value="{text}"' in page.content.decode()
    assert not Refund.objects.exists()
    # The corrected form works with the values that the page now shows.
    corrected = {**form, "amount": "1", "recipient_address": CUSTOMER}
    assert admin_client.post(action_url(paid, "refund"), corrected).status_code == 302
    assert Refund.objects.get().amount == 1_000_000


@pytest.fixture
def paid_by_two(make: Make) -> PaymentRequest:
    """A request to which one wallet paid 4 USDC and another 6.50."""
    request = make("order-8")
    for amount, payer in ((4_000_000, SENDER), (6_500_000, RECIPIENT)):
        payment = pay(request, amount)
        Payment.objects.filter(pk=payment.pk).update(from_address=payer)
    return PaymentRequest.objects.get(pk=request.pk)


def test_several_payers_require_a_chosen_payment_or_wallet(
    admin_client: Client, paid_by_two: PaymentRequest
) -> None:
    form = {**asked(admin_client, action_url(paid_by_two, "refund")), "amount": "1"}
    page = admin_client.post(action_url(paid_by_two, "refund"), form)
    assert page.context["form"].errors == {
        "payment_id": ["Several wallets paid this request. Choose a payment, or enter the customer's wallet."]
    }
    assert not Refund.objects.exists()
    assert "is created" in refund_by_hand(admin_client, paid_by_two, amount="1", recipient_address=CUSTOMER)
    assert Refund.objects.get().payment is None


def test_chosen_payment_limits_the_refund_to_its_amount(
    admin_client: Client, paid_by_two: PaymentRequest
) -> None:
    url = action_url(paid_by_two, "refund")
    first, second = paid_by_two.payments.order_by("created_at")
    choices = dict(admin_client.get(url).context["form"].fields["payment_id"].choices)
    assert list(choices) == ["", first.pk, second.pk]
    assert choices[first.pk].startswith(f"4 USDC from {SENDER[:8]}…{SENDER[-6:]}, ")
    page = admin_client.post(url, {**asked(admin_client, url), "payment_id": first.pk, "amount": "4.01"})
    assert page.context["form"].errors == {"amount": ["At most 4 USDC can be refunded now."]}
    assert not Refund.objects.exists()
    assert "Send the customer its link." in press(admin_client, url, payment_id=first.pk, amount="1")
    refund = Refund.objects.get()
    assert (refund.amount, refund.payment, refund.recipient_address) == (1_000_000, first, "")
    choices = dict(admin_client.get(url).context["form"].fields["payment_id"].choices)
    assert choices[first.pk].endswith("; 3 USDC can be refunded")


def test_a_payment_of_another_request_can_not_be_chosen(
    admin_client: Client, paid: PaymentRequest, paid_by_two: PaymentRequest
) -> None:
    theirs = paid.payments.get()
    form = {**asked(admin_client, action_url(paid_by_two, "refund")), "payment_id": theirs.pk}
    page = admin_client.post(action_url(paid_by_two, "refund"), form)
    assert set(page.context["form"].errors) == {"payment_id"}
    assert not Refund.objects.exists()


def test_single_payer_offers_no_choice(admin_client: Client, paid: PaymentRequest) -> None:
    assert "payment_id" not in admin_client.get(action_url(paid, "refund")).context["form"].fields


def test_the_excess_goes_back_and_no_more_of_it_is_offered(admin_client: Client, make: Make) -> None:
    request = make("order-9")
    pay(request, request.amount + 750_000)
    excess = action_url(request, "refund-excess")
    assert "Refund the excess" in page_of(admin_client, "payments/paymentrequest", request.pk)
    form = admin_client.get(excess).context["form"]
    assert form["amount"].value() == "0.75"
    press(admin_client, excess, amount="0.5", recipient_address=CUSTOMER)
    assert admin_client.get(excess).context["form"]["amount"].value() == "0.25"
    press(admin_client, excess, amount="0.25")
    assert sorted(Refund.objects.values_list("amount", flat=True)) == [250_000, 500_000]
    assert "Refund the excess" not in page_of(admin_client, "payments/paymentrequest", request.pk)
    assert admin_client.get(excess).status_code == 302
    assert action_url(request, "refund") in page_of(admin_client, "payments/paymentrequest", request.pk)


def test_while_refunds_are_switched_off_none_is_created(admin_client: Client, paid: PaymentRequest) -> None:
    seen = asked(admin_client, action_url(paid, "refund"))
    Switch.objects.create(name="refunds")
    page = admin_client.post(action_url(paid, "refund"), seen, follow=True)
    assert "Refunds" in page.content.decode()
    assert not Refund.objects.exists()


def test_a_second_click_refunds_once(admin_client: Client, paid: PaymentRequest) -> None:
    form = {**asked(admin_client, action_url(paid, "refund")), "amount": "1"}
    for _ in range(2):
        admin_client.post(action_url(paid, "refund"), form)
    assert Refund.objects.count() == 1


def test_crafted_form_runs_no_action_on_a_carrier(admin_client: Client, paid: PaymentRequest) -> None:
    refund = create(paid)
    carrier = carrier_of(refund)
    assert action_url(carrier, "cancel") not in page_of(admin_client, "payments/paymentrequest", carrier.pk)
    for name, paid_by_merchant in (("cancel", 0), ("refund", refund.amount), ("refund-excess", 0)):
        if paid_by_merchant:
            pay(carrier, paid_by_merchant)
        carrier.refresh_from_db()
        [action] = [each for each in PaymentRequestAdmin.confirmed_actions if each.name == name]
        before = everything()
        form = {"seen": action.seen(carrier), "recipient_address": CUSTOMER}
        page = admin_client.post(action_url(carrier, name), form, follow=True).content.decode()
        assert "Nothing was done" in page, name
        assert everything() == before
    assert not LogEntry.objects.exists()


def test_no_node_is_queried_while_the_request_is_locked(
    admin_client: Client, paid: PaymentRequest, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    queried: list[str] = []
    monkeypatch.setattr(
        "payments.api.refund_serializers.require_payable_recipient",
        lambda chain, address: queried.append(address),
    )
    refund_by_hand(admin_client, paid, amount="1", recipient_address=CUSTOMER)
    assert (Refund.objects.get().recipient_address, queried) == (CUSTOMER, [])
    api.post(f"/api/payment-requests/{paid.pk}/refunds", {"recipient_address": CUSTOMER})
    assert (Refund.objects.count(), queried) == (2, [CUSTOMER])


def test_a_refund_that_was_not_sent_is_cancelled(admin_client: Client, paid: PaymentRequest) -> None:
    refund_by_hand(admin_client, paid, amount="1", recipient_address=CUSTOMER)
    refund = Refund.objects.get()
    assert "is cancelled." in press(admin_client, action_url(refund, "cancel"))
    refund.refresh_from_db()
    assert refund.cancelled_at is not None
    page = page_of(admin_client, "payments/refund", refund.pk)
    assert action_url(refund, "cancel") not in page
    assert "Sign it" not in page


def test_address_can_change_until_the_refund_is_built(admin_client: Client, paid: PaymentRequest) -> None:
    refund_by_hand(admin_client, paid, amount="0.5")
    refund = Refund.objects.get()
    url = action_url(refund, "address")
    assert "Enter the address" in page_of(admin_client, "payments/refund", refund.pk)
    assert "received the payment" in press(admin_client, url, recipient_address=RECIPIENT)
    assert Refund.objects.get().recipient_address == ""
    assert CUSTOMER in press(admin_client, url, recipient_address=CUSTOMER)
    other = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
    press(admin_client, url, recipient_address=other)
    refund = Refund.objects.get(pk=refund.pk)
    assert (refund.recipient_address, refund.address_source) == (other, "merchant")
    Refund.objects.update(built_at=timezone.now())
    assert admin_client.get(url)["Location"] == change_url(refund)
    assert Refund.objects.get(pk=refund.pk).recipient_address == other
    assert url not in page_of(admin_client, "payments/refund", refund.pk)


def test_refunds_page_shows_which_key_created_it(
    admin_client: Client, paid: PaymentRequest, api: Api, api_key: tuple[ApiKey, str]
) -> None:
    made = api.post(f"/api/payment-requests/{paid.pk}/refunds", {"recipient_address": CUSTOMER}).json()
    assert f"API key {api_key[0].prefix}" in page_of(admin_client, "payments/refund", made["id"])


def test_refunds_are_filtered_by_their_status(admin_client: Client, paid: PaymentRequest) -> None:
    refund_by_hand(admin_client, paid, amount="1", recipient_address=CUSTOMER)
    refund_by_hand(admin_client, paid, amount="2")
    ready, waiting = Refund.objects.order_by("amount")

    def listed(status: str) -> list[bool]:
        page = page_of(admin_client, "payments/refund", status=status)
        return [change_url(each) in page for each in (ready, waiting)]

    assert listed("ready") == [True, False]
    assert listed("requires_address") == [False, True]
    assert listed("completed") == [False, False]
    assert listed("nonsense") == [True, True]
    press(admin_client, action_url(waiting, "cancel"))
    assert listed("requires_address") == [False, False]
    assert listed("cancelled") == [False, True]


def test_refund_carrier_is_in_no_request_or_payment_list(admin_client: Client, paid: PaymentRequest) -> None:
    refund_by_hand(admin_client, paid, amount="1", recipient_address=CUSTOMER)
    carrier = PaymentRequest.objects.get(is_refund=True)
    sent = fail(carrier, code="transaction_not_bound")
    assert sent.is_anyones
    for model, row, texts in (
        ("paymentrequest", carrier, (carrier.shortcode, str(carrier.pk), CUSTOMER, HASH)),
        ("payment", sent, (sent.pk, HASH, carrier.shortcode)),
    ):
        for query in ({}, {"attention": "not_bound"}, *({"q": text} for text in texts)):
            assert change_url(row) not in page_of(admin_client, f"payments/{model}", **query)
        exported = b"".join(admin_client.get(f"/admin/payments/{model}/export.csv"))  # type: ignore[arg-type]
        assert str(paid.pk).encode() in exported
        assert str(row.pk).encode() not in exported
        assert admin_client.get(change_url(row)).status_code == 200
    assert count_payments(Payment.objects.all(), Matter.NOT_BOUND, timezone.now()) == 0
    refund = Refund.objects.get()
    for text in (HASH, CUSTOMER, CUSTOMER.lower(), refund.pk, paid.shortcode, str(paid.pk)):
        assert change_url(refund) in page_of(admin_client, "payments/refund", q=text)
    assert change_url(refund) not in page_of(admin_client, "payments/refund", q=carrier.shortcode)
    assert change_url(sent) in page_of(admin_client, "payments/refund", refund.pk)


def test_another_site_can_not_have_a_signed_in_operator_refund(
    admin_user: User, paid: PaymentRequest
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    form = {**asked(client, action_url(paid, "refund")), "recipient_address": CUSTOMER}
    for name in ("refund", "refund-excess"):
        assert client.post(action_url(paid, name), form).status_code == 403
    assert not Refund.objects.exists()


def test_page_of_a_refund_has_a_headline_and_a_timeline(admin_client: Client, paid: PaymentRequest) -> None:
    refund_by_hand(admin_client, paid, amount="0.5", recipient_address=CUSTOMER, reason="damaged")
    refund = Refund.objects.get()
    shown = admin_client.get(change_url(refund)).context
    assert shown["amount"] == "0.50 USDC"
    assert shown["diagnosis"].sentence == "Sign it with your wallet."
    assert [(entry.title, entry.detail, entry.actor) for entry in shown["story"]] == [
        ("Refund created", "damaged", "admin (staff)")
    ]
    press(admin_client, action_url(refund, "cancel"))
    shown = admin_client.get(change_url(refund)).context
    assert [entry.title for entry in shown["story"]] == ["Refund created", "Cancelled."]
    assert shown["diagnosis"].sentence == "Cancelled. Its amount can be refunded again."


def test_simulated_refund_is_marked_in_the_list(admin_client: Client, paid: PaymentRequest) -> None:
    refund_by_hand(admin_client, paid, amount="0.5", recipient_address=CUSTOMER)
    marks = []
    code = Refund.objects.get().code
    for is_simulated in (False, True):
        PaymentRequest.objects.filter(pk=paid.pk).update(is_simulated=is_simulated)
        PaymentRequest.objects.filter(refund__request=paid).update(is_simulated=is_simulated)
        page = page_of(admin_client, "payments/refund")
        cell = re.search(r"field-state(.*?)field-goes_back", page, re.DOTALL)
        assert cell
        assert code not in page, "the code opens the customer's page"
        marks.append(re.findall(r">\s*test\s*<", cell[1]))
    assert [len(found) for found in marks] == [0, 1]
