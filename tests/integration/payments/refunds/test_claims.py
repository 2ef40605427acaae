"""On the refund's page, the customer enters an address and signs for it with the wallet that paid."""

import html
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone
from eth_account import Account
from eth_account.messages import encode_defunct

from config.api.errors import ApiError
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Refund, Route
from payments.refunds.claims import NoSigner, claim_address, claim_message, payer_of
from tests.chain import LocalChain
from tests.conftest import Api
from tests.integration.payments.refunds.conftest import CUSTOMER
from tests.support.checkout.bare import Bare, sign
from tests.support.payments.world import Clock, look_until_decided, pay, submit
from tests.support.threats.evm_world import World, transfer_data

pytest_plugins = ["tests.support.threats.evm_fixtures"]

SOON = timedelta(minutes=5)


@pytest.fixture
def refund(api: Api, paid: PaymentRequest) -> Refund:
    """A refund of the paid request without an address."""
    created = api.post(f"/api/payment-requests/{paid.id}/refunds", {"amount": "2.5"})
    assert created.json()["status"] == "requires_address"
    return Refund.objects.select_related("request__token", "request__chain", "request__merchant").get()


def signed(key: str, text: str) -> str:
    return "0x" + bytes(Account.sign_message(encode_defunct(text=text), key).signature).hex()


def post(path: str, **fields: str) -> Any:
    """Send a form as a browser does, without scripts."""
    return Client().post(
        path, urlencode(fields), content_type="application/x-www-form-urlencoded", follow=False
    )


def path_of(refund: Refund) -> str:
    return f"/refunds/{refund.code}"


def chosen(refund: Refund, address: str = CUSTOMER) -> str:
    """Enter the address; return the path of the page with the text to sign."""
    answer = post(f"{path_of(refund)}/address", wallet_address=address)
    assert answer.status_code == 303, answer.content
    return str(answer["Location"])


def text_on(page: Any) -> str:
    found = re.search(r'id="proof-text"[^>]*>(.*?)</pre>', page.content.decode(), re.DOTALL)
    assert found is not None
    return html.unescape(found[1])


def unchanged(refund: Refund) -> None:
    refund.refresh_from_db()
    assert (refund.recipient_address, refund.carrier_id) == ("", None)


def no_wallet_signs(refund: Refund, key: str) -> None:
    """Check that the page rejects the wallet before it signs, and that its signature sets no address."""
    page = post(f"{path_of(refund)}/address", wallet_address=CUSTOMER)
    assert page.status_code == 409
    assert "The shop can enter it for you" in page.content.decode()
    until = timezone.now() + SOON
    signature = signed(key, claim_message(refund, CUSTOMER, until))
    with pytest.raises(NoSigner):
        claim_address(refund, CUSTOMER, expires_at=until, signature=signature, now=timezone.now())
    unchanged(refund)


def test_a_customer_names_the_address_without_scripts(
    api: Api, local_chain: LocalChain, refund: Refund
) -> None:
    page = Client().get(path_of(refund))
    assert page.status_code == 200
    assert "2.50 USDC" in page.content.decode()
    sign_path = chosen(refund)
    text = text_on(Client().get(sign_path))
    for said in (refund.id, CUSTOMER, "2.50 USDC", "testserver", refund.request.chain.name, "Expires: "):
        assert said in text
    answer = post(sign_path, signature=signed(local_chain.payer_key, text))
    assert (answer.status_code, answer["Location"]) == (303, path_of(refund))
    shown = api.get(f"/api/refunds/{refund.id}").json()
    assert (shown["status"], shown["recipient_address"]) == ("ready", CUSTOMER)
    assert shown["address_source"] == "customer"
    assert CUSTOMER in Client().get(path_of(refund)).content.decode()


def test_only_the_wallet_that_paid_names_the_address(refund: Refund) -> None:
    sign_path = chosen(refund)
    text = text_on(Client().get(sign_path))
    answer = post(sign_path, signature=signed(Account.create().key.hex(), text))
    assert answer.status_code == 400
    assert "field-error" in answer.content.decode()
    unchanged(refund)


def test_a_signature_for_another_address_or_refund_is_none(
    api: Api, local_chain: LocalChain, paid: PaymentRequest, refund: Refund
) -> None:
    until = timezone.now() + SOON
    other_id = api.post(f"/api/payment-requests/{paid.id}/refunds", {"amount": "1"}).json()["id"]
    other = Refund.objects.select_related("request__token", "request__chain", "request__merchant").get(
        pk=other_id
    )
    texts = (
        claim_message(refund, local_chain.recipient, until),
        claim_message(other, CUSTOMER, until),
        claim_message(refund, CUSTOMER, until + timedelta(seconds=1)),
    )
    for text in texts:
        with pytest.raises(ApiError) as refused:
            claim_address(
                refund,
                CUSTOMER,
                expires_at=until,
                signature=signed(local_chain.payer_key, text),
                now=timezone.now(),
            )
        assert refused.value.problems[0].code == "signature_invalid"
    unchanged(refund)


def test_an_expired_text_is_not_taken(local_chain: LocalChain, refund: Refund) -> None:
    until = timezone.now() - timedelta(seconds=1)
    signature = signed(local_chain.payer_key, claim_message(refund, CUSTOMER, until))
    with pytest.raises(ApiError, match="expired"):
        claim_address(refund, CUSTOMER, expires_at=until, signature=signature, now=timezone.now())
    unchanged(refund)


def test_a_refund_takes_one_address(local_chain: LocalChain, refund: Refund) -> None:
    sign_path = chosen(refund)
    signature = signed(local_chain.payer_key, text_on(Client().get(sign_path)))
    for _ in range(2):
        answer = post(sign_path, signature=signature)
        assert (answer.status_code, answer["Location"]) == (303, path_of(refund))
    until = timezone.now() + SOON
    with pytest.raises(ApiError) as refused:
        claim_address(
            refund,
            local_chain.recipient,
            expires_at=until,
            signature=signed(local_chain.payer_key, claim_message(refund, local_chain.recipient, until)),
            now=timezone.now(),
        )
    assert refused.value.problems[0].code == "refund_not_ready"
    refund.refresh_from_db()
    assert refund.recipient_address == CUSTOMER
    assert PaymentRequest.objects.filter(is_refund=True).count() == 1


def test_a_made_up_choice_leads_back_to_the_question(local_chain: LocalChain, refund: Refund) -> None:
    answer = post(f"{path_of(refund)}/sign/WyIweCIsMV0:x:y", signature="0x" + "1b" * 65)
    assert (answer.status_code, answer["Location"]) == (303, path_of(refund))
    unchanged(refund)


@pytest.mark.parametrize("address", ["", "nonsense", "0x" + "0" * 40, CUSTOMER.replace("bD", "Bd")])
def test_unpayable_address_is_rejected_beside_its_field(refund: Refund, address: str) -> None:
    answer = post(f"{path_of(refund)}/address", wallet_address=address)
    assert answer.status_code == 400
    assert "wallet-problem" in answer.content.decode()
    unchanged(refund)


def by_swap(paid: PaymentRequest, sender: str, wallet: str | None = None) -> None:
    """Turn the request's payment into a swap that `sender` sent, with a route for `wallet`."""
    payment = paid.payments.get()
    if wallet is not None:
        payment.route = Route.objects.create(
            request=paid,
            type="swap",
            wallet_address=wallet,
            chain=paid.chain,
            token=paid.token,
            amount=paid.amount,
            expires_at=timezone.now(),
        )
    payment.type, payment.bound_by, payment.from_address = "swap", "provider", sender
    payment.save(update_fields=("type", "bound_by", "from_address", "route"))


def test_swap_of_one_wallet_has_a_signer_and_of_several_none(
    api: Api, local_chain: LocalChain, paid: PaymentRequest, refund: Refund
) -> None:
    by_swap(paid, local_chain.payer, local_chain.payer)
    assert payer_of(refund).address == local_chain.payer
    by_swap(paid, CUSTOMER, local_chain.payer)
    with pytest.raises(NoSigner):
        payer_of(refund)


def test_strangers_coin_beside_unknown_swap_names_no_address(
    api: Api, local_chain: LocalChain, paid: PaymentRequest
) -> None:
    """A bundler sent the swap of a smart wallet, which can't sign, and also the stranger's coin."""
    by_swap(paid, local_chain.payer, CUSTOMER)
    stranger = look_until_decided(submit(paid, pay(local_chain, paid, 1)), Clock())
    assert (stranger.status, stranger.from_address) == ("completed", local_chain.payer)
    api.post(f"/api/payment-requests/{paid.id}/refunds", {})
    refund = Refund.objects.select_related("request__token", "request__chain", "request__merchant").get()
    assert refund.payment_id is None
    no_wallet_signs(refund, local_chain.payer_key)


def test_relayer_with_own_swap_beside_proof_names_no_address(
    local_chain: LocalChain, paid: PaymentRequest, refund: Refund
) -> None:
    """The payment began as the relayer's swap.

    Since another wallet's proof came, it counts as that wallet's payment.
    """
    by_swap(paid, CUSTOMER, CUSTOMER)
    Payment.objects.filter(request=paid).update(bound_by="payer")
    assert payer_of(refund).address == local_chain.payer


def test_payment_with_unknown_part_maker_has_no_signing_wallet(paid: PaymentRequest, refund: Refund) -> None:
    payment = paid.payments.get()
    ConsumedTransfer.objects.create(
        payment=payment,
        chain=payment.chain,
        transaction_hash=payment.transaction_hash,
        slot="7",
        account=paid.recipient_address,
        amount=1,
    )
    with pytest.raises(NoSigner):
        payer_of(refund)


def test_the_sender_of_a_swap_signs_only_as_the_quoted_wallet(
    local_chain: LocalChain, paid: PaymentRequest, refund: Refund
) -> None:
    by_swap(paid, local_chain.payer)
    until = timezone.now() + SOON
    signature = signed(local_chain.payer_key, claim_message(refund, CUSTOMER, until))
    with pytest.raises(NoSigner):
        claim_address(refund, CUSTOMER, expires_at=until, signature=signature, now=timezone.now())
    unchanged(refund)


def test_a_cancelled_refund_asks_for_nothing(api: Api, refund: Refund) -> None:
    api.post(f"/api/refunds/{refund.id}/cancel")
    page = Client().get(path_of(refund)).content.decode()
    assert "<form" not in page.split("<footer")[0]
    assert post(f"{path_of(refund)}/address", wallet_address=CUSTOMER).status_code == 303
    unchanged(refund)


def test_an_unknown_code_is_a_page_of_its_own(db: None) -> None:
    for code in ("222222222222", "x", "%00", "a" * 300):
        assert Client().get(f"/refunds/{code}").status_code == 404


@pytest.mark.parametrize("language", ["de", "ar", "ja"])
def test_the_page_speaks_the_customers_language(refund: Refund, language: str) -> None:
    page = Client().get(f"{path_of(refund)}?lang={language}").content.decode()
    assert f'lang="{language}"' in page
    assert "is coming back to you" not in page


def test_the_pages_let_nothing_foreign_run_or_frame_them(refund: Refund) -> None:
    for path in (path_of(refund), chosen(refund)):
        page = Client().get(path)
        policy = page["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert page["Cache-Control"] == "no-store"


def test_contract_account_signs_by_owner_not_by_relayer(
    api: Api, order: Callable[..., dict[str, Any]], world: World, local_chain: LocalChain
) -> None:
    created = api.post("/api/payment-requests", order()).json()
    request, safe = PaymentRequest.objects.get(pk=created["id"]), world.look_alike_safe()
    browser = Bare(created)
    page, text = browser.text_for(safe.address)
    assert browser.send(page, signature=sign(text, safe.key)).status_code == 303
    # The chain's payer sends the safe's transfer to the chain.
    sent = safe.send(safe.execution(local_chain.usdc, transfer_data(local_chain.recipient, request.amount)))
    assert look_until_decided(browser.paste(sent), Clock()).status == "completed"
    api.post(f"/api/payment-requests/{request.id}/refunds", {"amount": "2.5"})
    refund = Refund.objects.select_related("request__token", "request__chain", "request__merchant").get()

    sign_path = chosen(refund)
    text = text_on(Client().get(sign_path))
    assert post(sign_path, signature=signed(local_chain.payer_key, text)).status_code == 400
    unchanged(refund)
    assert post(sign_path, signature=signed(safe.key, text)).status_code == 303
    refund.refresh_from_db()
    assert (refund.recipient_address, refund.address_source) == (CUSTOMER, "customer")


def test_strangers_coin_by_same_relayer_names_no_address(
    api: Api, order: Callable[..., dict[str, Any]], world: World, local_chain: LocalChain
) -> None:
    created = api.post("/api/payment-requests", order()).json()
    request, customers, strangers = (
        PaymentRequest.objects.get(pk=created["id"]),
        *(world.look_alike_safe() for _ in range(2)),
    )
    browser = Bare(created)
    for safe, units in ((strangers, 1), (customers, request.amount)):
        page, text = browser.text_for(safe.address)
        assert browser.send(page, signature=sign(text, safe.key)).status_code == 303
        sent = safe.send(safe.execution(local_chain.usdc, transfer_data(local_chain.recipient, units)))
        assert look_until_decided(browser.paste(sent), Clock()).status == "completed"
    api.post(f"/api/payment-requests/{request.id}/refunds", {})
    refund = Refund.objects.select_related("request__token", "request__chain", "request__merchant").get()
    for key in (strangers.key, customers.key):
        no_wallet_signs(refund, key)


def test_strangers_coin_after_the_refund_blocks_no_claim(
    api: Api, order: Callable[..., dict[str, Any]], world: World, local_chain: LocalChain
) -> None:
    created = api.post("/api/payment-requests", order()).json()
    request, safe = PaymentRequest.objects.get(pk=created["id"]), world.look_alike_safe()
    look_until_decided(submit(request, pay(local_chain, request)), Clock())
    api.post(f"/api/payment-requests/{request.id}/refunds", {"amount": "2.5"})
    refund = Refund.objects.select_related("request__token", "request__chain", "request__merchant").get()
    dust = transfer_data(local_chain.recipient, 1, bytes(request.reference))
    sent = safe.send(safe.execution(local_chain.usdc, dust))
    assert look_until_decided(submit(request, sent), Clock()).status == "completed"

    sign_path = chosen(refund)
    text = text_on(Client().get(sign_path))
    assert post(sign_path, signature=signed(local_chain.payer_key, text)).status_code == 303
    refund.refresh_from_db()
    assert (refund.recipient_address, refund.address_source) == (CUSTOMER, "customer")
